"""Unsupervised disentanglement learning by intervention: the study."""
