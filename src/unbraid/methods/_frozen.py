"""What learners on frozen codes share: codes come with the data, and no image is encoded."""

from __future__ import annotations

from torch import Tensor

from unbraid.errors import InputError
from unbraid.methods.base import Batch, Method, Spec


class OnCodes(Method):
    """A learner that takes the codes of its data as they are.

    The encoder that gave them is no part of it: it is built again without one, and encoding is paid for once.
    """

    def check_codes(self, spec: Spec) -> None:
        if not spec.codes:
            raise InputError(f"{type(self).__name__} needs data with codes: codes=FILE.npy, or codes=factors")

    def codes_of(self, batch: Batch) -> Tensor:
        if "codes" not in batch:
            raise InputError(f"{type(self).__name__} takes codes, which this data does not give")
        return batch["codes"].to(self.device)

    def encode(self, images: Tensor) -> Tensor:
        raise InputError(f"{type(self).__name__} takes codes, not images; encode them with what gave it its codes")
