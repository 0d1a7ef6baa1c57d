"""Unsupervised disentanglement learning by intervention: the study."""

TITLE = "Unsupervised disentanglement learning by intervention"
