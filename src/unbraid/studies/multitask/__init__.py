"""On the relationship between disentanglement and multi-task learning."""
