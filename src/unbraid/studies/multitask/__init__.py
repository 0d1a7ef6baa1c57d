"""On the relationship between disentanglement and multi-task learning."""

TITLE = "On the relationship between disentanglement and multi-task learning"
