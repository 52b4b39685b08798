"""Trees among equations: found where they are, and fitted as dense algebra does."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.reconcile.forest import forest
from trueup.reconcile.statements import statements

from .dense_agreement import check_against_dense


def test_trees_and_sparse_algebra_agree():
    rng = np.random.default_rng(2)
    for _ in range(30):
        parents = {f"n{i}": f"n{rng.integers(0, i)}" for i in range(1, 40)}
        names = [f"n{i}" for i in range(40)]
        sums = {p: [c for c, q in parents.items() if q == p] for p in sorted({*parents.values()})}
        estimates = {n: (rng.normal(10, 20), 10 ** rng.uniform(2, 5)) for n in names}
        check_against_dense(estimates, [{p: c} for p, c in sums.items()])
        # The same with a redundant equation is no tree; the answer must not change.
        more = [{p: c} for p, c in sums.items()]
        leaves = [n for n in names if n not in sums]
        for way in ({}, {"nonnegative": True}):
            tree = tu.reconcile(estimates, more, **way).counts()
            other = tu.reconcile(estimates, [*more, {"n0": leaves}], **way).counts()
            np.testing.assert_allclose(tree, other, atol=1e-6)


def test_the_order_of_equations_changes_nothing_where_columns_are_nearly_dependent():
    """Normal equations lose half of all digits: in some orders they gave counts that are not the
    nearest ones."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        parents = {f"n{i}": f"n{rng.integers(0, i)}" for i in range(1, 40)}
        names = [f"n{i}" for i in range(40)]
        estimates = {n: (rng.normal(10, 20), 10 ** rng.uniform(2, 5)) for n in names}
    sums = {p: [c for c, q in parents.items() if q == p] for p in sorted({*parents.values()})}
    more = [{p: c} for p, c in sums.items()]
    leaves = [n for n in names if n not in sums]
    tree = tu.reconcile(estimates, more, nonnegative=True).counts()
    for _ in range(60):
        order = [more[i] for i in rng.permutation(len(more))]
        other = tu.reconcile(estimates, [*order, {"n0": leaves}], nonnegative=True).counts()
        np.testing.assert_allclose(tree, other, atol=1e-6)


def test_a_large_tree_of_names_is_quick_and_agrees():
    rng = np.random.default_rng(6)
    sums = {f"s{i}": [f"s{i}c{j}" for j in range(50)] for i in range(200)}
    sums["all"] = [f"s{i}" for i in range(200)]
    names = ["all", *sums["all"], *(c for i in range(200) for c in sums[f"s{i}"])]
    estimates = {name: (rng.normal(1, 5), 2.0) for name in names}
    agreed = tu.reconcile(estimates, sums, nonnegative=True, integers=True)
    value = dict(zip(agreed.names, agreed.counts().tolist(), strict=True))
    assert min(value.values()) >= 0
    assert all(value[p] == sum(value[c] for c in children) for p, children in sums.items())
    plain = agreed.unbiased
    assert plain["all"].value == sum(plain.counts()[plain.names.index(s)] for s in sums["all"])
    assert plain["all"].std_error == pytest.approx(_root_error(2.0, 50, 200))
    with pytest.raises(tu.InputError, match="no query"):
        agreed["s999"]


def _root_error(variance, children, families):
    below = 1 / (1 / variance + 1 / (children * variance))
    return np.sqrt(1 / (1 / variance + 1 / (families * below)))


def random_forest(rng, size):
    """A parent for most names, from those before; the statements that say so, in any order."""
    order = rng.permutation(size).tolist()
    parent = {
        order[i]: order[int(rng.integers(0, i))] for i in range(1, size) if rng.random() < 0.9
    }
    names = [f"n{i}" for i in range(size)]
    stated = []
    for top in sorted(set(parent.values()), key=lambda _: rng.random()):
        parts = [names[child] for child, own in parent.items() if own == top]
        two = [names[top], " + ".join(parts)]
        backwards = len(parts) > 1 and rng.random() < 0.5  # of two equal counts the first is above
        stated.append(" = ".join(reversed(two) if backwards else two))
    return names, parent, stated


def test_the_trees_found_are_those_that_were_stated():
    rng = np.random.default_rng(1)
    for size in (1, 2, 7, 40):
        for _ in range(20):
            names, parent, stated = random_forest(rng, size)
            trees = forest(names, statements(stated, None, names))
            assert trees is not None
            assert sorted(p for tree in trees for p in tree.places.tolist()) == list(range(size))
            found = {}
            for tree in trees:
                assert np.isnan(tree.pinned)
                assert tree.places[0] not in parent
                for node, place in enumerate(tree.places.tolist()):
                    for child in tree.places[tree.first[node] : tree.first[node + 1]].tolist():
                        found[child] = place
            assert found == parent


@pytest.mark.parametrize(
    "stated",
    [
        "a = b + c; b = a + d",
        "a = b + c; d = b + e",
        "a = b + c; a = d + e",
        "a = b + c + 1",
        "a = 2 * b",
        "a + b = c + d",
        "a = b + c; b = 3",
        "a = -2",
        "a = 2; a = 2",
    ],
)
def test_what_is_no_tree_is_none(stated):
    names = list("abcde")
    assert forest(names, statements(stated, None, names)) is None


def test_a_known_root_is_pinned_and_no_other():
    names = list("abcde")
    trees = forest(names, statements("a = b + c; a = 7", None, names))
    assert [tree.pinned for tree in trees if tree.places[0] == 0] == [7.0]
    assert all(np.isnan(tree.pinned) for tree in trees if tree.places[0] != 0)
    assert len(trees) == 3
