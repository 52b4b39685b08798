"""The command that compares questions before anything is spent."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import typer

import trueup as tu
from trueup.cli.asking import Epsilon
from trueup.cli.axes import AxisOptions
from trueup.cli.options import spelled_out
from trueup.cli.output import AsJson, emit, number, say, table
from trueup.epsilon import positive, written
from trueup.errors import InputError, shown

_WORKLOADS = {
    "ranges": "all ranges",
    "prefixes": "prefixes",
    "lengths": "log-uniform lengths",
    "cells": "cell counts",
}


@spelled_out
def plan_command(
    declared: AxisOptions,
    column: Annotated[str | None, typer.Option(help="The column to count.")] = None,
    epsilon: Epsilon = None,
    workload: Annotated[
        str, typer.Option(help="What will be asked: ranges, prefixes, lengths or cells.")
    ] = "ranges",
    nonnegative: Annotated[
        bool,
        typer.Option("--nonnegative", help="Find the best question for counts shown non-negative."),
    ] = False,
    within: Annotated[
        float | None, typer.Option(help="Your goal: errors of at most this many counts.")
    ] = None,
    level: Annotated[float, typer.Option(help="How often the goal is to be met.")] = 0.95,
    as_json: AsJson = False,
) -> None:
    """Compare questions by their exact error before spending; or say what epsilon a goal needs."""
    axis, asked = _asked(declared, column, workload)
    needed = (
        None
        if within is None
        else tu.epsilon_for(axis, within, level, asked, nonnegative=nonnegative)
    )
    cost = positive(epsilon) if epsilon is not None else (needed or Fraction(1))
    found = tu.plan(axis, cost, asked, nonnegative=nonnegative)
    typical = tu.error_for(axis, cost, level, asked, nonnegative=nonnegative)
    facts = {
        "axis": axis.to_json(),
        "epsilon": cost,
        "workload": workload,
        "strategies": [
            {"name": s.name, "mean_squared_error": s.mean, "worst": s.worst}
            for s in found.strategies
        ],
        "best": found.best.to_json(),
        "level": level,
        "typical_error": typical,
        "epsilon_needed": needed,
    }

    def show() -> None:
        cells = "1 cell" if axis.size == 1 else f"{axis.size:,} cells"
        title = f"Expected squared error at epsilon {written(cost)} over {asked}, {cells}"
        _show(found, title)
        sure = f"{100 * level:g} %"
        if needed is not None:
            say(f"±{number(float(within or 0))} at {sure} needs epsilon = {written(needed)}")
        say(f"epsilon {written(cost)} buys ±{number(typical)} on a typical answer at {sure}")

    emit(as_json, facts, show)


def _asked(declared: AxisOptions, column: str | None, workload: str) -> tuple[tu.Axis, str]:
    """The axis and the workload that are planned for, each refused unless it is there."""
    axis = declared.axis(column)
    if axis is None:
        raise InputError(
            "Declare the axis: --integers, --range and --bins, --edges, --dates, --categories, "
            "--ipv4 or --hierarchy."
        )
    if workload not in _WORKLOADS:
        raise InputError(
            f"--workload must be one of {', '.join(_WORKLOADS)}, got {shown(workload)}."
        )
    return axis, _WORKLOADS[workload]


def _show(found: tu.Plan, title: str) -> None:
    rows = [
        [
            ("→ " if each is found.best_strategy else "  ") + each.name,
            number(each.mean),
            number(each.worst),
            f"±{number(each.mean**0.5)}",
        ]
        for each in found.strategies
    ]
    table(["question", "mean", "worst", "std. error"], rows, title)
