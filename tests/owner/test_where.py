"""The filter's language: what it reads, what it refuses, and that it reads its own writing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import InputError
from trueup.owner.columns import Kind
from trueup.owner.where import Combined, Comparison, Part, checked, columns, parse, written

KINDS: dict[str, Kind] = {
    "age": "integer",
    "fare": "number",
    "name": "text",
    "day": "time",
    "paid": "boolean",
}

names = st.sampled_from(["age", "fare", "name", "_x1", "größe", "two words", 'a"b', "and", "Not"])
values = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
comparisons = st.one_of(
    st.builds(
        Comparison,
        names,
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        st.tuples(values),
    ),
    st.builds(Comparison, names, st.just("in"), st.lists(values, min_size=1).map(tuple)),
    st.builds(Comparison, names, st.just("between"), st.tuples(values, values)),
)


def joined(parts: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Combined, st.just("not"), st.tuples(parts)),
        st.builds(Combined, st.sampled_from(["and", "or"]), several),
    )


@given(st.recursive(comparisons, joined, max_leaves=12))
def test_a_filter_reads_its_own_writing(part: Part) -> None:
    text = written(part)
    assert written(parse(text)) == text
    assert parse(text) == part


def test_quotes_inside_text_and_names_are_doubled() -> None:
    """So that nothing that is compared with can end its own text."""
    quoted = '"a ""b"""'
    told = parse(f"name = 'O''Brien' and {quoted} in ('''', '''''', 'x'' or 1 = 1')")
    assert told == Combined(
        "and",
        (
            Comparison("name", "=", ("O'Brien",)),
            Comparison('a "b"', "in", ("'", "''", "x' or 1 = 1")),
        ),
    )
    assert parse(written(told)) == told


def test_spaces_and_the_case_of_words_do_not_matter() -> None:
    short = parse("age>=18 and not(name in('A','B')or paid=true)")
    long = parse("  age >= 18\n AND NOT ( name IN ( 'A' , 'B' ) Or paid == TRUE )  ")
    assert written(short) == written(long)
    assert columns(short) == ["age", "name", "paid"]


def test_and_binds_closer_than_or_and_not_closest() -> None:
    assert parse("a = 1 or b = 2 and not c = 3") == parse("a = 1 or (b = 2 and (not (c = 3)))")


def test_between_keeps_its_own_and() -> None:
    assert parse("a between 1 and 2 and b = 3") == parse("(a between 1 and 2) and (b = 3)")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "age",
        "age >",
        "> 3",
        "3 < age",
        "age > 1 / 0",
        "age + 1 > 2",
        "age > 1 + 1",
        "abs(age) > 1",
        "cast(age as text) = '1'",
        "age::text = '1'",
        "age > fare",
        "age is null",
        "name like 'A%'",
        "name = A",
        "name = 'A",
        "name = 'A' --",
        "name = 'A'; drop table t",
        "age in ()",
        "age in (1, )",
        "age in (select 1)",
        "age between 1",
        "age between 1 or 2",
        "age not = 3",
        "(age = 1",
        "age = 1)",
        "age = 1 age = 2",
        "age = 1 and",
        "not",
        "age = $1",
        "age = ?",
        "age = 0x10",
        "age = 1e9999",
        "age = 1__0",
        "case when age = 1 then true end",
        "true",
        "'A' = 'A'",
        "age = 1 /* hm */",
    ],
)
def test_whatever_is_outside_the_language_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="filter"):
        checked(parse(text), KINDS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age = 1.5", "needs whole numbers"),
        ("age = 'x'", "needs whole numbers"),
        ("age = true", "needs whole numbers"),
        ("age = 99999999999999999999", "needs whole numbers"),
        ("fare = 'x'", "needs finite numbers"),
        ("name = 1", "needs 'text'"),
        ("name < 'A'", "in order"),
        ("name between 'A' and 'B'", "in order"),
        ("paid > true", "in order"),
        ("paid = 1", "needs true or false"),
        ("day = 3", "needs dates and times"),
        ("day = 'yesterday'", "must be a date or time"),
    ],
)
def test_a_value_must_fit_its_column(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        checked(parse(text), KINDS)


def test_values_take_the_plain_form_of_their_column() -> None:
    assert checked(parse("day >= '1970-01-02'"), KINDS) == Comparison(
        "day", ">=", (86_400_000_000,)
    )
    last = checked(parse("day <= '9999-12-31 23:59:59.999999999'"), KINDS)
    assert last == Comparison("day", "<=", (253_402_300_799_999_999,))
    assert checked(parse("fare in (1, 2.5)"), KINDS) == Comparison("fare", "in", (1.0, 2.5))


@pytest.mark.parametrize(
    ("written_as", "deepest"),
    [
        (lambda deep: "(" * deep + "age > 1" + ")" * deep, 80),
        (lambda deep: "(" * deep + "age > 1" + " and age < 3)" * deep, 80),
        (lambda deep: "not " * deep + "age > 1", 40),  # each is written out with parentheses
    ],
)
def test_a_filter_is_nested_so_deep_and_no_deeper(
    written_as: Callable[[int], str], deepest: int
) -> None:
    """The deepest that is taken can be written out and read again, as the ledger does."""
    found = parse(written_as(deepest))
    assert parse(written(found)) == found
    with pytest.raises(InputError, match="nested more than 80 deep"):
        parse(written_as(deepest + 1))


def test_a_filter_may_not_be_endless() -> None:
    with pytest.raises(InputError, match="nested more than"):
        parse("(" * 1000 + "age = 1" + ")" * 1000)
    with pytest.raises(InputError, match="nested more than"):
        parse("not " * 1000 + "age = 1")
    with pytest.raises(InputError, match="at most"):
        parse("age = 1" + " " * 20_000)
    with pytest.raises(InputError, match="must be text"):
        parse(7)
    for word in (" and ", " or "):
        assert parse(word.join(["age = 1"] * 100))
        with pytest.raises(InputError, match="more than 100 comparisons"):
            parse(word.join(["age = 1"] * 101))
    for column in ("age", "fare"):
        for number in ("1" * 301, "1" * 5000, "-" + "9" * 400, "0." + "1" * 5000):
            with pytest.raises(InputError, match="a number of more than 300 digits"):
                parse(f"{column} < {number}")
    assert checked(parse("fare < " + "9" * 300), KINDS) == Comparison("fare", "<", (1e300,))


@pytest.mark.parametrize("deep", [1, 20, 21, 39, 40, 41, 79])
def test_a_filter_that_is_taken_can_be_read_again_from_the_ledger(deep: int) -> None:
    for text in (
        "not " * deep + "age = 1",
        "(" * deep + "age = 1" + ")" * deep,
        "not (age = 1 and " * (deep // 2) + "age not in (2)" + ")" * (deep // 2),
        "(age = 2 or age = 1 and " * deep + "age = 3" + ")" * deep,
    ):
        try:
            part = parse(text)
        except InputError as refusal:
            assert re.search("nested|comparisons", str(refusal))  # noqa: PT017
            assert deep > 20
            continue
        assert parse(written(part)) == part


def test_a_filter_must_be_short_enough_as_it_is_written_out() -> None:
    short = "age in (" + ",".join(["11"] * 3000) + ")"
    assert len(short) < 10_000 < len(short.replace(",", ", "))
    with pytest.raises(InputError, match="written out"):
        parse(short)


@pytest.mark.parametrize("sign", ["= {}", "> {}", "in (1, {})", "between 0 and {}"])
def test_whole_numbers_of_a_filter_have_63_bits(sign: str) -> None:
    """A larger one is told before the charge; an engine would find out after it."""
    for most in (2**63 - 1, -(2**63) + 1):
        part = parse(f"x {sign.format(most)}")
        assert checked(part, {"x": "integer"}) == part
    for far in (2**63, 2**64, -(2**63) - 1):
        with pytest.raises(InputError, match="it needs whole numbers"):
            checked(parse(f"x {sign.format(far)}"), {"x": "integer"})
