"""What goes to a folder, and who makes it: a tree slab by slab, a table line by line."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueup.ask import Question, TreeCounts, cell_counts
from trueup.axis import Axis
from trueup.errors import InputError, shown
from trueup.facts import LEAST_SQUARES, Facts
from trueup.infer.unions import tree_of_lines
from trueup.scale.job import FolderJob
from trueup.scale.slabbed import goes_in_slabs, shown_words
from trueup.scale.table import TableJob

Job = FolderJob | TableJob


def checked_question(
    over: object, nonnegative: bool, integers: bool | None, at_most: int | None = None
) -> Question:
    """The question whose release goes to a folder: for an axis the default tree."""
    if at_most is not None:
        raise InputError("With to=, say how many rows of a unit count: rows_per_unit=3.")
    question = TreeCounts(over) if isinstance(over, Axis) else over
    table = isinstance(question, Question) and tree_of_lines(question) is not None
    if integers not in (None, nonnegative):
        raise InputError(
            "A folder holds counts that are both non-negative and whole, the unbiased ones beside "
            "them; or, with nonnegative=False, the unbiased ones alone: leave integers out."
        )
    if not isinstance(question, Question) or not (table or goes_in_slabs(question)):
        raise InputError(
            f"to= goes with cells, trees and hats of one axis, such as TreeCounts(axis), "
            f"and with cells by a tree, GridCounts(CellCounts(axis), TreeCounts(axis)); got "
            f"{shown(over)}."
        )
    return question


def open_job(
    to: object, facts: Facts, key: str | None = None, ledger: str = "", shown: bool = False
) -> Job:
    """The job of a release to a folder: begun, or gone on with."""
    if tree_of_lines(facts.noise.question) is not None:
        return TableJob.open(to, facts, key, ledger, shown)
    made = shown_words(facts.noise.question) if shown else LEAST_SQUARES
    return FolderJob.open(to, facts.made(made), key, ledger)


def flat_counts(data: Any, question: Question) -> Any:
    """Counts that were given, as one line of cells; an array on the disk stays there."""
    sizes = tuple(axis.size for axis in question.space.axes)
    if len(sizes) > 1 and getattr(data, "shape", None) == sizes:
        return data.reshape(-1) if data.flags.c_contiguous else np.ravel(data)
    if len(data) != question.size:
        cell_counts(data, question.size)  # says what is wrong
    return data
