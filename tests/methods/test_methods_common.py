"""What every learner must obey, and learners of other kinds that the same loop must carry."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.examples.squares import paired as taught
from tests.examples.squares import squares
from unbraid import nets
from unbraid.data import FactorData, Rows
from unbraid.errors import InputError
from unbraid.methods import METHODS, Batch, Config, Encoding, Method, Spec, Terms, build, method_class, setting
from unbraid.methods.vae import AutoencoderConfig
from unbraid.training.loop import train

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "methods"
NAMES = list(METHODS)
AUTOENCODERS = [name for name in NAMES if issubclass(METHODS[name].config_class, AutoencoderConfig)]
IDLE = ["random_encoder"]  # has nothing to learn
every_method = pytest.mark.parametrize("name", NAMES)
every_autoencoder = pytest.mark.parametrize("name", AUTOENCODERS)

SMALL: dict[str, Any] = {"network": "small", "latents": 3, "batch_size": 12, "learning_rate": 2e-3}
QUICK: dict[str, dict[str, Any]] = {
    "annealed_vae": {"gamma": 5.0, "c_max": 5.0, "threshold": 50},
    "factor_vae": {"discriminator_layers": 2, "discriminator_width": 32},
    "contrastive": {"network": "resnet_tiny"},
    "intervention": {"translation_width": 8},
    "infogan_cr": {"contrastive_from": 0, "generator_steps": 1, "channels": 8},
}
GAMES = ["infogan_cr"]  # the loss of one side of a game need not fall; tests/methods/ has what it learns


def make(name: str, data: FactorData | None = None, **settings: Any) -> Method:
    torch.manual_seed(0)
    small = {key: value for key, value in SMALL.items() if key in fields_of(name)}
    return build(name, data or taught(), {**small, **QUICK.get(name, {}), **settings})


def fields_of(name: str) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(METHODS[name].config_class)}


def run(method: Method, steps: int, data: FactorData | None = None) -> dict[str, float]:
    *_, last = train(method, data or taught(), steps=steps, seed=0, every=10)
    return last.terms


def copy_of_state(method: Method) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in method.state_dict().items()}


def assert_same(a: Method, b: Method) -> None:
    ours, theirs = a.state_dict(), b.state_dict()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert torch.equal(value, theirs[name]), name


def own_settings(name: str) -> list[dataclasses.Field[Any]]:
    """Those that are not shared, or have another default than the shared one."""
    shared = {field.name: field.default for field in dataclasses.fields(AutoencoderConfig)}
    return [field for key, field in fields_of(name).items() if key not in shared or field.default != shared[key]]


# The pages


@every_method
def test_a_method_is_a_file_a_page_and_a_row_of_the_same_name(name: str) -> None:
    assert METHODS[name].__module__ == f"unbraid.methods.{name}"
    assert (PAGES / f"{name}.md").exists(), f"{name} has no docs page"
    assert f"| [`{name}`]({name}.md) |" in (PAGES / "README.md").read_text(), f"{name} is not in docs/methods/README.md"


def test_there_is_no_page_without_a_method() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} - {"README"} == set(METHODS)


@every_method
def test_a_page_gives_each_settings_default(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text()
    assert len(page.split()) <= 1_100  # a page is read in five minutes
    for field in own_settings(name):
        row = re.search(rf"^\| `{field.name}`( \(live\))? \| (\S+) \|", page, re.M)
        assert row is not None, f"{field.name} is not in the table of docs/methods/{name}.md"
        live, default = row.groups()
        assert (live is not None) == field.metadata["live"]
        kind = type(field.default)
        written = {"true": True, "false": False}[default] if kind is bool else kind(default.replace(",", ""))
        assert written == field.default


def test_the_shared_settings_are_on_the_page_they_share() -> None:
    page = (PAGES / "README.md").read_text()
    for field in dataclasses.fields(AutoencoderConfig):
        row = re.search(rf"^\| `{field.name}` \| (\S+) \|", page, re.M)
        assert row is not None, field.name
        assert type(field.default)(row[1]) == field.default
        for choice in field.metadata["choices"]:
            assert f"`{choice}`" in page


@every_method
def test_a_page_names_every_term_that_is_logged(name: str) -> None:
    method = make(name)
    terms = method.update(taught().batch_at([0, 1, 2]))
    page = (PAGES / f"{name}.md").read_text()
    logged = re.search(r"\blogs\s+(.*?)\.", page, re.S)
    assert logged is not None
    assert re.findall(r"`(\w+)`", logged[1]) == list(terms)


@every_method
def test_the_class_gives_its_formula(name: str) -> None:
    assert METHODS[name].__doc__ is not None
    assert ("loss = reconstruction" if name in AUTOENCODERS else "loss = ") in str(METHODS[name].__doc__)


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in [*PAGES.glob("*.md"), ROOT / "docs" / "adding.md"]:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


# Settings


@every_method
def test_every_setting_has_a_sentence_and_every_strength_is_a_live_setting(name: str) -> None:
    fields = fields_of(name)
    for field in fields.values():
        assert len(field.metadata["help"]) > 8, field.name
    for strength in METHODS[name].strength:
        assert type(fields[strength].default) is float
        assert fields[strength].metadata["live"]


@every_method
def test_an_unknown_setting_suggests_the_nearest(name: str) -> None:
    for field in dataclasses.fields(METHODS[name].config_class):
        with pytest.raises(InputError, match=f"there is no setting '{field.name}s'; did you mean '{field.name}'"):
            make(name, **{f"{field.name}s": field.default})


@every_method
def test_values_out_of_range_are_refused_by_name(name: str) -> None:
    bad: list[tuple[str, Any]] = [
        ("batch_size", 0), ("batch_size", 2.5), ("batch_size", True), ("latents", 0), ("latents", "many"),
        ("learning_rate", 0), ("learning_rate", -1e-3), ("learning_rate", float("nan")), ("network", "smal"),
        ("likelihood", "poisson"), ("network", 3),
    ]  # fmt: skip
    bad = [(key, value) for key, value in bad if key in fields_of(name)]
    for field in own_settings(name):
        limits = field.metadata
        if limits["choices"]:
            bad.append((field.name, "nothing"))
            continue
        if type(field.default) is bool:
            bad += [(field.name, "maybe"), (field.name, 2)]
            continue
        limit = limits["low"] if limits["low"] is not None else limits["above"]
        assert limit is not None, f"{field.name} has no range"
        bad += [(field.name, type(field.default)(limit - 1)), (field.name, "much")]
        if type(field.default) is float:
            bad.append((field.name, float("nan")))
    for key, value in bad:
        with pytest.raises(InputError, match=f"^{key} is ") as error:
            make(name, **{key: value})
        assert "\n" not in str(error.value)


def test_messages_say_what_would_be_right() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"beta": -1}, "beta is -1.0; expected at least 0"),
        ({"batch_size": 0}, "batch_size is 0; expected at least 1"),
        ({"latents": 0}, "latents is 0; expected at least 1"),
        ({"learning_rate": 0}, "learning_rate is 0.0; expected more than 0"),
        ({"network": "smal"}, "network is 'smal'; did you mean 'small'?"),
        ({"latents": 2.0}, "latents is 2.0; expected a whole number"),
        ({"beta": "4"}, "beta is '4'; expected a number"),
        ({"bata": 4}, "there is no setting 'bata'; did you mean 'beta'?"),
    ]
    for settings, message in cases:
        with pytest.raises(InputError) as error:
            make("beta_vae", **settings)
        assert str(error.value) == message


def test_a_whole_number_is_good_where_a_number_is_meant() -> None:
    assert make("beta_vae", beta=2).hp["beta"] == 2.0


def test_an_unknown_method_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="there is no method 'beta_tcvae'; did you mean 'beta_tc_vae'"):
        method_class("beta_tcvae")


def test_images_the_network_cannot_take_are_refused_when_it_is_built() -> None:
    with pytest.raises(InputError, match="network 'assumptions' cannot take images of 12 x 12"):
        make("beta_vae", squares(side=12), network="assumptions")


# Learning


@every_autoencoder
@pytest.mark.parametrize(("likelihood", "channels"), [("bernoulli", 1), ("gaussian", 3)])
def test_it_learns(name: str, likelihood: str, channels: int) -> None:
    data = taught(channels)
    method = make(name, data, likelihood=likelihood)
    if "capacity" in method.update(data.batch(12, 0)):
        method.steps = 50  # from here on the capacity stays, and so the objective
    reports = list(train(method, data, steps=method.steps + 60, seed=0, every=10))
    assert reports[-1].terms["reconstruction"] < 0.97 * reports[0].terms["reconstruction"]
    assert reports[-1].terms["loss"] < reports[0].terms["loss"]


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(AUTOENCODERS)))
def test_it_learns_or_stays_as_it_is(name: str) -> None:
    method = make(name)
    before = copy_of_state(method)
    reports = list(train(method, taught(), steps=60, seed=0, every=10))
    if name in IDLE:
        assert all(torch.equal(value, before[key]) for key, value in method.named_parameters())
    elif name in GAMES:
        assert not any(torch.equal(value, before[key]) for key, value in method.named_parameters())
    else:
        assert reports[-1].terms["loss"] < 0.97 * reports[0].terms["loss"]


@every_method
def test_terms_are_finite_detached_scalars(name: str) -> None:
    terms = make(name).update(taught().batch_at(range(12)))
    assert next(iter(terms)) == "loss"
    for term in terms.values():
        assert term.shape == ()
        assert not term.requires_grad
        assert term.is_floating_point()
        assert bool(term.isfinite())


@every_method
def test_a_batch_of_one_image_is_a_batch(name: str) -> None:
    terms = make(name).update(taught().batch_at([0]))
    assert all(bool(term.isfinite()) for term in terms.values())


@every_method
@pytest.mark.parametrize("changed", [False, True], ids=["", "hp changed"])
def test_it_resumes_bit_for_bit(name: str, changed: bool) -> None:
    whole, first, second = make(name), make(name), make(name)
    for method in (whole, first):
        run(method, 3)
        if changed:
            method.hp = {key: value + 1 if key == "batch_size" else value * 1.3 for key, value in method.hp.items()}
    run(whole, 6)
    second.load_state_dict(copy_of_state(first))
    assert second.hp == first.hp
    run(second, 6)
    assert_same(whole, second)
    assert second.steps == 6


@every_method
def test_a_state_of_no_steps_starts_over(name: str) -> None:
    fresh, used = make(name), make(name)
    start = copy_of_state(fresh)
    run(used, 3)
    used.load_state_dict(start)
    run(used, 3)
    run(fresh, 3)
    assert_same(fresh, used)


@every_method
def test_a_state_holds_nothing_but_tensors(name: str) -> None:
    method = make(name)
    run(method, 1)
    assert all(isinstance(value, Tensor) for value in method.state_dict().values())


@every_method
def test_a_state_that_does_not_fit_is_refused(name: str) -> None:
    other = make(name, latents=4) if "latents" in fields_of(name) else make(name, taught(codes=4))
    with pytest.raises(RuntimeError, match="size mismatch"):
        make(name).load_state_dict(other.state_dict())


@every_method
def test_each_learning_rate_reaches_its_optimiser(name: str) -> None:
    method = make(name)
    if name in IDLE:
        assert method.optimisers == {}
        return
    for optimiser, adam in method._adams.items():
        method.hp[adam.rate] = 3e-3
        run(method, method.steps + 1)
        assert [group["lr"] for group in method.optimisers[optimiser].param_groups] == [3e-3]
        before = copy_of_state(method)
        method.hp = dict.fromkeys(method.hp, 1.0) | {adam.rate: 0.0 for adam in method._adams.values()}
        run(method, method.steps + 1)
        for key, value in method.named_parameters():
            assert torch.equal(value, before[key]), f"{key} moved at a learning rate of 0"
        method.load_state_dict(before)
    owned = [parameter for o in method.optimisers.values() for group in o.param_groups for parameter in group["params"]]
    assert {id(parameter) for parameter in owned} == {id(parameter) for parameter in method.parameters()}
    assert len(owned) == len(set(map(id, owned)))


@every_method
def test_live_strengths_change_the_loss(name: str) -> None:
    for key in METHODS[name].strength:
        losses = []
        for strength in (1.0, 50.0):
            method = make(name)
            method.steps, method.hp[key] = 25, strength
            torch.manual_seed(0)
            losses.append(float(method.update(taught().batch_at(range(12)))["loss"]))
        assert losses[0] != losses[1]


# Codes and what else a learner can do


@every_method
def test_a_learner_can_do_what_it_declares_and_nothing_else(name: str) -> None:
    """Others ask for `decodes`, never for the class."""
    method, batch = make(name), taught().batch_at(range(4))
    with torch.no_grad():
        encoding = method.encoding(batch)
        assert method.gaussian == (encoding.logvar is not None)
        if encoding.logvar is not None:
            assert encoding.logvar.shape == encoding.codes.shape
        groups = method.projection_groups
        if encoding.projection is not None:
            assert groups is not None
            assert encoding.projection.shape == (4, sum(map(len, groups)))
        able = {
            "decodes": lambda: method.decode(encoding.codes),
            "reconstructs": lambda: method.reconstruction(batch["images"], encoding.codes),
            "measures": lambda: method.measure(batch),
        }
        for capability, use in able.items():
            if getattr(method, capability):
                assert use() is not None
            else:
                with pytest.raises(InputError, match=f"^{type(method).__name__} (has no|measures no) "):
                    use()


def test_a_capability_that_is_not_declared_is_named_at_once() -> None:
    with pytest.raises(TypeError, match="Forgetful has decode and does not say so; expected decodes = True"):

        class Forgetful(Classifier):
            def decode(self, codes: Tensor) -> Tensor:
                return codes


@every_method
def test_a_learner_is_a_leaf_two_levels_below_the_contract(name: str) -> None:
    """Method, at most one abstract class, and the learner, which no other learner inherits from."""
    learner = METHODS[name]
    ancestors = [one for one in learner.mro() if issubclass(one, Method)]
    assert len(ancestors) <= 3
    assert not learner.__abstractmethods__
    assert all(ancestor.__abstractmethods__ for ancestor in ancestors[1:])


@every_autoencoder
@pytest.mark.parametrize("channels", [1, 3])
def test_codes_and_images_have_their_shapes_and_ranges(name: str, channels: int) -> None:
    data = squares(channels)
    for likelihood in ["bernoulli", "gaussian"]:
        method = make(name, data, likelihood=likelihood)
        with torch.no_grad():
            codes = method.encode(data.images_at(range(5)))
            images = method.decode(50 * codes)
        assert codes.shape == (5, 3)
        assert images.shape == (5, *data.image_shape)
        assert codes.dtype == images.dtype == torch.float32
        assert float(images.min()) >= 0
        assert float(images.max()) <= 1


@every_method
def test_a_code_does_not_depend_on_the_batch_it_is_in(name: str) -> None:
    data, method = taught(), make(name)
    run(method, 5)
    method.eval()
    with torch.no_grad():
        together = method.encoding(data.batch_at(range(36))).codes
        alone = torch.cat([method.encoding(data.batch_at([row])).codes for row in range(36)])
        backwards = method.encoding(data.batch_at(range(35, -1, -1))).codes.flip(0)
    assert together.shape == (36, 3)
    assert together.dtype == torch.float32
    assert torch.allclose(together, alone, atol=1e-5)
    assert torch.allclose(together, backwards, atol=1e-5)


@every_method
def test_it_is_built_again_from_its_config_and_the_spec_of_its_data(name: str) -> None:
    method = make(name)
    again = type(method)(method.config, Spec((1, 16, 16), 36, ("row", "column"), (6, 6), (1, 1, 1), 3))
    again.load_state_dict(copy_of_state(method))
    assert again.spec == method.spec == Spec.of(taught())
    assert_same(method, again)


# Learners that are no VAEs, through the same loop


class Classifier(Method):
    """loss = cross-entropy of each factor, from a code they share"""

    needs = ("images", "factors")

    def __init__(self, config: Config, spec: Spec) -> None:
        super().__init__(config, spec)
        if not spec.sizes:
            raise InputError("Classifier needs data with factors")
        self.encoder = nets.encoder("small", spec.image_shape, 8)
        self.heads = nn.ModuleList(nn.Linear(8, size) for size in spec.sizes)
        self.add_adam("classifier", self.parameters())

    def update(self, batch: Batch) -> Terms:
        codes = self.encoder(self.pixels(batch["images"]))
        columns = zip(self.heads, batch["factors"].T, self.spec.names, strict=True)
        losses = {name: F.cross_entropy(head(codes), column) for head, column, name in columns}
        loss = torch.stack(list(losses.values())).sum()
        self.descend("classifier", loss)
        return {"loss": loss.detach(), **{name: value.detach() for name, value in losses.items()}}

    def encoding(self, batch: Batch) -> Encoding:
        return Encoding(self.encoder(self.pixels(batch["images"])))


@dataclass(frozen=True)
class GANConfig(Config):
    critic_learning_rate: float = setting(2e-3, "learning rate of the critic", above=0, live=True)
    noise: int = setting(4, "dimensions of the noise", low=1)


class GAN(Method):
    """Two adversaries, an optimiser each, a spectrally normalised critic with buffers, and noise from torch."""

    config_class = GANConfig
    config: GANConfig
    decodes = True

    def __init__(self, config: GANConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        self.generator = nets.decoder("small", config.noise, spec.image_shape)
        self.critic = nn.Sequential(
            nn.Flatten(), nn.utils.parametrizations.spectral_norm(nn.Linear(256, 32)), nn.LeakyReLU(), nn.Linear(32, 1)
        )
        self.add_adam("generator", self.generator.parameters(), betas=(0.5, 0.999))
        self.add_adam("critic", self.critic.parameters(), "critic_learning_rate", betas=(0.5, 0.999))

    def update(self, batch: Batch) -> Terms:
        real = self.pixels(batch["images"])
        fake = self.decode(torch.randn(len(real), self.config.noise))
        loss = F.softplus(-self.critic(fake)).mean()
        self.descend("generator", loss)
        critic = F.softplus(-self.critic(real)).mean() + F.softplus(self.critic(fake.detach())).mean()
        self.descend("critic", critic)
        return {"loss": loss.detach(), "critic": critic.detach()}

    def encoding(self, batch: Batch) -> Encoding:
        return Encoding(self.critic(self.pixels(batch["images"])))

    def decode(self, codes: Tensor) -> Tensor:
        images: Tensor = self.generator(codes).sigmoid()
        return images


OTHERS: Mapping[str, tuple[type[Method], dict[str, Any]]] = {
    "classifier": (Classifier, {"batch_size": 12, "learning_rate": 2e-3}),
    "gan": (GAN, {"batch_size": 12, "learning_rate": 2e-3}),
}


def other(name: str) -> Method:
    kind, settings = OTHERS[name]
    torch.manual_seed(0)
    return kind(kind.config_class.make(settings), Spec.of(squares()))


def test_a_supervised_learner_trains() -> None:
    data, method = squares(), other("classifier")
    terms = run(method, 150)
    assert set(terms) == {"loss", "row", "column"}
    assert terms["loss"] < 0.5  # from 2 log 6 = 3.6
    with pytest.raises(InputError, match="Classifier has no decoder"):
        method.decode(method.encode(data.images_at([0])))


def test_a_pair_of_adversaries_trains() -> None:
    data, method = squares(), other("gan")
    run(method, 200)
    with torch.no_grad():
        drawn = method.decode(torch.randn(36, 4)).mean(0)
        before = other("gan").decode(torch.randn(36, 4)).mean(0)
    truth = data.images_at(range(36)).float().mean(0) / 255
    assert (drawn - truth).abs().mean() < 0.3 * (before - truth).abs().mean()


@pytest.mark.parametrize("name", OTHERS)
def test_other_learners_resume_bit_for_bit(name: str) -> None:
    whole, first, second = other(name), other(name), other(name)
    run(whole, 18)
    run(first, 9)
    second.load_state_dict(copy_of_state(first))
    run(second, 18)
    assert_same(whole, second)


def test_adversaries_keep_their_own_learning_rates() -> None:
    method = other("gan")
    method.hp["critic_learning_rate"] = 5e-3
    run(method, 1)
    rates = {name: optimiser.param_groups[0]["lr"] for name, optimiser in method.optimisers.items()}
    assert rates == {"generator": 2e-3, "critic": 5e-3}


def test_what_a_learner_needs_and_the_data_lacks_is_named() -> None:
    class Pairs(Classifier):
        needs = ("images", "factors", "second_view")

    torch.manual_seed(0)
    method = Pairs(Config(), Spec.of(squares()))
    with pytest.raises(InputError, match="this method needs second_view, which the data does not provide"):
        run(method, 1)
    pictures = Rows(squares().images_at(range(36)), torch.zeros(36, 0, dtype=torch.int64), [], [], source="test")
    with pytest.raises(InputError, match="needs data with factors"):
        Classifier(Config(), Spec.of(pictures))


def test_unlabelled_pictures_are_enough_for_a_vae() -> None:
    pictures = Rows(squares().images_at(range(36)), torch.zeros(36, 0, dtype=torch.int64), [], [], source="test")
    assert run(make("beta_vae", pictures), 3, pictures)["loss"] > 0
