"""What a run is, as its folder records it: all that a table of many runs needs, without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unbraid.data.schema import COUNT, OBJECT, PLAIN, WHOLE, WORD, Kind, check, optional
from unbraid.own import label
from unbraid.own.references import references_in, without_keys
from unbraid.runs.folder import Folder, unlinked
from unbraid.runs.lease import NoLocksError, is_leased


@dataclass(frozen=True)
class RunConfig:
    """All that decides a run's numbers, and nothing else."""

    id: str
    """Its job's: `run_id` of the other fields, or the id of another kind of job that trains a model."""
    method: str
    settings: Mapping[str, Any]
    """Every setting of the method, defaults included."""
    data: Mapping[str, Any]
    """What `FactorData.describe` says."""
    steps: int
    seed: int
    precision: str
    samples: int | None = None
    """How many rows are encoded when it is trained; None for `represent`'s default."""
    protocol: str | Mapping[str, Mapping[str, Any]] | None = None
    """How their codes are scored."""
    start: str | None = None
    """The id of the run whose state it begins with; None where it begins with weights from its seed."""

    def differences(self, other: RunConfig) -> list[str]:
        """Where two configs differ, each as `name is 1, not 2`; their ids only where nothing else does.

        Where only the code of a reference differs, `your method changed since this run`.
        """
        changed = self._changed_code(other)
        ours, others = flat(without_keys(asdict(self))), flat(without_keys(asdict(other)))
        names = [name for name in sorted(ours.keys() | others.keys()) if ours.get(name) != others.get(name)]
        other_data = ["data.content"] if "data" in changed else []  # other code gives other images
        names = [name for name in names if name not in ("id", *other_data)] or ([] if changed else names)
        return [f"your {part} changed since this run" for part in changed] + [
            f"{name} is {ours.get(name)}, not {others.get(name)}" for name in names
        ]

    def _changed_code(self, other: RunConfig) -> list[str]:
        """What both have from the same files of the user's, of which the content differs."""
        ours, others = ({without_keys(one): one for one in references_in(asdict(config))} for config in (self, other))
        parts = {value: name for name, value in self.settings.items() if isinstance(value, str)}
        parts |= {self.method: "method", str(self.data.get("data")): "data"}
        changed = [ours[one] for one in ours if one in others and ours[one] != others[one]]
        return [str(parts.get(one, f"metric {label(one)}")) for one in changed]


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings with dotted names: `{"data.content": …}`."""
    named: dict[str, Any] = {}
    for name, value in tree.items():
        nested = isinstance(value, Mapping) and value
        named |= flat(value, f"{prefix}{name}.") if nested else {f"{prefix}{name}": value}
    return named


FILES = (
    "config.json", "state.json", "train.jsonl", "scores.jsonl", "scores.json", "model.safetensors", "codes.npz",
    "samples.npz", "names.json", "circles.json", "checkpoint.safetensors", "checkpoint.previous.safetensors",
)  # fmt: skip
"""Of a run; another in the place of one of them would damage it."""
LEASE = ".lease"  # the file that the process training a run keeps locked
_CONFIG = {
    "id": WORD,
    "method": WORD,
    "settings": PLAIN,
    "data": Kind("what the data is called", lambda value: isinstance(value, dict) and WORD.holds(value.get("data"))),
    "steps": COUNT,
    "seed": COUNT,
    "precision": WORD,
    "samples": optional(WHOLE),
    "protocol": Kind("a protocol", lambda value: value is None or WORD.holds(value) or OBJECT.holds(value)),
    "start": optional(WORD),
}


class RunRecord(Folder):
    """A run folder as a record: its config, its state, and where its files are."""

    kind = "run"
    lasting = ("config.json", "train.jsonl", "scores.jsonl", "model.safetensors", "codes.npz")

    @property
    def config(self) -> RunConfig:
        record = self.read_json("config")
        check(self.path("config"), record, _CONFIG)
        return RunConfig(**{name: record[name] for name in RunConfig.__dataclass_fields__})

    def path(self, name: str) -> Path:
        """The file that holds `config`, `train`, `model`, `codes`, `scores` or `state`."""
        endings = {"train": "jsonl", "model": "safetensors", "checkpoint": "safetensors", "codes": "npz"}
        return unlinked(self.folder / f"{name}.{endings.get(name, 'json')}")

    @property
    def status(self) -> str:
        """Its state; `stopped` where that is `running` and no process works on it, as after a kill."""
        state = str(self.state["state"])
        return "stopped" if state == "running" and not self._is_trained() else state

    def _is_trained(self) -> bool:
        """Whether a living process has its lease; True where that cannot be known."""
        try:
            return is_leased(unlinked(self.folder / LEASE))
        except NoLocksError:
            return True
