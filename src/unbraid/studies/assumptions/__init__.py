"""Locatello et al., *Challenging Common Assumptions in the Unsupervised Learning of Disentangled Representations*."""
