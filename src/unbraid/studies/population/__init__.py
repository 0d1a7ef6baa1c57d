"""Robust disentanglement of a few factors at a time using rPU-VAE (Estermann, Marks & Yanik 2020)."""

TITLE = "Robust disentanglement of a few factors at a time using rPU-VAE"
