"""The route of a single range, held against the library itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import trueup as tu


def test_one_range_is_the_library_s(server: Any, fares: str, release: tu.Release) -> None:
    said = server("rea").get(f"/api/v1/releases/{fares}/range?low=0&high=20&level=0.9").json()
    one = release.range(0, 20)
    assert (said["count"], said["standard_error"]) == (one.value, one.std_error)
    assert (said["low"], said["high"]) == one.interval(0.9)
    again = server("rea").get(f"/api/v1/releases/{fares}/range?low=0&high=20&level=0.9")
    assert again.json() == said


def test_answers_of_one_moment_are_those_of_many(
    server: Any, fares: str, release: tu.Release
) -> None:
    """Forty at once, in threads: each its own answer, and the wrong ones refused by themselves."""
    wanted = [(low, low + width) for low in range(0, 100, 5) for width in (1, 28)]

    def ask(ends: tuple[int, int]) -> Any:
        low, high = ends
        return server("rea").get(f"/api/v1/releases/{fares}/range?low={low}&high={high}")

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(ask, [*wanted, (3, 2), (0, 500)]))
    assert [one.status_code for one in said[-2:]] == [400, 400]
    for (low, high), one in zip(wanted, said, strict=False):
        exact = release.range(low, high)
        assert one.json()["count"] == exact.value
        assert (one.json()["low"], one.json()["high"]) == pytest.approx(exact.interval(), rel=1e-6)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("low=x", "not a number"),
        ("high=129", "outside axis"),
        ("level=1", "level"),
        ("level=nan", "level"),
        ("version=both", "version"),
        ("colour=red", "colour"),
        ("low=" + "1" * 501, "low"),
        ("low=%FF", "not a number"),
    ],
)
def test_a_wrong_query_is_told_what_is_wrong(
    server: Any, fares: str, query: str, says: str
) -> None:
    said = server("rea").get(f"/api/v1/releases/{fares}/range?{query}")
    assert said.status_code == 400
    assert said.json()["code"] == "bad_request"
    assert says in said.json()["detail"]
    assert len(said.content) < 500


def test_who_has_no_token_has_no_range(server: Any, fares: str) -> None:
    assert server(None).get(f"/api/v1/releases/{fares}/range").status_code == 401
    assert server("rea").get("/api/v1/releases/trips.999999/range").status_code == 404
    assert server("rea").post(f"/api/v1/releases/{fares}/range").status_code == 405
