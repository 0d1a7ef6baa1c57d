"""The pages: their code runs, their commands exist, their links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt
from PIL import Image

import unbraid
from unbraid.cli import app
from unbraid.jobs.engines.inline import InlineExecutor

ROOT = Path(__file__).parents[1]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/unbraid/studies/*/README.md")]
}
MARKDOWN = MarkdownIt("commonmark").enable("table")
CODE = {name: [token for token in MARKDOWN.parse(text) if token.content and token.type in {"fence", "code_block"}]
        for name, text in PAGES.items()}  # fmt: skip
ELSEWHERE = {
    "docs/adding.md": "tests/own/test_adding.py follows it in a folder of its own",
    "docs/metrics/translation_difficulty.md": "tests/metrics/test_translation_difficulty.py does, smaller",
    "docs/metrics/variation_predictability.md": "tests/metrics/test_variation_predictability.py does, smaller",
    "docs/hub.md": "tests/hub/test_hub.py does, with a local server",
    "docs/scoring.md": "its recipes fetch models; tests/training/test_encoders.py has their like",
    "docs/reference_code.md": "tests/studies/assumptions/test_reference.py reads such files",
}
SMALLER = {
    "README.md": {"data.sample(15_000": "data.sample(900", "sample(4_000": "sample(4"},
    "docs/compare.md": {"class L1VAE(VAE)": "from unbraid.methods.vae import VAE\n\nclass L1VAE(VAE)"},
    "docs/data.md": {'data = load("hugging_face", hub="cifar10", image="img", factors="label")': "",  # from the network
                     "mnist_stl10\", 64": "mnist_stl10\", 32"},
    "docs/methods/README.md": {"steps=300_000": "steps=1", 'load("dsprites")': 'load("dsprites", 16, rows=200)'},
    "docs/methods/multitask.md": {"resolution=32": "resolution=16, rows=400"},
    "docs/population.md": {"rows=20_000": "rows=200", "labels=1000": "labels=100", "resolution=32": "resolution=16",
                           "steps=200": "steps=1", '"network": "small"': '"network": "tiny"',
                           "workers=2": "executor=InlineExecutor()"},
    "docs/runs.md": {"20_000": "200", "5_000": "100",
                     '"dsprites"': '"dsprites", resolution=16, network="tiny", samples=600'},
    "docs/tracking.md": {"20_000": "1",
                         '"dsprites"': '"dsprites", resolution=16, network="tiny", samples=600, protocol=None'},
    "docs/studies.md": {"LocalExecutor(2)": "InlineExecutor()", "workers=2": "workers=1"},
}  # fmt: skip
"""What makes the code of a page quick. None of it changes which names are used, or how."""


def parts(name: str) -> str:
    """The Python of a page, with smaller numbers."""
    code = "\n".join(token.content for token in CODE[name] if token.info == "python")
    for large, small in SMALLER.get(name, {}).items():
        assert large in code, f"{name} no longer has {large!r}"
        code = code.replace(large, small)
    return code


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> unbraid.Run:
    """A model of each of two methods, hardly trained: those that the pages speak of."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "mine").mkdir()
    for method in ("beta_tc_vae", "beta_vae"):
        for seed in range(2):
            given: dict[str, Any] = {"resolution": 16, "network": "tiny", "samples": 600, "protocol": {"mig": {}}}
            made = unbraid.train(method, "dsprites", steps=1, seed=seed, out=folder / f"{method}{seed}", **given)
    return made


@pytest.fixture
def given(tmp_path: Path, run: unbraid.Run, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names and files that the pages take as given."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (12, 64, 64), dtype=np.uint8)
    for number, picture in enumerate(pictures):
        for folder in (Path("pictures"), Path("photos", "abcd"[number % 4])):
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(folder / f"{number}.png")
    words = ["heart", "square", "ellipse"] * 4
    table = pd.DataFrame({"shape": words, "angle": rng.integers(0, 4, 12)})
    files = pd.Series([f"{number}.png" for number in range(12)], name="file")
    for name in ("labels.csv", "mine.csv", run.folder.parent / "mine" / "labels.csv"):
        pd.concat([files, table], axis=1).to_csv(name, index=False)
    np.savez("both.npz", images=pictures, factors=rng.integers(0, 3, (12, 2)))
    np.save("rows.npy", np.arange(50))
    np.save("joint.npy", np.full((10, 10), 0.01))
    np.save("my_targets.npy", np.stack([rng.normal(size=737_280), rng.integers(0, 2, 737_280)], 1))
    np.save("codes.npy", rng.normal(size=(737_280, 2)).astype(np.float32))
    np.save("labels.npy", rng.normal(size=(12, 2)))
    Path("runs").symlink_to(run.folder.parent)
    factors = rng.integers(0, 4, (3_500, 2))
    codes = factors + rng.normal(size=factors.shape) / 4
    return {
        "InlineExecutor": InlineExecutor, "pictures": pictures, "words": words, "degrees": rng.uniform(0, 360, 12),
        "table": table, "run": run, "method": unbraid.load(run.folder), "data": run.data(),
        "codes": codes, "factors": factors, "codes2": codes, "factors2": factors,
        "mig": {data: {"factor_vae": rng.normal(1, 0.1, 5), "beta_vae": rng.normal(0, 0.1, 5)} for data in "abcd"},
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", sorted({name for name, code in CODE.items() if any(one.info == "python" for one in code)})
)
def test_the_code_of_a_page_runs(name: str, given: dict[str, Any]) -> None:
    if name in ELSEWHERE:
        pytest.skip(ELSEWHERE[name])
    if name == "docs/explorer.md":
        pytest.importorskip("anywidget", reason="the widget is an extra")
    if name == "docs/tracking.md":
        pytest.importorskip("tensorboard", reason="trackers are extras")
    try:
        exec(compile(parts(name), name, "exec"), {"__name__": "__main__", **given})
    finally:
        plt.close("all")


COMMANDS = sorted({
    (name, re.sub(r"\\\n\s*", "", line).split("  #")[0].strip())
    for name, code in CODE.items()
    for token in code
    for line in re.findall(r"^(?:\$ )?unbraid (?:.*\\\n)*.*", token.content, re.M)
})  # fmt: skip


@pytest.mark.parametrize(("name", "line"), COMMANDS)
def test_a_command_of_a_page_exists(name: str, line: str) -> None:
    """With its options and no arguments too many. What is in brackets may be left out, and … stands for more."""
    if name == "docs/adding.md":
        pytest.skip(ELSEWHERE[name])
    words = shlex.split(line.replace("[", "").replace("]", "").replace("…", "").lstrip("$ "))[1:]
    command: click.Command = app
    context = click.Context(app, info_name="unbraid")
    while isinstance(command, click.Group) and words:
        if words[0].startswith("-") or words[0].isupper():
            break  # a group's own options, or a name that stands for any of its commands
        found = command.get_command(context, words[0])
        assert found is not None, f"{name}: there is no {words[0]} in: {line}"
        command, words = found, words[1:]
        context = click.Context(command, parent=context)
    if not isinstance(command, click.Group):
        _, rest, _ = command.make_parser(context).parse_args(list(words))
        assert not rest, f"{name}: unexpected argument {rest[0]} in: {line}"


@pytest.mark.parametrize("name", PAGES)
def test_links_between_pages_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^( *)```.*?^\1```", "", PAGES[name], flags=re.M | re.S)):
        path, _, heading = target.partition("#")
        if "://" in target:
            continue
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), f"{name}: {target}"
        if heading and file.suffix == ".md":
            assert heading in headings(file.read_text()), f"{name}: {target}"


def headings(text: str) -> set[str]:
    """The names of a page's headings in links, as GitHub and the site make them."""
    found = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in found}
