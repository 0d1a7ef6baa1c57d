"""What learners on frozen codes share: codes come with the data, no image is encoded."""

from __future__ import annotations

from unbraid.errors import InputError
from unbraid.methods.base import Batch, Encoding, Method
from unbraid.methods.config import Spec


class OnCodes(Method):
    """A learner that takes the codes of its data as they are.

    The encoder of these codes is not part of it: it is built again without one, and images are encoded once.
    """

    def check_codes(self, spec: Spec) -> None:
        if not spec.codes:
            raise InputError(f"{type(self).__name__} needs data with codes; expected codes=FILE.npy, or codes=factors")

    def encoding(self, batch: Batch) -> Encoding:
        if "codes" not in batch:
            raise InputError(
                f"{type(self).__name__} takes codes, not images; encode images with the encoder of its codes"
            )
        return Encoding(batch["codes"].to(self.device))
