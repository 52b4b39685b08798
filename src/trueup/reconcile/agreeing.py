"""The nearest counts that agree: estimates as they are given, read, weighed and fitted."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.ask import NamedCounts
from trueup.errors import InputError, shown
from trueup.facts import LEAST_SQUARES, Facts
from trueup.law import NoiseLaw, QueryErrors
from trueup.measurement import Measurement
from trueup.reconcile.averaged import AveragedErrors, shown_mean
from trueup.reconcile.combined import (
    check_apart,
    check_once,
    combine,
    known_total_of,
    split,
    tree_of,
)
from trueup.reconcile.contradiction import blocks_given, check_named
from trueup.reconcile.folders import combine_in_folder
from trueup.reconcile.forest import forest
from trueup.reconcile.named import (
    MOST_DENSE,
    NamedFit,
    NamedProblem,
    SparseErrors,
    fitted,
    on_grid,
    whole,
)
from trueup.reconcile.named import (
    nonnegative as nearest_nonnegative,
)
from trueup.reconcile.statements import Statement, independent, statements
from trueup.release import Estimate, NamedRelease, Release, SortedRelease
from trueup.release.noise_parts import joined


def agreed(
    estimates: Any,
    constraints: Any,
    known: Mapping[str, Any] | None,
    nonnegative: bool,
    integers: bool,
    to: str | os.PathLike[str] | None = None,
) -> Any:
    """As `reconcile`, which says what each of them may be."""
    parts = _parts(estimates)
    if to is not None:
        if not parts or not _empty(constraints) or known or nonnegative or integers:
            raise InputError(
                "to= puts releases in folders together as they are: without constraints, known "
                "counts, or counts made to be shown."
            )
        return combine_in_folder(parts, to)
    if parts and all(_over_axis(part) for part in parts):
        if not _empty(constraints):
            raise InputError(
                "Counts over an axis already add up; constraints are for named counts. For a known "
                "total give known={'total': …}."
            )
        release = combine(parts, known_total_of(known))
        cells = _shown_cells(parts, release) if nonnegative else None
        return show(release, nonnegative, integers, cells)
    check_apart(parts, [part.facts for part in parts])
    names, given, obeyed, sources = _read(parts or estimates)
    found = [*obeyed, *statements(constraints, known, names)]
    pull, precision = _precision(len(names), *given)
    problem = NamedProblem(names, pull, precision, independent(found), forest(names, found))
    least_squares = fitted(problem)
    check_named(names, [*given[0], *blocks_given(given[1])], least_squares)
    errors: Any = SparseErrors(names, NamedFit(problem))
    if len(names) <= MOST_DENSE:
        errors = QueryErrors(names, errors.covariance)
    facts = Facts.together(
        sources,
        sources=tuple(sources),
        constraints=tuple(s.words for s in found),
        inferred=LEAST_SQUARES,
    )
    plain = on_grid(problem, least_squares)
    if not nonnegative and not integers:
        return NamedRelease(plain, errors, facts)
    shown: npt.NDArray[Any] = least_squares
    if nonnegative:
        shown = on_grid(problem, nearest_nonnegative(problem, least_squares))
    if integers:
        shown = whole(problem, shown, nonnegative)
    words = ("non-negative " if nonnegative else "") + ("whole numbers" if integers else "counts")
    return NamedRelease(shown, errors, facts.made(words), plain)


def _parts(estimates: Any) -> list[Any]:
    """The releases and measurements given, if that is what was given."""
    kinds = (Release, NamedRelease, Measurement)
    if isinstance(estimates, kinds):
        return [estimates]
    if isinstance(estimates, Sequence) and estimates and isinstance(estimates[0], kinds):
        for part in estimates:
            if not isinstance(part, kinds):
                raise InputError(f"Releases and {part!r} cannot be mixed in one list.")
        return list(estimates)
    return []


def _over_axis(part: Any) -> bool:
    if isinstance(part, Measurement):
        return part.question.space.one_axis
    return isinstance(part, Release) and len(part.axes) == 1


def _empty(constraints: Any) -> bool:
    return constraints is None or (hasattr(constraints, "__len__") and len(constraints) == 0)


def _shown_cells(parts: Sequence[Any], found: Release) -> Floats | None:
    """The mean of what the parts show, where noise had a say in what they asked."""
    if not isinstance(found.errors, AveragedErrors):
        return None
    trees, plain = split(parts)
    others = show(combine(plain, None), True, False).counts() if plain else None
    return shown_mean(trees, found.errors, others)


def show(
    release: Release, nonnegative: bool, integers: bool, cells: Floats | None = None
) -> Release:
    """A least-squares release with counts for people to read: non-negative, whole, or both.

    With `cells` these are handed down instead of its own, where more is known of what is small.
    """
    if not nonnegative and not integers:
        return release
    from trueup._kernels.display.nonnegative import node_sums
    from trueup.intervaltree.readable import large_first_cells, whole_cells

    counts: npt.NDArray[Any] = release.counts() if cells is None else cells
    shape, variances = tree_of(release.errors, release.axis.size)
    words = "whole numbers" if integers else "counts"
    if nonnegative:
        # The fitted counts stand for the noisy ones: with the same weights they say the same.
        weights = np.repeat(min(variances) / np.array(variances), np.diff(shape.level_starts))
        unit = float(np.sqrt(min(variances)))
        nodes = node_sums(shape.first, counts)
        if release.facts.known_total is not None:
            nodes[0] = release.facts.known_total
        counts = large_first_cells(shape, nodes, weights, unit)
        words = f"non-negative {words}, large-first"
    if integers:
        counts = whole_cells(shape, counts, nonnegative)
    return release.showing(counts, words)


Single = tuple[int, float, float]
Block = tuple[list[int], Floats, Floats]


def _read(
    estimates: Any,
) -> tuple[tuple[str, ...], tuple[list[Single], list[Block]], list[Statement], list[Facts]]:
    """Names in order, what was given of each, what they obey already, and where from."""
    order: dict[str, int] = {}
    single: list[Single] = []
    blocks: list[Block] = []
    obeyed: list[Statement] = []
    sources: list[Facts] = []
    together: list[list[tuple[int, Estimate]]] = []
    for name, given in _entries(estimates, blocks, obeyed, sources, order):
        place = order.setdefault(name, len(order))
        if given is None:
            continue
        if isinstance(given, Estimate):
            _check_told(name, given.unbiased)
            _put_together(together, place, given.unbiased)
        else:
            single.append((place, *_pair(name, given)))
    noises = [joined(part for _, one in members for part in one.parts) for members in together]
    check_once([[m for part in parts for m in part.facts.measured] for parts in noises])
    for members, parts in zip(together, noises, strict=True):
        blocks.append(_block(members))
        sources += [part.facts for part in parts]
    names = tuple(order)
    if not names:
        raise InputError("There are no estimates to reconcile.")
    return names, (single, blocks), obeyed, sources


def _check_told(name: str, estimate: Estimate) -> None:
    """Refuses an estimate that may be off by more than its noise, of which its variance is silent.

    So it is inside what an adaptive tree or quadtree has pooled: its law has other noise then.
    """
    law, variance = estimate.noise_law, estimate.std_error**2
    if not isinstance(law, NoiseLaw) or (law.among == 1 and not law.slip):
        return
    other = not math.isclose(law.variance, variance, rel_tol=1e-6)
    if other or law.left_open or law.open_noise:
        raise InputError(
            f"The estimate {name!r} is of cells that an adaptive question has pooled. How its "
            f"count lies in them is not known, and its variance does not say so: put whole "
            f"releases together, or take the estimate from counts that were asked with "
            f"adaptive=False."
        )


def _put_together(
    together: list[list[tuple[int, Estimate]]], place: int, estimate: Estimate
) -> None:
    """Adds an estimate to those with which it shares noise, and puts them into one group."""

    def shares(other: Estimate) -> bool:
        return any(a.same_noise(b) for a in estimate.parts for b in other.parts)

    alike = [group for group in together if any(shares(other) for _, other in group)]
    together[:] = [group for group in together if group not in alike]
    together.append([each for group in alike for each in group] + [(place, estimate)])


def _entries(
    estimates: Any,
    blocks: list[Any],
    obeyed: list[Statement],
    sources: list[Facts],
    order: dict[str, int],
) -> Iterable[tuple[str, Any]]:
    if isinstance(estimates, Mapping):
        for name, given in estimates.items():
            several = isinstance(given, list) and given and not _is_number(given[0])
            yield from ((str(name), one) for one in (given if several else [given]))
        return
    if isinstance(estimates, str) or not isinstance(estimates, Iterable):
        raise InputError(
            f"Estimates must be a mapping, triples or releases, got {shown(estimates)}."
        )
    for number, entry in enumerate(estimates, start=1):
        if isinstance(entry, Measurement) and entry.question.space.kind == "names":
            sources.append(entry.facts)
            pairs = zip(entry.noisy.tolist(), entry.variances.tolist(), strict=True)
            yield from zip(entry.question.space.names, pairs, strict=True)
        elif isinstance(entry, NamedRelease):
            sources.append(entry.facts)
            places = [order.setdefault(name, len(order)) for name in entry.names]
            values = np.asarray(entry.unbiased.answers, np.float64)
            blocks.append((places, values, np.asarray(entry.errors.covariance)))
            obeyed += _obeyed(entry, number)
        elif isinstance(entry, (tuple, list)) and len(entry) == 3:
            yield str(entry[0]), tuple(entry[1:])
        elif isinstance(entry, (Measurement, Release, SortedRelease)):
            raise InputError(
                f"Estimate number {number} is a {type(entry).__name__} of neither one axis nor "
                f"named counts: these are what reconcile puts together. Of a table, give named "
                f"counts."
            )
        else:
            raise InputError(
                f"Estimate number {number} must be (name, value, variance), got {shown(entry)}."
            )


def _obeyed(release: NamedRelease, number: int) -> list[Statement]:
    """What the answers of a release obey by their own question."""
    question = release.facts.question
    if not isinstance(question, NamedCounts):
        return []
    rows = question.relations()
    read = statements((rows, np.zeros(rows.shape[0])), None, release.names)
    return [Statement(f"{s.words} of release {number}", s.coefficients, s.constant) for s in read]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _pair(name: str, given: Any) -> tuple[float, float]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InputError(f"The estimate of {name!r} must be (value, variance), got {shown(given)}.")
    if not all(_is_number(part) and np.isfinite(part) for part in given):
        raise InputError(f"The value and variance of {name!r} must be finite, got {shown(given)}.")
    value, variance = float(given[0]), float(given[1])
    if variance <= 0:
        raise InputError(
            f"The variance of {name!r} must be positive, got {variance:g}. If the count is known "
            f"exactly, give it in known={{{name!r}: {value:g}}}."
        )
    return value, variance


def _block(members: list[tuple[int, Estimate]]) -> tuple[list[int], Floats, Floats]:
    """Estimates of one release: their common noise, from the variances of sums and differences."""
    size = len(members)
    if size > 500:
        raise InputError(
            f"{size} single estimates of one release were given; reconcile the release itself."
        )
    covariance = np.empty((size, size))
    for i, (_, one) in enumerate(members):
        for j, (_, other) in enumerate(members[: i + 1]):
            if i == j:
                covariance[i, i] = one.std_error**2
                if covariance[i, i] <= 0:
                    raise InputError("An estimate without error was given; give it in known=….")
            else:
                total, gap = (one + other).std_error ** 2, (one - other).std_error ** 2
                covariance[i, j] = covariance[j, i] = (total - gap) / 4
    return [place for place, _ in members], np.array([e.value for _, e in members]), covariance


def _precision(
    size: int,
    single: list[Single],
    blocks: list[Block],
) -> tuple[Floats, Any]:
    """The precisions of all that was given, added up, and each count's pull: precision · value."""
    from scipy.sparse import coo_array, csc_array

    row = [place for place, _, _ in single]
    column = list(row)
    data = [1 / variance for _, _, variance in single]
    pull = np.zeros(size)
    for place, value, variance in single:
        pull[place] += value / variance
    for places, values, covariance in blocks:
        # Answers that already obey equations have a singular covariance: directions without
        # variance are given a very small one.
        spread, axes = np.linalg.eigh(covariance)
        inverse = (axes / np.maximum(spread, spread.max() * 1e-9)) @ axes.T
        index = np.array(places)
        np.add.at(pull, index, inverse @ values)
        row += np.repeat(index, len(index)).tolist()
        column += np.tile(index, len(index)).tolist()
        data += inverse.ravel().tolist()
    if not data:
        raise InputError("None of the counts was measured; there is nothing to reconcile.")
    return pull, csc_array(coo_array((data, (row, column)), (size, size)))
