"""The peers that need an environment of their own: diffprivlib and scikit-learn.

Run by bench/peers.py with that environment's Python: python bench/_outside.py WORK.npz ANSWER.npz
Uses nothing of trueup.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from _timing import seconds


def main() -> None:
    """Reads the work, writes times and noisy counts."""
    warnings.simplefilter("ignore")
    import diffprivlib
    import sklearn
    from diffprivlib.tools import histogram
    from sklearn.isotonic import isotonic_regression

    work = np.load(sys.argv[1])
    answer: dict[str, Any] = {
        "diffprivlib": diffprivlib.__version__,
        "scikit-learn": sklearn.__version__,
        "isotonic": seconds(lambda: isotonic_regression(work["sorted"])),
    }
    values, bins = work["values"], int(work["bins"])
    answer["histogram"] = seconds(
        lambda: histogram(values, epsilon=1.0, bins=bins, range=(0.0, 1.0))
    )
    for name in work.files:
        if not name.startswith("counts "):
            continue
        counts = work[name]
        records = np.repeat(np.arange(len(counts)) + 0.5, counts)
        for epsilon in work["epsilons"]:
            answer[f"{name} {epsilon}"] = [
                histogram(records, epsilon=epsilon, bins=len(counts), range=(0, len(counts)))[0]
                for _ in range(int(work["draws"]))
            ]
    np.savez(sys.argv[2], **answer)


if __name__ == "__main__":
    main()
