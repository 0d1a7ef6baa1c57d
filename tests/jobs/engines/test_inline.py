"""The engine without processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.examples.toy_jobs import Note
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.schedule import run
from unbraid.jobs.study_folder import StudyFolder


def test_a_call_is_done_at_once_in_this_process() -> None:
    future = InlineExecutor().submit(os.getpid)
    assert future.done()
    assert future.result() == os.getpid()


def test_an_error_is_the_futures_and_an_interrupt_is_not() -> None:
    future = InlineExecutor().submit(int, "x")
    assert isinstance(future.exception(), ValueError)

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        InlineExecutor().submit(interrupted)


def test_a_study_runs_on_it_in_the_order_of_its_needs(tmp_path: Path) -> None:
    first = Note("first")
    plan = [Note("second", (first,)), Note("third")]
    assert run(plan, tmp_path, executor=InlineExecutor(), workers=1).states == {"done": 3}
    assert StudyFolder(tmp_path).state(first) == "done"
