"""Table 3: the setting that each method's regularisation is swept by.

In the order of the reference study, in which the field numbers its models (data set, method, strength, seed; from 0).
"""

from __future__ import annotations

from collections.abc import Mapping

STRENGTHS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "beta_vae": ("beta", (1.0, 2.0, 4.0, 6.0, 8.0, 16.0)),
    "factor_vae": ("gamma", (10.0, 20.0, 30.0, 40.0, 50.0, 100.0)),
    "dip_vae_i": ("lambda_od", (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)),
    "dip_vae_ii": ("lambda_od", (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)),
    "beta_tc_vae": ("beta", (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)),
    "annealed_vae": ("c_max", (5.0, 10.0, 25.0, 50.0, 75.0, 100.0)),
}
SIX = tuple(STRENGTHS)
