"""The report: the paper's tables 1 to 9 and figure 5 made anew from a table of runs, and its claims.

Everything is a function of the table but the pictures, the logs and the rotations, which come from the study's folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from unbraid.report import Figure, Picture, Section
from unbraid.report.estimates import SEEDS
from unbraid.report.runs import failures
from unbraid.report.sections import Items, section, tabled, verdict_table
from unbraid.studies.contrastive import claims, drawings, tables
from unbraid.studies.contrastive.claims import Found
from unbraid.studies.contrastive.looks import Looks, look
from unbraid.studies.contrastive.models import Models, rotations, table

__all__ = ["report", "table"]

RULES = (
    "Verdicts follow one rule that was fixed before the results were looked at. Each claim comes down to numbers and "
    "one threshold. A number is a mean over seeds with its 95 % interval, Student's t; two settings are compared seed "
    "by seed, since models with the same seed begin with the same weights and see the same images. A ratio of standard "
    "deviations has the interval of the F test. A claim holds where every interval is on its side of the threshold, "
    "does not hold where one is wholly on the other, and inconclusive at this scale otherwise, nor with fewer than "
    f"{SEEDS} seeds. They are verdicts on these runs: other data, networks and lengths of training may give others."
)
BRACKETS = "Percent of test images; brackets are 95 % t intervals over seeds."
HALVES = ("r", "r0", "r1")
PROJECTED = ("z", "z0", "z1")
TABLE_3 = ("ortho 0.001", "ortho 0.1", "p_ortho 0.001", "p_ortho 0.1", "hessian 0.001", "hessian 0.1")
PLAIN = ("plain", "plain, one head")
NUMBERS = {"dc_bc": ("1", "2", "3"), "dc_dl": ("4", "5", "6")}  # of the paper's tables


def report(runs: pd.DataFrame, folder: Path | None = None) -> list[Section]:
    """The sections of the report. `folder` is the study's: without it there are no pictures, logs and rotations."""
    models = Models.of(runs)
    there = folder is not None and folder.is_dir()
    found = Found(models, rotations(folder, runs) if there and folder is not None else pd.DataFrame())
    looks = look(models, folder) if there and folder is not None else Looks()
    parts = [
        _data(models, looks),
        _supervised(found),
        _info_min(found, looks),
        _regularized(found),
        _seeds(found),
        _degenerate(found),
        _dimensions(found),
        _beyond(found),
    ]
    return [_summary(runs, models, parts), *parts]


def _summary(runs: pd.DataFrame, models: Models, parts: Sequence[Section]) -> Section:
    items: Items = [verdict_table(parts)]
    if models.known("scores.gap.z.digit"):
        caption = (
            "∣C(z0) − C(z1)∣, how far apart the halves are on each task; of r for supervised halves. A dot is a seed, "
            "the stroke their mean, the line its 95 % interval, a diamond the paper's figure."
        )
        items.append(Figure("gaps", "Gaps between the halves, by regularizer", lambda: drawings.gaps(models), caption))
    items += tabled("states", "Models that are done, of those there are", tables.states(runs))
    items += tabled("failures", "Models that are not done, and why", failures(runs))
    text = (
        f"{len(models.runs)} finished models: {len(models.settings)} settings, {len(models.seeds)} seeds at most. The "
        f"paper has one run of each setting, and six of two of them. DC is the digit's class, BC the background's, DL "
        f"the digit's location. {RULES}"
    )
    return Section("In short", text if len(models.runs) else f"There are no finished models yet. {RULES}", tuple(items))


def _data(models: Models, looks: Looks) -> Section:
    items: Items = []
    for variant, picture in looks.pairs.items():
        title = f"Figures 2 to 4: pairs of {variant}, and their views"
        items.append(Picture(f"pairs_{variant}", title, picture))
    for variant in models.variants:
        if any(models.known(f"scores.accuracy.{name}.digit") for name in ("r", "z")):
            caption = (
                "What linear classifiers on r, z and their halves reach on test images. A dot is a seed, the bar their "
                "mean, the line its 95 % interval; diamonds are the paper's, dotted lines chance."
            )
            drawing = lambda variant=variant: drawings.accuracies(models, variant)  # noqa: E731
            items.append(Figure(f"accuracies_{variant}", f"Accuracies by input, {variant}", drawing, caption))
    caption = f"Training calls on codes to forget it; no claim is about it. {BRACKETS}"
    items += tabled("third_factor", "The factor that pairs do not share", tables.third_factor(models), caption)
    text = "What a pair shares, what the encoder sees of it, and what can be read from its codes afterwards."
    if looks.faults:
        text += " Could not be shown: " + "; ".join(looks.faults) + "."
    return section("3 Data and accuracies", text, items, "no model is finished")


def _supervised(found: Found) -> Section:
    items: Items = []
    for variant in found.models.variants:
        number = NUMBERS.get(variant, ("",))[0]
        title = f"{_numbered(number)}supervised halves, {variant}"
        frame = tables.accuracies(found.models, variant, ("supervised",), HALVES)
        items += tabled(f"table_{number or variant}", title, frame, BRACKETS)
    items += claims.judge(found, claims.SUPERVISED)
    text = "What the best would look like: each half of r is trained with the labels of one factor (A.2)."
    return section("A.2 Supervised halves", text, items, "no supervised model is finished")


def _numbered(number: str) -> str:
    return f"Table {number}: " if number else ""


def _info_min(found: Found, looks: Looks) -> Section:
    items: Items = []
    for variant in found.models.variants:
        number = NUMBERS.get(variant, ("", ""))[1]
        frame = tables.accuracies(found.models, variant, ("plain", *claims.INFO_MIN), (*HALVES, *PROJECTED))
        title = f"{_numbered(number)}InfoMin, {variant}"
        caption = f"{BRACKETS} The paper has no plain model; its table 5 has one row, r: DC 11.7, DL 12.6."
        items += tabled(f"table_{number or 'info_min_' + variant}", title, frame, caption)
    if looks.logs:
        title = "Figure 5: InfoMax and InfoMin over steps"
        caption = (
            "A line a seed. InfoMax should fall, InfoMin should rise where parts come to tell different things. The "
            "paper's figure has dc_bc and more than 55,000 steps."
        )
        items.append(Figure("figure_5", title, lambda: drawings.trade_off(looks.logs), caption))
    items += claims.judge(found, claims.MINIMISED)
    text = "Does it disentangle the halves of z to minimise what they tell of each other?"
    return section("4.1 InfoMin", text, items, "no model with InfoMin is finished")


def _regularized(found: Found) -> Section:
    items: Items = []
    for variant in found.models.variants:
        number = NUMBERS.get(variant, ("", "", ""))[2]
        frame = tables.accuracies(found.models, variant, (*TABLE_3, *PLAIN), PROJECTED)
        title = f"{_numbered(number)}orthogonality and Hessian, {variant}"
        caption = f"{BRACKETS} The last columns are plain models, which the paper does not show."
        items += tabled(f"table_{number or 'regularized_' + variant}", title, frame, caption)
    items += claims.judge(found, (*claims.ORTHOGONALITY, *claims.CURVATURE))
    text = "Halves of z that are orthogonal, also after a permutation, or that do not bend the loss together."
    return section("4.2 Orthogonality and the Hessian", text, items, "no regularized model is finished")


def _seeds(found: Found) -> Section:
    caption = "Percent of test images. Below the runs, the mean and the variance of the gaps over them."
    items = tabled(
        "table_8", "Table 8: P(Ortho) 0.1, run by run", tables.repeated(found.models, claims.P_ORTHO), caption
    )
    items += tabled(
        "table_9", "Table 9: Hessian 0.1, run by run", tables.repeated(found.models, claims.HESSIAN), caption
    )
    items += claims.judge(found, claims.SEEDS)
    text = "How much do the results depend on the first weights?"
    return section("A.5 Seeds", text, items, "no model of these two settings is finished")


def _degenerate(found: Found) -> Section:
    caption = (
        "At chance: that neither z nor a half tells better than a guess. Told alike: that z and both halves tell "
        "equally well, within three standard errors of a difference."
    )
    items = tabled("table_7", "Table 7: ortho 0.1 on dc_dl, run by run", tables.degenerated(found.models), caption)
    title = "Degenerate solutions, as shares of the two factors"
    items += tabled("degenerate", title, tables.degeneracy(found.models), caption)
    items += claims.judge(found, (*claims.DEGENERACY, *claims.WHOLE))
    text = "When are the halves apart without any disentanglement, or no different at all?"
    return section("A.4.5 Degenerate solutions", text, items, "no model has a z")


def _dimensions(found: Found) -> Section:
    caption = (
        "Of the two factors that pairs share; DCI by gradient boosting, of z (of r for supervised halves); UDR between "
        "seeds, without a KL. Brackets are 95 % t intervals over seeds."
    )
    title = "DCI, MED and UDR"
    items = tabled("measures", title, tables.measures(found.models), caption)
    text = "Beyond the paper: are single dimensions of z disentangled? Its halves are what was regularized."
    return section("Beyond the paper: single dimensions", text, items, "no model has such scores")


def _beyond(found: Found) -> Section:
    caption = (
        f"{BRACKETS} Factor 1 is DC, factor 2 BC on dc_bc and DL on dc_dl. Rotations and groups are found on training "
        "codes. Without labels: two halves of equal size, cut by how much squares of dimensions correlate (the second "
        "eigenvector of the graph's Laplacian). With labels, an upper limit: each dimension goes to the factor of "
        "which it tells the larger share of what all dimensions tell, by mutual information."
    )
    title = "Regularized codes, and plain ones rotated afterwards"
    items = tabled("rotated", title, tables.rotated(found), caption)
    items += claims.judge(found, claims.BEYOND)
    text = (
        "Does the Hessian with P(Ortho) give both, as the discussion suggests? Does any regularizer beat a plain code "
        "that is rotated afterwards, by ICA or by varimax?"
    )
    return section("Beyond the paper: both at once, and rotations", text, items, "no such models are finished")
