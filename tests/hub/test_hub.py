"""Runs on the Hub: published, fetched, and refused where they are not what a run should be."""

from __future__ import annotations

import io
import json
import pickle
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import unbraid
from tests.examples.command import Here
from tests.examples.hub_server import HubServer, Repository, serving
from tests.examples.tiny_run import tiny
from unbraid import hub
from unbraid.errors import InputError
from unbraid.own.sources import KEY
from unbraid.runs import remote
from unbraid.runs.folder import Folder
from unbraid.runs.packing import pack
from unbraid.runs.run import Run

pytest.importorskip("huggingface_hub")
NAME = "somebody/model"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return tiny(tmp_path_factory.mktemp("hub") / "run", steps=2, protocol={"mig": {}, "modularity": {}})


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        monkeypatch.setenv("HF_TOKEN", "secret")
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        monkeypatch.setattr(remote, "cache_folder", lambda: tmp_path / "cache")
        yield server


@pytest.fixture(scope="module")
def packed(run: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run as it is published, without the card."""
    folder = pack(run, tmp_path_factory.mktemp("packed"), 100).folder
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_published_run_is_loaded_again(run: Run, server: HubServer, tmp_path: Path) -> None:
    address = run.push_to_hub(NAME, licence="cc-by-4.0", codes=100)
    assert address == f"hf://{NAME}"
    files = server.repositories[NAME].files
    assert set(files) == {
        "README.md", "codes.npz", "config.json", "model.safetensors", "scores.json", "state.json", "train.jsonl",
        "traversals.png",
    }  # fmt: skip
    loaded, known = unbraid.load(address), run.method()
    for name, value in known.state_dict().items():
        if not name.startswith("training."):
            assert torch.equal(loaded.state_dict()[name], value)
    fetched = Run(address)
    assert fetched.config == run.config
    assert fetched.scores == run.scores
    codes, all_codes = fetched.representation(), run.representation()
    assert len(codes.rows) == 100
    places = [int((all_codes.rows == row).nonzero()[0]) for row in codes.rows]
    assert torch.equal(codes.codes, all_codes.codes[places])
    assert fetched.state["versions"] == run.state["versions"]
    assert "README.md" not in {path.name for path in fetched.folder.iterdir()}


def test_it_is_fetched_once_and_also_read_without_a_connection(
    server: HubServer, packed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.repositories[NAME] = Repository(dict(packed))
    server.repositories[NAME].commit()
    folder = Run(f"hf://{NAME}").folder
    fetched = [line for line in server.requests if "/resolve/" in line]
    assert Run(f"hf://{NAME}@main").folder == folder
    assert Run(Path(f"hf://{NAME}")).folder == folder  # a path joins the slashes
    assert [line for line in server.requests if "/resolve/" in line] == fetched
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert Run(f"hf://{NAME}").folder == folder
    with pytest.raises(InputError, match="the Hub does not answer for hf://somebody/other"):
        Run("hf://somebody/other")


def test_commands_take_a_run_on_the_hub(
    server: HubServer, packed: dict[str, bytes], here: Here, tmp_path: Path, run: Run
) -> None:
    server.repositories[NAME] = Repository(dict(packed))
    scored = here("score", f"hf://{NAME}", "--metrics", "mig", "--no-baseline")
    assert scored.returncode == 0, scored.stderr
    assert (tmp_path / "model.scores.json").is_file()
    assert here("score", f"hf://{NAME}", "--update").returncode == 2
    explored = here("explore", f"hf://{NAME}", "--no-open")
    assert explored.stdout.strip() == "model/explorer.html"
    assert (tmp_path / "model" / "explorer.html").is_file()
    pushed = here("push", str(run.folder), "somebody/second")
    assert (pushed.returncode, pushed.stdout.strip()) == (0, "hf://somebody/second")
    prepared = here("push", str(run.folder), "somebody/third", "--out", "ready")
    assert prepared.stdout.strip() == "ready/README.md"
    again = here("push", str(run.folder), "somebody/third", "--out", "ready")
    assert "ready exists and is not an empty folder" in again.stderr


def test_the_card_says_what_the_record_says(run: Run, tmp_path: Path) -> None:
    card = (hub.prepare(run, NAME, tmp_path / "card", licence="mit", codes=10) / "README.md").read_text()
    head, _, body = card.removeprefix("---\n").partition("\n---\n")
    fields = {line.partition(": ")[0]: json.loads(line.partition(": ")[2]) for line in head.splitlines()}
    assert fields["license"] == "mit"
    (metric, *_) = fields["model-index"][0]["results"][0]["metrics"]
    assert (metric["type"], metric["value"]) == ("mig", round(run.scores["mig"], 4))
    assert f'unbraid.load("hf://{NAME}")' in body
    assert f"| MIG | {run.scores['mig']:.3f} |" in body
    assert "multitask: On the relationship" in body
    for name in run.config.settings:
        assert f"| `{name}` |" in body
    assert "![What each latent changes in one image](traversals.png)" in body
    assert "10 images with their factors" in body
    assert "has not stated a licence" in hub.card_of(run, NAME, picture=False)
    assert "traversals.png" not in hub.card_of(run, NAME, picture=False)


def test_paths_of_the_user_s_are_not_published(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    images = np.random.default_rng(0).integers(0, 255, (40, 16, 16, 3), dtype=np.uint8)
    np.savez(tmp_path / "mine" / "pictures.npz", images=images)
    data = unbraid.data.load("image_folder", 16, path=str(tmp_path / "mine" / "pictures.npz"))
    made = unbraid.train("beta_vae", data, steps=1, out=tmp_path / "run", network="small", latents=2, protocol=None)
    folder = hub.prepare(made, NAME, tmp_path / "ready")
    for path in folder.iterdir():
        assert str(tmp_path).encode() not in path.read_bytes(), path.name
    assert "the author's own, not part of this repository" in (folder / "README.md").read_text()
    assert unbraid.load(folder).config.latents == 2


def test_code_of_one_s_own_is_not_published(run: Run, tmp_path: Path) -> None:
    copy = Run(shutil.copytree(run.folder, tmp_path / "own"))
    record = copy.read_json("config")
    record["settings"]["network"] = f"mine.py:Mine@{'0' * KEY}"
    copy.write_json("config", record)
    copy.seal()
    with pytest.raises(InputError, match=r"needs code of your own, mine\.py:Mine@0"):
        pack(copy, tmp_path / "out")


@pytest.mark.parametrize("name", ["model", "a/b/c", "../../etc", "hf://x/y@main", "a/../b", "user/na me", "", "-a/b"])
def test_a_wrong_name_is_named(run: Run, name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected (hf://)?user/name"):
        hub.prepare(run, name, tmp_path / "out")


def test_who_may_not_publish_is_told_so(run: Run, server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "wrong")
    with pytest.raises(InputError, match=r"somebody/model cannot be published: .*401"):
        run.push_to_hub(NAME)


Hostile = Callable[[Repository], None]


def _changed(name: str, change: Callable[[dict[str, Any]], Any]) -> Hostile:
    """A file changed, with checksums that are right again: whoever makes a file can make those."""

    def apply(repository: Repository) -> None:
        record = json.loads(repository.files[name])
        change(record)
        repository.files[name] = json.dumps(record).encode()
        _seal(repository)

    return apply


def _seal(repository: Repository) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as part:
        for name, content in repository.files.items():
            if name != "state.json" and "/" not in name:
                (Path(part) / name).write_bytes(content)
        known = json.loads(repository.files["state.json"])
        details = {name: known[name] for name in ("seconds", "terms")}
        Folder(part).set_state("done", **details)
        repository.files["state.json"] = (Path(part) / "state.json").read_bytes()


def _replaced(name: str, content: bytes, sealed: bool = True) -> Hostile:
    def apply(repository: Repository) -> None:
        repository.files[name] = content
        if sealed:
            _seal(repository)

    return apply


def _without(name: str, *others: str) -> Hostile:
    def apply(repository: Repository) -> None:
        del repository.files[name]
        repository.files |= dict.fromkeys(others, b"")

    return apply


def _listed(name: str, **claims: Any) -> Hostile:
    def apply(repository: Repository) -> None:
        repository.listed[name] = claims

    return apply


class _Executed:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("executed"),)


def _pickled_codes() -> bytes:
    file = io.BytesIO()
    codes = np.empty((3, 4), dtype=object)
    codes[:] = _Executed()
    np.savez(file, codes=codes, factors=np.zeros((3, 5), int), rows=np.arange(3))
    return file.getvalue()


def _huge_codes() -> bytes:
    file = io.BytesIO()
    np.savez(file, codes=np.zeros((3, 4), "f4"), factors=np.zeros((3, 5), int), rows=np.arange(3))
    return file.getvalue().replace(b"'shape': (3, 4), }            ", b"'shape': (3000000000, 400), } ")


def _set(*path: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        for part in path[:-1]:
            record = record[part]
        record[path[-1]] = to

    return change


PICTURES = {"name": "image_folder", "resolution": 16}
HOSTILE: dict[str, tuple[Hostile, str]] = {
    "a method of its own": (
        _changed("config.json", _set("method", to=f"evil.py:Evil@{'0' * KEY}")), "names code of its author"),
    "a network of its own": (
        _changed("config.json", _set("settings", "network", to="/tmp/evil.py:Net")), "names code of its author"),
    "a module's name as a method": (_changed("config.json", _set("method", to="os.system")), "no method 'os.system'"),
    "data in a file of its own": (
        _changed("config.json", _set("opened", "name", to="evil.py:Data")), "names code of its author"),
    "a path of this machine": (
        _changed("config.json", _set("opened", to={**PICTURES, "settings": {"path": "/etc"}})),
        "points to a file of this machine: path is '/etc'"),
    "a config of another kind": (_replaced("config.json", b"[1, 2]"), "not a JSON object"),
    "a config with a wrong type": (_changed("config.json", _set("steps", to="many")), "steps"),
    "a link, as Git serves it": (_replaced("config.json", b"../../../../etc/passwd"), "damaged"),
    "a larger model than its weights": (
        _changed("config.json", _set("settings", "latents", to=100_000)), "asks for a model with more numbers than"),
    "weights of other shapes": (_changed("config.json", _set("settings", "latents", to=7)), "has shape"),
    "weights that are a pickle": (
        _replaced("model.safetensors", pickle.dumps(_Executed()) + bytes(10**6)), "damaged"),
    "codes that are a pickle": (_replaced("codes.npz", _pickled_codes()), "codes"),
    "codes that declare a terabyte": (_replaced("codes.npz", _huge_codes()), "codes"),
    "scores that are words": (_changed("scores.json", _set("scores", "mig", to="<script>")), "scores"),
    "no weights but a pickle": (
        _without("model.safetensors", "pytorch_model.bin"), "no model.safetensors; pytorch_model.bin is a pickle"),
    "no config": (_without("config.json"), "is not a run of Unbraid: it has no config.json"),
    "names that lead outside": (
        _without("config.json", "../config.json", "/etc/config.json", "a/../../config.json"), "it has no config.json"),
    "a size that fills the disk": (_listed("model.safetensors", size=10**15), "expected at most"),
    "no size": (_listed("model.safetensors", size=None), "does not say how large"),
    "another size than the one listed": (_listed("config.json", size=3), "is not the file that the Hub lists"),
    "a wrong hash": (_listed("config.json", blobId="f" * 40), "is not the file that the Hub lists"),
    "a wrong hash of a large file": (
        _listed("model.safetensors", lfs={"sha256": "f" * 64, "size": 1, "pointerSize": 1}), "is not the file that"),
    "a checksum of its own that is wrong": (
        _replaced("scores.json", b'{"scores": {}, "protocol": "own"}', sealed=False), "its checksum differs"),
    "a run that is not done": (_replaced("state.json", b"{}", sealed=False), "state.json is damaged"),
    "a revision that leads outside": (
        lambda repository: setattr(repository, "sha", "../../../evil"), "digits of a commit"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_repository_is_refused(
    case: str, server: HubServer, packed: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    repository = Repository(dict(packed))
    change, reason = HOSTILE[case]
    repository.commit()
    change(repository)
    server.repositories[NAME] = repository
    with pytest.raises(InputError, match=reason) as refused:
        unbraid.load(f"hf://{NAME}")
    assert NAME in str(refused.value)
    assert str(tmp_path) not in str(refused.value)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []  # nothing is kept, nothing was executed


def test_a_repository_that_is_sound_is_not_refused(server: HubServer, packed: dict[str, bytes]) -> None:
    """The cases above differ from this one in one thing each."""
    repository = Repository({**packed, "evil.py": b"raise SystemExit", "model.pkl": pickle.dumps(_Executed())})
    _seal(repository)
    repository.commit()
    server.repositories[NAME] = repository
    unbraid.load(f"hf://{NAME}")
    assert not [line for line in server.requests if re.search(r"/resolve/.*(evil|pkl)", line)]


@pytest.mark.parametrize("name", ["hf://a", "hf://a/b/c", "hf://../b", "hf://a/b@../c", "hf:///etc/passwd"])
def test_a_wrong_address_is_named(name: str) -> None:
    with pytest.raises(InputError, match="expected hf://user/name"):
        unbraid.load(name)
