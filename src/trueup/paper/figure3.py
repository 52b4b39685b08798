"""Figure 3: how inference takes the noise out of a run of equal counts (the paper's toy)."""

from __future__ import annotations

import numpy as np

from trueup.arrays import Floats
from trueup.ask import SortedCounts
from trueup.infer import infer
from trueup.paper.claims import STAMP, Figure, PaperClaim
from trueup.paper.draws import Setting, each_draw
from trueup.paper.noise import measure_for_experiment
from trueup.pictures.sheet import Sheet
from trueup.pictures.svg import Curve, Panel, stairs, svg
from trueup.pictures.theme import BLACK, GRAY

TITLE = "Figure 3: a run of equal counts, and a count that stands alone"
COUNTS = np.array([10] * 20 + [15] + [20] * 4)


def one_draw(setting: Setting, generator: np.random.Generator) -> Floats:
    """Two rows: S̃ and S̄ of one draw at ε = 1."""
    question = SortedCounts(len(COUNTS), adaptive=False)
    measurement = measure_for_experiment(COUNTS, question, 1, generator, setting.law)
    return np.array([measurement.noisy, infer(measurement).counts()], np.float64)


def run(setting: Setting) -> Figure:
    """A pictured draw, and the error over many."""
    draws = each_draw(setting, "figure 3", setting.size(1_000, 200), lambda g: one_draw(setting, g))
    noisy, inferred = draws[0]
    squared = ((draws - COUNTS) ** 2).mean(axis=0)
    run_noisy, run_inferred = squared[:, :20].sum(axis=1)
    kept = float(np.isclose(draws[:, 0, 20], draws[:, 1, 20]).mean())
    rows = tuple(
        (i + 1, int(COUNTS[i]), float(noisy[i]), float(inferred[i])) for i in range(len(COUNTS))
    )
    errors = (
        ("positions 1–20, all 10", float(run_noisy), float(run_inferred)),
        ("position 21, alone", float(squared[0, 20]), float(squared[1, 20])),
        ("all 25", float(squared[0].sum()), float(squared[1].sum())),
    )
    claims = (
        PaperClaim(
            "On [1, 20] the sequence is uniform and inference averages out the noise.",
            f"squared error {run_noisy:.1f} → {run_inferred:.1f} over {len(draws):,} draws",
            bool(run_inferred < run_noisy / 3),
        ),
        PaperClaim(
            "Position 21 is a unique count, which inference does not refine: s̄[21] = s̃[21].",
            f"so in the pictured draw: {bool(np.isclose(noisy[20], inferred[20]))}; "
            f"in {kept:.0%} of all draws",
            kept > 0.9,
        ),
    )
    x = [float(i) for i in range(1, len(COUNTS) + 1)]
    panel = Panel(
        "one draw at ε = 1",
        "position",
        "count",
        (
            Curve("S(I)", *stairs(x, COUNTS.tolist()), GRAY, width=2.4),
            Curve("s̃", x, noisy.tolist(), GRAY, "circle", dash="2 3", width=0.8),
            Curve("s̄", *stairs(x, inferred.tolist()), BLACK, width=1.4),
        ),
        columns=2,
    )
    return Figure(
        "figure3",
        TITLE,
        (
            Sheet("Squared error", ("part", "S̃", "S̄"), errors),
            Sheet("The pictured draw", ("position", "S(I)", "s̃", "s̄"), rows),
        ),
        claims,
        svg(TITLE, [[panel]], STAMP),
    )
