"""What noise and perfect codes score, for every metric, at several widths: the second table of docs/metrics/README.md.

    python bench/baselines.py --widths 10,100,2000

Noise is normal, as wide as the codes. Perfect codes are one per factor. The factors have 3, 4 and 5 values, and there
are 1,000 training and 500 test rows. A metric that would take longer than `--seconds` is left out at that width.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import numpy as np

from unbraid.metrics import METRICS, score
from unbraid.metrics.declaration import Size

SIZES = (3, 4, 5)
LEFT_OUT = (".diagonal", ".alike", ".std", ".min", ".max", ".0", ".1", ".2")  # parts of other scores
SETTINGS = {
    "dci": [("dci (trees)", {}), ("dci (lasso)", {"estimator": "lasso"})],
    "sap": [("sap (SVM)", {}), ("sap (r2)", {"predictor": "r2"})],
    "med": [("med", {}), ("med (top_k=5)", {"top_k": 5})],
    "downstream": [("downstream", {"sizes": (100,)})],
    "probes": [("probes", {"groups": "whole"}), ("probes (ridge)", {"groups": "whole", "reader": "ridge"})],
    "beta_vae_score": [("beta_vae_score", {"train_points": 1000, "test_points": 500})],
    "factor_vae_score": [("factor_vae_score", {"train_points": 1000, "test_points": 500})],
}


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", default="10,100,2000", help="numbers of codes")
    parser.add_argument("--rows", type=int, default=1_500, help="training and test rows, two to one")
    parser.add_argument("--seconds", type=float, default=60.0, help="the most that a metric may take at a width")
    parser.add_argument("--metrics", default=",".join(METRICS), help="which metrics")
    parser.add_argument("--tiny", action="store_true", help="a few codes and metrics, to see that it runs")
    arguments = parser.parse_args(given)
    if arguments.tiny:
        arguments.widths, arguments.rows, arguments.metrics = "4", 90, "mig,sap,linear_r2"
    widths = [int(width) for width in arguments.widths.split(",")]
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(size, size=arguments.rows) for size in SIZES])
    heads = [f"noise, {width:,} codes" for width in widths]
    print("| score | " + " | ".join([*heads, "perfect"]) + " |\n" + "|---" * (len(widths) + 2) + "|", flush=True)
    for metric in arguments.metrics.split(","):
        for shown, settings in SETTINGS.get(metric, [(metric, {})]):
            columns = [_scores(metric, settings, rng.normal(size=(arguments.rows, width)), factors, arguments.seconds)
                       for width in widths]  # fmt: skip
            perfect = _scores(metric, settings, (factors - factors.mean(0)) / factors.std(0), factors, np.inf)
            for name in perfect:
                if (name.count(".") > 1 and metric != "downstream") or name.endswith(LEFT_OUT):
                    continue
                label = name.replace(metric, shown, 1)
                cells = [f"{column[name]:.3f}" if name in column else "–" for column in [*columns, perfect]]
                print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


def _scores(metric: str, settings: dict[str, object], codes: object, factors: object, most: float) -> dict[str, float]:
    rows, width = np.shape(codes)
    if METRICS[metric].seconds(Size(rows * 2 // 3, width, len(SIZES), sum(SIZES)), settings) > most:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        found = dict(score(codes, factors, protocol={metric: settings}))
        print(f"{metric} {settings} {width}: {time.process_time() - start:.1f} s", file=sys.stderr)
    return found


if __name__ == "__main__":
    main()
