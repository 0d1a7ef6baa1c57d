"""Burns et al. 2021: unsupervised disentanglement without autoencoding."""
