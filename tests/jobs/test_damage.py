from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.examples.toy_jobs import Note, run, table, tiny
from unbraid import load_runs
from unbraid.jobs.folder import StudyFolder
from unbraid.jobs.job import Job
from unbraid.jobs.schedule import tally
from unbraid.runs.recording import train
from unbraid.runs.run import Run


def flip(rng: random.Random, good: bytes) -> bytes:
    bad, place = bytearray(good), rng.randrange(len(good))
    bad[place] ^= 1 << rng.randrange(8)
    return bytes(bad)


DAMAGES: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "truncated": lambda rng, good: good[: rng.randrange(1, len(good))],
    "empty": lambda rng, good: b"",
    "foreign": lambda rng, good: rng.choice([b"PK\x03\x04 of old", b"[1, 2]\n", b'{"state": "done"}\n', b"\xff" * 40]),
    "flipped": flip,
    "longer": lambda rng, good: good + b" ",
}
TIMES = {"truncated": 4, "empty": 1, "foreign": 4, "flipped": 6, "longer": 1}
FILES = ("codes.npz", "config.json", "job.json", "model.safetensors", "scores.json", "state.json", "train.jsonl")
CASES = [(file, kind) for file in FILES for kind, times in TIMES.items() for _ in range(times)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of seven tiny runs that nothing happened to."""
    out = tmp_path_factory.mktemp("whole") / "study"
    jobs = [tiny(seed) for seed in range(7)]
    StudyFolder(out).begin("toys", "smoke", jobs)
    run(jobs, out)
    return out


def test_every_damage_to_a_finished_run_is_named_set_aside_and_mended(whole: Path, tmp_path: Path) -> None:
    assert len(CASES) == 112
    jobs: list[Job] = [tiny(seed) for seed in range(7)]
    expected = table(whole, jobs)
    assert sorted(expected[StudyFolder(whole).folder(jobs[0]).name][1]) == sorted(set(FILES) - {"state.json"})
    rng, out = random.Random(5), tmp_path / "study"
    shutil.copytree(whole, out)
    study = StudyFolder(out)
    for start in range(0, len(CASES), len(jobs)):
        damaged = CASES[start : start + len(jobs)]
        for job, (file, kind) in zip(jobs, damaged, strict=True):
            path = study.folder(job) / file
            path.write_bytes(DAMAGES[kind](rng, path.read_bytes()))
        assert tally(jobs, out).total == 7
        runs = load_runs(out)
        read = sum(file in ("config.json", "scores.json", "state.json") for file, _ in damaged)
        assert Counter(runs["state"]) == +Counter(done=7 - read, damaged=read), "what a table is made from is looked at"
        found, said = run(jobs, out)
        assert str(found) == "7 done"
        for job, (file, kind) in zip(jobs, damaged, strict=True):
            lines = [line for line in said if str(study.folder(job) / file) in line]
            assert len(lines) == 1, (file, kind, said)
            assert f"set aside as {out / 'damaged' / study.folder(job).name}-{start // 7 + 1}, and its job" in lines[0]
        assert len(said) == 7
        assert table(out, jobs) == expected, damaged
    assert len(list((out / "damaged").iterdir())) == len(CASES)


def test_a_bit_that_flips_on_the_disk_is_found_by_reading_all(whole: Path, tmp_path: Path) -> None:
    jobs: list[Job] = [tiny(seed) for seed in range(7)]
    shutil.copytree(whole, tmp_path / "study")
    for number, (job, file) in enumerate(zip(jobs, FILES, strict=True)):
        path = StudyFolder(tmp_path / "study").folder(job) / file
        stat = path.stat()
        path.write_bytes(flip(random.Random(number), path.read_bytes()))
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    _, said = run(jobs, tmp_path / "study", thorough=True)
    assert len(said) == 7
    assert table(tmp_path / "study", jobs) == table(whole, jobs)


def test_copied_folders_with_other_times_are_taken_as_they_are(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "study", copy_function=shutil.copyfile)
    found, said = run([tiny(seed) for seed in range(7)], tmp_path / "study")
    assert (str(found), said) == ("7 done", [])
    assert not (tmp_path / "study" / "damaged").exists()


@pytest.mark.parametrize("what", ["another job", "a file", "no state", "a folder for a file", "another state"])
def test_what_does_not_belong_is_set_aside(whole: Path, tmp_path: Path, what: str) -> None:
    out = tmp_path / "study"
    shutil.copytree(whole, out)
    first, second = (StudyFolder(out).folder(tiny(seed)) for seed in (0, 1))
    if what == "another job":
        shutil.rmtree(first)
        shutil.copytree(second, first)
    elif what == "a file":
        shutil.rmtree(first)
        first.write_text("not a folder")
    elif what == "no state":
        (first / "state.json").unlink()
    elif what == "a folder for a file":
        (first / "codes.npz").unlink()
        (first / "codes.npz").mkdir()
    else:
        shutil.copy2(second / "state.json", first / "state.json")
    jobs: list[Job] = [tiny(seed) for seed in range(7)]
    assert tally(jobs, out).total == 7
    load_runs(out / "jobs")
    found, said = run(jobs, out)
    assert str(found) == "7 done"
    assert len(said) == 1
    assert str(first) in said[0]
    assert (out / "damaged" / f"{first.name}-1").exists()
    assert table(out, jobs) == table(whole, jobs)


def _stop(*arguments: Any, **settings: Any) -> None:
    raise KeyboardInterrupt


def _with_checkpoints(*arguments: Any, **settings: Any) -> Run:
    return train(*arguments, **{**settings, "every": 1, "checkpoint_seconds": 0.0})


class Stopped(NamedTuple):
    """Folders of one job, with a checkpoint for every step, and the table without a stop."""

    training: Path
    """Stopped when it had just trained."""
    trained: Path
    """Stopped before its scores were written."""
    expected: dict[str, Any]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stopped]:
    outs = {moment: tmp_path_factory.mktemp(moment) / "study" for moment in ("training", "trained", "never")}
    with pytest.MonkeyPatch.context() as always:
        always.setattr("unbraid.jobs.training.train", _with_checkpoints)
        run([tiny()], outs["never"])
        for moment, function in (("training", "represent"), ("trained", "score")):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(f"unbraid.runs.recording.{function}", _stop)
                with pytest.raises(KeyboardInterrupt):
                    run([tiny()], outs[moment])
        yield Stopped(outs["training"], outs["trained"], table(outs["never"], [tiny()]))


def files(out: Path) -> list[str]:
    return sorted(path.name for path in StudyFolder(out).folder(tiny()).iterdir())


@pytest.mark.parametrize("moment", ["training", "trained"])
def test_a_stopped_job_goes_on(moment: str, stopped: Stopped, tmp_path: Path) -> None:
    checkpoints = ["checkpoint.previous.safetensors", "checkpoint.safetensors"]
    assert files(stopped.training) == [*checkpoints, "config.json", "job.json", "state.json", "train.jsonl"]
    assert files(stopped.trained) == [file for file in FILES if file != "scores.json"]
    shutil.copytree(getattr(stopped, moment), tmp_path / "study")
    found, said = run([tiny()], tmp_path / "study")
    assert (str(found), said) == ("1 done", [])
    assert table(tmp_path / "study", [tiny()]) == stopped.expected


@pytest.mark.parametrize("moment", ["training", "trained"])
def test_damage_to_a_stopped_job_never_changes_what_comes_out(moment: str, stopped: Stopped, tmp_path: Path) -> None:
    before, rng = getattr(stopped, moment), random.Random(7)
    for number, (file, kind) in enumerate((file, kind) for file in files(before) for kind in DAMAGES):
        out = tmp_path / str(number)
        shutil.copytree(before, out)
        path = StudyFolder(out).folder(tiny()) / file
        path.write_bytes(DAMAGES[kind](rng, path.read_bytes()))
        assert tally([tiny()], out).total == 1
        load_runs(out / "jobs")
        found, said = run([tiny()], out)
        assert str(found) == "1 done", (file, kind, said)
        assert table(out, [tiny()]) == stopped.expected, (file, kind)
        harmless = file.startswith(("checkpoint", "train")) or (file, kind) == ("job.json", "longer")
        assert harmless or len(said) == 1, (file, kind, said)


def test_half_written_files_of_a_killed_process_are_swept(tmp_path: Path) -> None:
    job = Note("a")
    folder = StudyFolder(tmp_path).open(job).folder
    (folder / ".note.json.123.part").write_text("{")
    found, said = run([job], tmp_path)
    assert (str(found), said) == ("1 done", [])
    assert sorted(path.name for path in folder.iterdir()) == ["job.json", "note.json", "state.json"]
