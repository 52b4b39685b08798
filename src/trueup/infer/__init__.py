"""Infer: the nearest consistent answers. Free, by anyone, as often as they like.

Reads the noisy answers and the constraints of the question, and nothing else. How a question is
answered is told by its model; `MODELS` lists those that come with the library.
"""

from __future__ import annotations

from typing import Any, TypedDict, Unpack, overload

from trueup.ask import (
    AdaptiveBoxCounts,
    AdaptiveTreeCounts,
    BoxCounts,
    CellCounts,
    GridCounts,
    HatCounts,
    NamedCounts,
    PastCounts,
    Question,
    QuestionOfCells,
    SortedCounts,
    TreeCounts,
    WaveletCounts,
    WeightedCounts,
    WindowCounts,
)
from trueup.errors import InputError, kind
from trueup.infer.display import METHODS, Method, checked_wish
from trueup.infer.model import (
    Candidate,
    Model,
    axis_model,
    model_of,
    models,
    register,
    register_later,
    table_model,
)
from trueup.measurement import Measurement
from trueup.noise import Noise
from trueup.release import NamedRelease, Release, SortedRelease
from trueup.workload import Figures

MODELS: dict[type[Question], str] = {
    CellCounts: "trueup.infer.cells.CellModel",
    TreeCounts: "trueup.infer.tree.TreeModel",
    AdaptiveTreeCounts: "trueup.infer.adaptive_tree.AdaptiveTreeModel",
    HatCounts: "trueup.infer.hats.HatModel",
    WaveletCounts: "trueup.infer.wavelet.WaveletModel",
    WeightedCounts: "trueup.infer.weighted.WeightedModel",
    WindowCounts: "trueup.infer.windows.WindowModel",
    PastCounts: "trueup.infer.past.PastModel",
    NamedCounts: "trueup.infer.named.NamedModel",
    GridCounts: "trueup.infer.grid.GridModel",
    BoxCounts: "trueup.infer.boxes.BoxModel",
    AdaptiveBoxCounts: "trueup.infer.adaptive_boxes.AdaptiveBoxModel",
    SortedCounts: "trueup.infer.sorted.SortedModel",
}
"""The model of every question. It is imported when such a question is first answered."""

register_later(MODELS)

__all__ = [
    "METHODS",
    "MODELS",
    "Candidate",
    "Method",
    "Model",
    "axis_model",
    "errors_of",
    "figures_of",
    "infer",
    "model_of",
    "models",
    "register",
    "table_model",
]


class Shown(TypedDict, total=False):
    """How counts are to be shown: what `infer` takes beside the measurement."""

    nonnegative: bool
    integers: bool | None
    graphical: bool
    method: Method | None


@overload
def infer(measurement: Measurement[QuestionOfCells], **how: Unpack[Shown]) -> Release: ...


@overload
def infer(measurement: Measurement[SortedCounts], **how: Unpack[Shown]) -> SortedRelease: ...


@overload
def infer(measurement: Measurement[NamedCounts], **how: Unpack[Shown]) -> NamedRelease: ...


@overload
def infer(measurement: Measurement[Question], **how: Unpack[Shown]) -> Any: ...


def infer(
    measurement: Measurement,
    *,
    nonnegative: bool = False,
    integers: bool | None = None,
    graphical: bool = False,
    method: Method | None = None,
) -> Any:
    """The release of a measurement: the nearest answers that agree with each other. Costs no ε.

    Nearest means least squares. For trees it takes two passes (the paper's H̄), for sorted counts
    it is isotonic regression (S̄). Cell counts have nothing to agree on and stay as they are; a
    Haar wavelet is inverted.

    `nonnegative` and `integers` give counts for people to read, which still add up. The release
    then also keeps the unbiased counts, as `release.unbiased`. `method` says how counts are made
    non-negative. "large-first", the default, goes from the root down: it keeps counts that stand
    clearly above the noise and fits the others to what remains. "top-down" moves all children of a
    parent alike. "exact" finds the counts nearest to all noisy answers at once.
    `graphical` gives a degree sequence that some undirected graph has. Sorted counts that were
    asked adaptively are never negative, and whole unless you say `integers=False`.

    >>> from trueup.ask import SortedCounts
    >>> asked = SortedCounts(4, adaptive=False)
    >>> infer(Measurement(asked, [1, 2, 0, 11], epsilon=1)).counts().tolist()
    [1.0, 1.0, 1.0, 11.0]
    """
    if not isinstance(measurement, Measurement):
        own = " It has an infer() of its own." if hasattr(measurement, "infer") else ""
        raise InputError(f"infer needs a Measurement, got {kind(measurement)}.{own}")
    model = model_of(measurement.noise)
    wish = checked_wish(model, nonnegative, integers, graphical, method)
    return model.release(measurement, wish)


def errors_of(noise: Noise) -> Any:
    """The errors of a release of the question that was measured with this noise."""
    return model_of(noise).errors


def figures_of(noise: Noise) -> Figures:
    """The expected squared errors of the question over sets of ranges, before it is asked."""
    return axis_model(noise).figures()
