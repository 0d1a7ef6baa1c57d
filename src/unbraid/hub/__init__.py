"""Publishing runs: a model card made from a run's record, and the upload to the Hugging Face Hub."""

from unbraid.hub.card import card_of
from unbraid.hub.push import prepare, push_to_hub

__all__ = ["card_of", "prepare", "push_to_hub"]
