"""Burns et al. 2021: unsupervised disentanglement without autoencoding."""

TITLE = "Unsupervised disentanglement without autoencoding: pitfalls and future directions"
