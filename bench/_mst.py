"""The generator that needs an environment of its own: MST of dpmm.

Run by bench/synthesis.py with that environment's Python: python bench/_mst.py WORK.npz ANSWER.npz
Uses nothing of trueup.
"""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

import numpy as np


def main() -> None:
    """Reads tables of rows, writes made-up rows of each, so many times."""
    warnings.simplefilter("ignore")
    logging.disable()
    import pandas as pd  # type: ignore[import-untyped]
    from dpmm.models.base.mechanisms import cdp_rho
    from dpmm.models.mst import MSTGM

    work = np.load(sys.argv[1])
    epsilon, delta, draws = float(work["epsilon"]), float(work["delta"]), int(work["draws"])
    answer: dict[str, Any] = {"rho": cdp_rho(epsilon, delta)}
    for name in work.files:
        if not name.startswith("rows "):
            continue
        rows = pd.DataFrame(work[name], columns=[f"c{n}" for n in range(work[name].shape[1])])
        domain = {column: int(work["size"]) for column in rows}
        for draw in range(draws):
            model = MSTGM(
                epsilon=epsilon,
                delta=delta,
                n_iters=int(work["iterations"]),
                compress=bool(work["compress"]),
                domain=domain,
                random_state=np.random.RandomState(draw),
                n_jobs=1,
            )
            model.fit(rows)
            answer[f"{name} {draw}"] = model.generate(len(rows))[list(rows)].to_numpy(np.int64)
            np.savez(sys.argv[2], **answer)
            print(name, draw, flush=True)


if __name__ == "__main__":
    main()
