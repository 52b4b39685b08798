"""Figure 5: unattributed histograms, error of S̃, S̃r and S̄ across datasets and ε."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.ask import SortedCounts
from trueup.infer import infer
from trueup.measurement import Measurement
from trueup.paper.baselines import noisy_sorted, sorted_and_rounded
from trueup.paper.claims import STAMP, Figure, PaperClaim
from trueup.paper.datasets import PaperDataset
from trueup.paper.draws import EPSILONS, Setting, each_draw
from trueup.paper.noise import measure_for_experiment
from trueup.pictures.sheet import Sheet
from trueup.pictures.svg import Bars, Panel, between, svg
from trueup.pictures.theme import BLACK, BLUE, GRAY, LIGHT

TITLE = "Figure 5: unattributed histograms, average squared error"

# Label, colour, and the sorted counts it makes of a measurement. The first three are the paper's.
Estimator = tuple[str, str, Callable[[Measurement], npt.NDArray[Any]]]
ESTIMATORS: tuple[Estimator, ...] = (
    ("S̃", LIGHT, noisy_sorted),
    ("S̃r", GRAY, sorted_and_rounded),
    ("S̄", BLACK, lambda m: infer(m).counts()),
    ("S̄ whole", BLUE, lambda m: infer(m, nonnegative=True, integers=True).counts()),
)


@dataclass(frozen=True)
class Case:
    """A dataset noised for a sensitivity."""

    data: PaperDataset
    ends: int

    @property
    def name(self) -> str:
        """The dataset's name, and the sensitivity where the paper's was not enough."""
        if self.data.ends == 1:
            return self.data.name
        return f"{self.data.name}, sensitivity {self.ends}"


def cases(setting: Setting) -> list[Case]:
    """Every dataset with the paper's sensitivity 1; an undirected graph with 2 as well."""
    found = setting.datasets.unattributed
    return [Case(data, ends) for data in found for ends in range(1, data.ends + 1)]


def errors(setting: Setting, case: Case, epsilon: Fraction) -> Floats:
    """The squared error of each estimator, averaged over the draws."""
    truth = np.sort(case.data.counts)
    question = SortedCounts(len(truth), ends=case.ends, adaptive=False)

    def work(generator: np.random.Generator) -> list[float]:
        measurement = measure_for_experiment(truth, question, epsilon, generator, setting.law)
        return [float(((make(measurement) - truth) ** 2).sum()) for _, _, make in ESTIMATORS]

    name = f"figure 5, {case.name}, ε = {float(epsilon)}"
    return each_draw(setting, name, setting.size(50, 10), work).mean(axis=0)


def run(setting: Setting) -> Figure:
    """Error by dataset, ε and estimator."""
    found = {case: [errors(setting, case, e) for e in EPSILONS] for case in cases(setting)}
    labels = [label for label, _, _ in ESTIMATORS]
    rows = tuple(
        (case.name, float(e), *(float(v) for v in values), float(values[0] / values[2]))
        for case, by_epsilon in found.items()
        for e, values in zip(EPSILONS, by_epsilon, strict=True)
    )
    every = [float(v) for by_epsilon in found.values() for values in by_epsilon for v in values]
    panels = [
        Panel(
            case.name,
            "ε",
            "squared error",
            bars=tuple(
                Bars(label, [float(v[i]) for v in by_epsilon], colour)
                for i, (label, colour, _) in enumerate(ESTIMATORS)
            ),
            x_ticks=between(str(float(e)) for e in EPSILONS),
            log_y=True,
            y_range=(min(every) / 4, max(every)),
        )
        for case, by_epsilon in found.items()
    ]
    data = Sheet(
        "The data",
        ("dataset", "cells", "total", "largest", "distinct", "empty"),
        tuple(tuple(d.describe()) for d in setting.datasets.unattributed),
    )
    table = Sheet("Average squared error", ("dataset", "ε", *labels, "S̃/S̄"), rows)
    pictured = [panels[i : i + 4] for i in range(0, len(panels), 4)]
    return Figure("figure5", TITLE, (data, table), _claims(found), svg(TITLE, pictured, STAMP))


def _claims(found: dict[Case, list[Floats]]) -> tuple[PaperClaim, ...]:
    gain = {case: [float(v[0] / v[2]) for v in values] for case, values in found.items()}
    rounded = {case: [float(v[1] / v[2]) for v in values] for case, values in found.items()}
    least = min(gain, key=lambda case: min(gain[case]))
    near = min(rounded, key=lambda case: min(rounded[case]))
    claims = [
        PaperClaim(
            "S̄ reduces the error by at least an order of magnitude, all datasets, all ε.",
            f"in {_count(gain, 10)}; S̃/S̄ from {min(gain[least]):.1f} ({least.name}) "
            f"to {max(max(g) for g in gain.values()):,.0f}",
            min(gain[least]) >= 10,
        ),
        PaperClaim(
            "The gain is not from integrality and non-negativity: S̄ is below S̃r too.",
            f"in {_count(rounded, 1)}; S̃r/S̄ at least {min(rounded[near]):.2f} ({near.name})",
            min(rounded[near]) > 1,
        ),
        PaperClaim(
            "The relative accuracy of S̄ improves as ε falls.",
            "; ".join(f"{c.name}: " + " → ".join(f"{g:,.0f}" for g in gain[c]) for c in gain),
            all(g == sorted(g) for g in gain.values()),
        ),
    ]
    for case, ratios in rounded.items():
        if case.data.name == "social network" and case.ends == 1:
            claims.append(
                PaperClaim(
                    "S̄ and S̃r are comparable on the social network at large ε.",
                    f"S̃r/S̄ = {ratios[0]:.2f} at ε = 1, {ratios[-1]:,.0f} at ε = 0.01",
                    ratios[0] < 2,
                )
            )
    return tuple(claims)


def _count(ratios: dict[Case, list[float]], threshold: float) -> str:
    every = [ratio for by_epsilon in ratios.values() for ratio in by_epsilon]
    return f"{sum(ratio >= threshold for ratio in every)} of {len(every)} cases"
