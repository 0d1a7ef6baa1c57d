"""What the paper reports. Its text has hardly any numbers: figures 1, 2, 4 and 6 are plots without a table."""

from __future__ import annotations

SEEDS = 5  # of populations and rPU-VAEs (sections 3.1 and 5)
LEAF_RUNS = 3  # section 5
BASELINE_SEEDS = 50  # of each strength of the six methods (section 5)
LABELS = 1_000  # section 3.2
NO_NUMBERS = "The paper's figure is a plot without numbers."

# Figure 2's caption, section 4.1
FIRST_FACTORS = {"dsprites": ("x", "y")}

# Figure 5's caption: what the active latents of each metaEpoch stand for
FIGURE_5 = {
    "dsprites": ("y, x", "scale", "orientation, shape"),
    "shapes3d": ("wall colour, floor colour", "shape, wall colour, object colour (twice)", "shape, scale"),
}


def figure_5(data: str) -> tuple[str, ...]:
    """By metaEpoch; none for other data sets than the paper's."""
    return FIGURE_5.get(data.removesuffix("_official"), ())


def first_factors(data: str) -> tuple[str, ...]:
    """What a population by UDR finds; none where the paper does not say."""
    return FIRST_FACTORS.get(data.removesuffix("_official"), ())
