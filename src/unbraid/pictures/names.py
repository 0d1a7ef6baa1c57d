"""How methods, data sets and metrics are called on a page: one place for their names, and which way a metric is better.

method_name("beta_tc_vae")                    # β-TCVAE
data_name("shapes3d_official")                # Shapes3D (official)
metric_name("scores.dci.disentanglement")     # DCI
METRICS["mig"].better                         # higher
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from unbraid.own import label

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Name:
    """What something is called."""

    short: str
    """For heads of tables and ticks."""
    long: str = ""
    """For titles and text; the short one where it is empty."""
    better: Better = "neither"
    """Which way of a metric is better."""

    def __str__(self) -> str:
        return self.long or self.short


METHODS = {
    "beta_vae": Name("β-VAE"),
    "factor_vae": Name("FactorVAE"),
    "beta_tc_vae": Name("β-TCVAE"),
    "dip_vae_i": Name("DIP-VAE-I"),
    "dip_vae_ii": Name("DIP-VAE-II"),
    "annealed_vae": Name("AnnealedVAE"),
    "autoencoder": Name("AE", "autoencoder"),
    "random_encoder": Name("random", "untrained encoder"),
    "single_task": Name("single-task", "one task, one head"),
    "multitask": Name("multi-head", "many tasks, a head each"),
    "one_head": Name("one-head", "many tasks, one head"),
    "frozen_decoder": Name("decoder", "decoder on frozen codes"),
    "frozen_heads": Name("heads", "heads on frozen codes"),
    "few_label_vae": Name("few-label VAE"),
    "intervention": Name("intervention", "disentanglement by interventions"),
    "infogan_cr": Name("InfoGAN-CR"),
    "ada_gvae": Name("Ada-GVAE"),
    "factorized_support": Name("factorized support"),
    "contrastive": Name("contrastive", "contrastive learning"),
}
DATA = {
    "dsprites": Name("dSprites"),
    "color_dsprites": Name("Color-dSprites"),
    "noisy_dsprites": Name("Noisy-dSprites"),
    "scream_dsprites": Name("Scream-dSprites"),
    "small_norb": Name("SmallNORB"),
    "cars3d": Name("Cars3D"),
    "shapes3d": Name("Shapes3D"),
    "arm3d": Name("Arm3D"),
    "mpi3d_toy": Name("MPI3D toy"),
    "mpi3d_realistic": Name("MPI3D realistic"),
    "mpi3d_real": Name("MPI3D real"),
    "mpi3d_complex": Name("MPI3D complex"),
    "cmnist": Name("CMNIST"),
    "mnist": Name("MNIST"),
    "stl10": Name("STL-10"),
    "mnist_stl10": Name("MNIST on STL-10"),
    "flowers102": Name("Oxford Flowers"),
    "celeba": Name("CelebA"),
    "image_folder": Name("a folder of images"),
    "hugging_face": Name("Hugging Face", "a Hugging Face data set"),
}
METRICS = {
    "beta_vae_score": Name("BetaVAE", "BetaVAE score", "higher"),
    "factor_vae_score": Name("FactorVAE", "FactorVAE score", "higher"),
    "mig": Name("MIG", "mutual information gap", "higher"),
    "dci.disentanglement": Name("DCI", "DCI disentanglement", "higher"),
    "dci.completeness": Name("DCI complet.", "DCI completeness", "higher"),
    "dci.informativeness": Name("DCI inform.", "DCI informativeness", "higher"),
    "modularity": Name("Modularity", "modularity", "higher"),
    "explicitness": Name("Explicitness", "explicitness", "higher"),
    "sap": Name("SAP", "separated attribute predictability", "higher"),
    "irs": Name("IRS", "interventional robustness score", "higher"),
    "mig_sup": Name("MIG-sup", "MIG of codes", "higher"),
    "jemmig": Name("JEMMIG", "joint entropy minus MIG", "higher"),
    "dcimig": Name("DCIMIG", "", "higher"),
    "med": Name("MED", "mutual-information-based entropy disentanglement", "higher"),
    "mcc": Name("MCC", "mean correlation coefficient", "higher"),
    "linear_r2": Name("Linear R²", "linear R² of rows held out", "higher"),
    "infomec.infom": Name("InfoM", "InfoModularity", "higher"),
    "infomec.infoe": Name("InfoE", "InfoExplicitness", "higher"),
    "infomec.infoc": Name("InfoC", "InfoCompactness", "higher"),
    "dci_es.explicitness": Name("DCI-ES E", "DCI-ES explicitness", "higher"),
    "dci_es.size": Name("DCI-ES S", "DCI-ES size", "higher"),
    "dci_es.informativeness": Name("DCI-ES I", "DCI-ES informativeness", "higher"),
    "udr.lasso": Name("UDR lasso", "unsupervised disentanglement ranking (lasso)", "higher"),
    "udr.spearman": Name("UDR Spearman", "unsupervised disentanglement ranking (Spearman)", "higher"),
    "reconstruction": Name("Reconstruction", "reconstruction error", "lower"),
    "kl": Name("KL", "KL divergence of the codes from the prior"),
    "elbo": Name("ELBO", "evidence lower bound", "higher"),
    "total_correlation": Name("TC", "total correlation", "lower"),
    "total_correlation_sampled": Name("TC (sampled)", "total correlation of sampled codes", "lower"),
    "total_correlation_mean": Name("TC (mean)", "total correlation of mean codes", "lower"),
    "wasserstein_correlation": Name("Wasserstein", "Wasserstein correlation", "lower"),
    "code_information": Name("code MI", "mutual information of codes", "lower"),
    "active_units": Name("active units", "number of active latents"),
    "translation_difficulty": Name("difficulty", "translation difficulty", "lower"),
    "variation_predictability": Name("VP", "variation predictability", "higher"),
    "squared_error": Name("squared error", "", "lower"),
    "test.squared_error": Name("test error", "squared error on held-out rows", "lower"),
    "test.accuracy": Name("test accuracy", "accuracy on held-out rows", "higher"),
    "embed.agreement": Name("agreement", "agreement of neighbours on the factors", "higher"),
    "embed.retrieved": Name("factors retrieved", "", "higher"),
    "embed.correlation.mean": Name("mean corr.", "mean correlation of retrieved factors", "higher"),
    "embed.correlation.std": Name("std corr.", "deviation of their correlation"),
    "embed.correlation.min": Name("min corr.", "lowest correlation of retrieved factors", "higher"),
    "embed.correlation.max": Name("max corr.", "highest correlation of retrieved factors", "higher"),
}
PRINCIPAL = ("mig", "dci.disentanglement", "sap", "modularity", "beta_vae_score", "factor_vae_score", "irs")
"""The metrics that people look at first."""


def method_name(method: str, long: bool = False) -> str:
    """The papers' spelling; a method of a user's own, such as `mine.py:L1VAE`, has the name of its class."""
    return _shown(METHODS.get(method), label(method), long)


def data_name(data: str) -> str:
    """The papers' spelling; the original authors' files are called official."""
    plain = label(data).removesuffix("_official")
    return _shown(DATA.get(plain), plain, False) + (" (official)" if label(data) != plain else "")


def data_order(names: Iterable[str]) -> list[str]:
    """Each data set once, as the papers list them, then others by name."""
    order = {name: index for index, name in enumerate(DATA)}
    return sorted(set(names), key=lambda name: (order.get(name.removesuffix("_official"), len(order)), name))


def metric_name(metric: str, long: bool = False) -> str:
    """Of a metric's key, or of a column `scores.…` of the table of runs."""
    key = metric.removeprefix("scores.")
    return _shown(METRICS.get(key), key, long)


def metric_names(*metrics: str, long: bool = False) -> dict[str, str]:
    """Names by column of the table of runs: `{"scores.mig": "MIG"}`."""
    return {f"scores.{key}": metric_name(key, long) for key in (metric.removeprefix("scores.") for metric in metrics)}


# Parts of the names of scores, for those that have no name of their own above.
_HIGHER = (
    "mig", "dci", "sap", "modularity", "explicitness", "beta_vae_score", "factor_vae_score", "irs", "infomec",
    "mig_sup", "jemmig", "dcimig", "med", "mcc", "linear_r2", "retrieved_factors", "dci_es", "downstream", "probes",
    "accuracy", "udr", "elbo", "diagonal", "efficiency", "disentanglement", "completeness", "informativeness",
    "variation_predictability",
)  # fmt: skip
_LOWER = (
    "reconstruction", "total_correlation", "total_correlation_mean", "total_correlation_sampled",
    "wasserstein_correlation", "translation_difficulty", "excess", "squared_error", "rmse", "loss", "at_chance",
)  # fmt: skip
_NEITHER = ("kl", "active_latents", "active_units", "code_information", "spread_features", "spread_values")


def better(metric: str) -> Better:
    """Which way of a metric, or of a column `scores.…`, is better; `neither` where neither is, or it is not known.

    Of a score without a name of its own the last part that is known decides: `dlib.mig`, `downstream.gbt.100`.
    """
    key = metric.removeprefix("scores.")
    if key in METRICS:
        return METRICS[key].better
    for part in reversed(key.split(".")):
        if part in _NEITHER:
            return "neither"
        if part in _LOWER:
            return "lower"
        if part in _HIGHER:
            return "higher"
    return "neither"


def direction(metric: str) -> str:
    """Which way is better in words, for a caption."""
    way = better(metric)
    return "neither way is better" if way == "neither" else f"{way} is better"


def _shown(name: Name | None, key: str, long: bool) -> str:
    if name is None:
        return key
    return str(name) if long else name.short
