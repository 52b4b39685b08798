"""Releases of keys, and of trees of prefixes: their keys listed, searched, looked up.

What was shown is all there is: nothing here goes back to the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from trueup.arrays import Ints
from trueup.errors import InputError
from trueup.keys import (
    KeyMeasurement,
    KeyRelease,
    PrefixCounts,
    PrefixMeasurement,
    PrefixRelease,
)
from trueup.release import Estimate
from trueup.release.wording import check_level
from trueup.server.datasets import KeyQuestion, Table

Order = Literal["count", "key"]
TOGETHER = (
    "All these intervals and places hold together. Places are among the keys that are shown: a key "
    "that is not shown may have a higher count, with the chance that the list of keys tells."
)


def key_line(question: KeyQuestion) -> dict[str, Any]:
    """What a list says of a question about keys."""
    is_tree = isinstance(question, PrefixCounts)
    return {
        "column": " × ".join(question.columns),
        "columns": list(question.columns),
        "strategy": "prefixes" if is_tree else "keys",
        "name": f"{'tree of prefixes' if is_tree else 'keys'}, {question.universe}",
        "cells": 0,
        "kind": "prefixes" if is_tree else "keys",
    }


@dataclass(frozen=True, eq=False)
class OpenedKeys:
    """A release of keys ready to be asked."""

    id: str
    stored: bytes
    question: KeyQuestion

    @cached_property
    def measurement(self) -> KeyMeasurement | PrefixMeasurement:
        """What was measured, as stored."""
        if isinstance(self.question, PrefixCounts):
            return PrefixMeasurement.from_bytes(self.stored)
        return KeyMeasurement.from_bytes(self.stored)

    @cached_property
    def release(self) -> KeyRelease | PrefixRelease:
        """The counts as they are published: whole, and none below 0."""
        return self.measurement.infer()

    @property
    def keys(self) -> KeyRelease:
        """The list of keys, refused if it is a tree."""
        if not isinstance(self.release, KeyRelease):
            raise InputError("This release is a tree of prefixes: ask for its prefixes.")
        return self.release

    @property
    def tree(self) -> PrefixRelease:
        """The tree of prefixes, refused if it is a list of keys."""
        if not isinstance(self.release, PrefixRelease):
            raise InputError("This release is a list of keys: ask for its keys.")
        return self.release

    @cached_property
    def _by_count(self) -> Ints:
        return np.argsort(-self.keys.noisy, kind="stable")

    def listed(self, find: str, order: Order, start: int, limit: int, level: float) -> Any:
        """A page of the keys that have these letters in them, and what all of them come to."""
        check_level(level)
        release = self.keys
        places = self._by_count if order == "count" else np.arange(len(release.keys))
        sought = find.casefold()
        if sought:
            kept = [place for place in places.tolist() if sought in release.keys[place].casefold()]
            places = np.array(kept, np.int64)
        some = places[start : start + limit]
        low, high = release.intervals(level, at=some)
        columns = zip(some.tolist(), low.tolist(), high.tolist(), strict=True)
        lines = [
            {"key": release.keys[at], "count": int(release.shown[at]), "low": least, "high": most}
            for at, least, most in columns
        ]
        after = start + limit
        return {
            "keys": lines,
            "total": len(places),
            "next": after if after < len(places) else None,
            "shown": len(release.keys),
            "others": None if release.whole is None else release.others(),
            "sum": None if release.whole is None else _told(release.total(), level),
            "number": None if release.noisy_number is None else _told(release.number(), level),
            "threshold": release.terms.threshold,
            "statement": release.statement(level),
        }

    def top(self, many: int, level: float) -> dict[str, Any]:
        """The highest counts; all intervals and places hold together with this probability."""
        found = self.keys.top(many, level)
        lines = [
            {
                "key": one.key,
                "count": one.count,
                **dict(zip(("low", "high"), one.interval, strict=True)),
                **dict(zip(("first", "last"), one.places, strict=True)),
            }
            for one in found
        ]
        return {"keys": lines, "shown": len(self.keys.keys), "statement": TOGETHER}

    def one(self, key: str, level: float) -> dict[str, Any]:
        """The count of one key, shown or not."""
        check_level(level)
        found = self.keys.count(key)
        low, high = found.interval(level)
        said = {"key": found.key, "shown": found.noisy is not None, "count": found.value}
        return {**said, "low": low, "high": high}

    def children(self, at: str, start: int, limit: int) -> dict[str, Any]:
        """What a prefix is made of, the largest first; together they are the prefix, exactly."""
        tree = self.tree
        found = sorted(tree.children(at).items(), key=lambda each: (-each[1], each[0]))
        after = start + limit
        return {
            "at": at,
            "count": tree.count(at),
            "prefixes": [
                {"prefix": label, "count": count, "split": bool(tree.children(label))}
                for label, count in found[start:after]
            ],
            "total": len(found),
            "next": after if after < len(found) else None,
        }

    def describe(self, table: Table) -> dict[str, Any]:
        """What is said of it beside the list."""
        facts, terms = self.measurement.facts, self.measurement.terms
        counted = getattr(terms, "counted", "")
        words = f" {counted[0].upper()}{counted[1:]}." if counted else ""
        price = f"{terms.cost}, {facts.neighbours}"
        return {
            "axis": None,
            "describes": str(self.question.universe),
            "columns": [],
            "dataset_title": table.dataset.title or table.name,
            "caption": f"Protects one {facts.unit}: {price}.{words}",
            "sample": "" if facts.period is None else facts.period.sampled,
            "versions": ["whole"],
            "fractions": False,
            "noise_scales": [],
            "neighbours": facts.neighbours,
            "unit": facts.unit,
            "rows_per_unit": facts.rows_per_unit,
            "answers": len(self.measurement.noisy),
            "folder_bytes": None,
        }

    def table(self, measured: bool) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """The measurement, or the release, as a kind, columns and what is said beside them."""
        if measured:
            kind = "prefix measurement" if isinstance(self.release, PrefixRelease) else None
            return kind or "key measurement", self.measurement.columns(), self.measurement.to_json()
        if isinstance(self.release, PrefixRelease):
            return "prefix release", self.release.columns(), self.measurement.to_json()
        return "key release", self.release.columns(), self.release.to_json()


def _told(estimate: Estimate, level: float) -> dict[str, Any]:
    low, high = estimate.interval(level)
    return {"count": estimate.value, "low": low, "high": high}
