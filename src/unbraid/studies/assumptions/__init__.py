"""Locatello et al., *Challenging Common Assumptions in the Unsupervised Learning of Disentangled Representations*."""

TITLE = "Challenging common assumptions in the unsupervised learning of disentangled representations"
