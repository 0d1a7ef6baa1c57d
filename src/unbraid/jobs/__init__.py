"""Studies as lists of jobs: what a job is, the kinds that all studies share, and how they are run."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unbraid.jobs.agreement import Udr
    from unbraid.jobs.embedding import Embed
    from unbraid.jobs.job import Job, ordered
    from unbraid.jobs.schedule import Tally, run, tally
    from unbraid.jobs.study_folder import StudyFolder
    from unbraid.jobs.training import Train

__all__ = ["Embed", "Job", "StudyFolder", "Tally", "Train", "Udr", "ordered", "run", "tally"]

_MODULES = {
    "Embed": "embedding", "Job": "job", "StudyFolder": "study_folder", "Tally": "schedule", "Train": "training",
    "Udr": "agreement", "ordered": "job", "run": "schedule", "tally": "schedule",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name on first use: the kinds of job bring PyTorch, which looking at a study's folder does not need."""
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
