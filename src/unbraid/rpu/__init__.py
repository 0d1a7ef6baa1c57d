"""rPU-VAE (population, section 4.2 and algorithm 1): find a few factors, take them out of the data, and go on.

A population without labels (by UDR) learns the factors that vary most. The active latents of its best model label the
data, and the images over which these labels hardly vary make the data of the next metaEpoch, which finds other factors.
A leaf-run goes on so until nothing is left. All labels together are the fitness of a last population on the whole data.

The folder holds

    rpu.json             what it was asked for
    metaepochs.csv       a row for each metaEpoch: images, UDR, active latents, why a leaf-run stopped
    labels.csv           the surrogate labels: a row for each image, with its file's name where it has one
    metaepochs.png       what the active latents of each metaEpoch do, as figure 5
    metaepoch1/          the first metaEpoch; leaf1/metaepoch2/, leaf1/metaepoch3/, … those of the leaf-runs, each with
        population/      its population; population.png is its history
        labels.npz       its rows, their surrogate labels, the KL of all latents
        reduction.png    how its data came about, as figure 3
        traversals.png   what its latents do, the active ones in full contrast
    final3/              the last population, by the labels of three leaf-runs
    reconstructions.png, traversals.png, traversals.gif   of its best model

Run again, it finds all that is done: going on after a kill is doing the same once more.
"""

from unbraid.rpu.reduction import ReductionConfig
from unbraid.rpu.run import RPU, RPUConfig, rpu

__all__ = ["RPU", "RPUConfig", "ReductionConfig", "rpu"]
