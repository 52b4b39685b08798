from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.cli.answers import parse_box
from trueup.paper.noise import measure_for_experiment

Run = Callable[..., Any]


def test_query_gives_what_the_library_gives(run: Run, ages: dict[str, Path]) -> None:
    release = tu.load(ages["r"])
    answers = run("query", ages["r"], "0:18", "18:65", "65:", "--json").json["answers"]
    for (low, high), answer in zip(((0, 18), (18, 65), (65, 100)), answers, strict=True):
        estimate = release.range(low, high)
        assert answer["value"] == estimate.value
        assert (answer["low"], answer["high"]) == estimate.interval(0.95)
    assert sum(a["value"] for a in answers) == release.total().value


def test_query_infers_from_a_measurement_on_the_way(run: Run, ages: dict[str, Path]) -> None:
    from_release = run("query", ages["r"], "0:50", "--json").json["answers"]
    assert run("query", ages["m"], "0:50", "--json").json["answers"] == from_release


def test_query_shows_a_table_to_people(run: Run, ages: dict[str, Path]) -> None:
    ran = run("query", ages["r"], "0:18", "--level", "0.99")
    assert ran.code == 0
    assert "99 % sure from" in ran.out
    assert "0:18" in ran.out


def test_nonnegative_answers_name_whose_interval_it_is(run: Run, ages: dict[str, Path]) -> None:
    ran = run("query", ages["m"], "0:18", "--nonnegative", "--json")
    assert ran.json["intervals_of"] == "the unbiased answers"
    assert isinstance(ran.json["answers"][0]["value"], int)
    assert "belong to the unbiased answers" in run("query", ages["m"], "0:18", "--nonnegative").out
    low, high = ran.json["answers"][0]["low"], ran.json["answers"][0]["high"]
    assert low <= ran.json["answers"][0]["value"] <= high
    assert low == max(round(low), 0)
    assert high == round(high)


def test_infer_saves_a_release(run: Run, ages: dict[str, Path], tmp_path: Path) -> None:
    assert run("infer", ages["m"], "-o", "out.parquet", "--json").json == {
        "saved": "out.parquet",
        "epsilon": "1",
    }
    found = tu.load(tmp_path / "out.parquet")
    assert isinstance(found, tu.Release)
    assert found.total().value == tu.infer(tu.load(ages["m"])).total().value


def test_quantile_gives_what_the_library_gives(run: Run, ages: dict[str, Path]) -> None:
    found = run("quantile", ages["r"], "0.5", "0.9", "--json").json["quantiles"]
    release = tu.load(ages["r"])
    assert [q["value"] for q in found] == [release.quantile(0.5), release.quantile(0.9)]


@pytest.mark.parametrize("kind", "mrs")
def test_show_draws_every_kind_of_file(run: Run, ages: dict[str, Path], kind: str) -> None:
    ran = run("show", ages[kind], "--bars", "10")
    assert ran.code == 0
    assert len([line for line in ran.out.splitlines() if "±" in line]) >= 10
    assert len(run("show", ages[kind], "--bars", "10", "--json").json["rows"]) == 10


def test_show_draws_uneven_bins_by_density(run: Run, tmp_path: Path) -> None:
    """A bin ten times as wide with ten times the count has a bar of the same length."""
    axis = tu.Axis.edges("income", [0, 10, 20, 120])
    asked = tu.Measurement(tu.CellCounts(axis), [500, 500, 5000], epsilon=1)
    tu.infer(asked).save(tmp_path / "uneven.parquet")
    ran = run("show", "uneven.parquet")
    assert ran.code == 0
    drawn = [line.count("█") for line in ran.out.splitlines() if "±" in line and "█" in line]
    assert len(drawn) == 3
    assert drawn[0] == drawn[1] == drawn[2]
    assert "a bar's length is the count per 10 of income" in ran.out


def test_plot_writes_a_page(run: Run, ages: dict[str, Path], tmp_path: Path) -> None:
    assert run("plot", ages["r"], "-o", "x.html", "--json").json == {"saved": "x.html"}
    assert "plotly" in (tmp_path / "x.html").read_text()
    assert run("plot", ages["r"], "--kind", "cdf", "-o", "y.html").code == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["query", "gone.parquet", "0:1"], 5, "There is no file"),
        (["query", "r.parquet", "0:1000"], 1, "outside axis 'age'"),
        (["query", "r.parquet", "65:18"], 1, "reversed"),
        (["query", "r.parquet", "young"], 1, "low:high"),
        (["query", "r.parquet", "0:x"], 1, "not a number"),
        (["query", "r.parquet", "0:1", "--level", "2"], 1, "between 0 and 1"),
        (["query", "r.parquet"], 2, "Missing argument"),
        (["query", "s.parquet", "0:1"], 1, "no histogram"),
        (["query", "r.parquet", "0:1", "--nonnegative"], 1, "needs the measurement"),
        (["quantile", "r.parquet", "1.5"], 1, "between 0 and 1"),
        (["plot", "r.parquet", "-o", "x.gif"], 1, ".html"),
        (["infer", "m.parquet", "-o", "x.txt"], 1, ".parquet"),
        (["nonsense"], 2, "No such command"),
    ],
)
def test_bad_input_gets_one_line_and_an_exit_code(
    run: Run, ages: dict[str, Path], words: list[str], code: int, says: str
) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    if code != 2:
        assert ran.err.startswith("trueup: ")
        assert ran.err.count("\n") == 1


def test_names_from_a_file_are_text_on_the_terminal(run: Run, tmp_path: Path) -> None:
    # A stranger wrote the file: markup is no markup, and nothing moves the cursor.
    labels = ["[/b]", "[unknown]", "[bold]x", "\x1b]0;title\x07", "a\nb", "\u202eabc", "東京"]
    axis = tu.Axis.categories("[/c]\x1b[31m", labels)
    m = tu.measure(range(100, 800, 100), tu.CellCounts(axis), 10)
    m.save(tmp_path / "m.parquet")
    for words in (("show", "m.parquet"), ("query", "m.parquet", *labels), ("infer", "m.parquet")):
        ran = run(*words, *(["-o", "r.json"] if words[0] == "infer" else []))
        assert (ran.code, ran.err) == (0, "")
        assert not set(ran.out) & {"\x1b", "\x07", "\u202e"}
        if words[0] != "infer":
            shown = ("[/b]", "[unknown]", "[bold]x", r"\x1b]0;title\x07", r"a\nb", r"\u202eabc")
            assert all(text in ran.out for text in (*shown, "東京", "[/c]"))
    ran = run("query", "m.parquet", "nowhere\x1b[31m")
    assert ran.code == 1
    assert "\x1b" not in ran.err


def test_an_end_of_a_range_is_the_number_that_was_typed(run: Run, tmp_path: Path) -> None:
    # Past 2^53 not every whole number is a float.
    first = 2**53
    m = tu.measure([0, 10_000, 0, 0], tu.CellCounts(tu.Axis.integers("id", first, first + 3)), 10)
    m.save(tmp_path / "ids.parquet")
    ran = run("query", "ids.parquet", f"{first + 1}:{first + 2}", f"{first + 1}", "--json")
    one, same = (answer["value"] for answer in ran.json["answers"])
    assert one == same
    assert abs(one - 10_000) < 100


def test_a_label_of_digits_that_are_no_number_is_asked_by_name(run: Run, tmp_path: Path) -> None:
    axis = tu.Axis.categories("area", ["m", "²", "--5"])
    tu.measure([0, 10_000, 0], tu.CellCounts(axis), 10).save(tmp_path / "areas.parquet")
    ran = run("query", "areas.parquet", "--json", "--", "²", "--5")
    square, fifth = (answer["value"] for answer in ran.json["answers"])
    assert abs(square - 10_000) < 100 > abs(fifth)
    assert run("query", "areas.parquet", "³").err.startswith("trueup: '³' is not a label")


def test_errors_are_json_when_asked(run: Run) -> None:
    ran = run("query", "gone.parquet", "0:1", "--json")
    assert '"kind": "FileError"' in ran.err


def test_a_query_loads_nothing_heavy(ages: dict[str, Path]) -> None:
    heavy = ("numba", "scipy", "pandas", "duckdb", "plotly", "flint", "narwhals")
    code = (
        f"import sys; sys.argv = ['trueup', 'query', {str(ages['r'])!r}, '0:18', '--json']\n"
        "from trueup.cli import main\nmain_ended = None\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "[]"


def test_the_module_runs_as_a_program() -> None:
    words = [sys.executable, "-m", "trueup", "--version"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.startswith(
        "trueup "
    )


def test_quantiles_come_as_a_list_with_intervals(run: Run, ages: dict[str, Path]) -> None:
    release = tu.infer(tu.load(ages["m"]))
    shares = [0.25, 0.5, 0.75]
    said = run("quantile", ages["m"], *shares, "--level", 0.9, "--json").json
    assert [each["value"] for each in said["quantiles"]] == release.quantile(shares)
    ends = [(each["low"], each["high"]) for each in said["quantiles"]]
    assert ends == release.quantile_interval(shares, 0.9)
    assert ends == [release.quantile_interval(share, 0.9) for share in shares]
    printed = run("quantile", ages["m"], *shares)
    assert "95 % sure from" in printed.out
    assert len(printed.out.splitlines()) == 4
    shown = run("quantile", ages["m"], 0.5, "--nonnegative", "--json").json["quantiles"][0]
    assert shown["low"] <= shown["value"] <= shown["high"]


def test_export_writes_a_table_for_other_programs(
    run: Run, ages: dict[str, Path], tmp_path: Path
) -> None:
    ran = run("export", ages["m"], "-o", "x.csv", "--nonnegative", "--json")
    assert ran.json == {"saved": "x.csv"}
    lines = (tmp_path / "x.csv").read_text().splitlines()
    shown = tu.infer(tu.load(ages["m"]), nonnegative=True, integers=True)
    assert lines[0] == '"low","high","count","unbiased","unbiased_std_error"'
    assert [int(line.split(",")[2]) for line in lines[1:]] == shown.counts().tolist()
    assert run("export", ages["r"], "-o", "y.txt").code == 1


def test_a_picture_without_plotly_says_how_to_install_it(tmp_path: Path) -> None:
    path = tmp_path / "release.parquet"
    tu.publish([3], tu.Axis.integers("age", 0, 9), epsilon=1).save(path)
    code = "import sys; sys.modules['plotly'] = None; from trueup.cli import main; main()"
    command = [sys.executable, "-c", code, "plot", str(path), "-o", str(tmp_path / "x.html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        'trueup: Pictures need plotly, which is not installed: pip install "trueup[plots]".'
    )


@pytest.mark.parametrize("action", ["query", "load"])
def test_short_processes_end_as_they_should(tmp_path: Path, action: str) -> None:
    path = tmp_path / "release.parquet"
    tu.publish([3], tu.Axis.integers("age", 0, 9), epsilon=1).save(path)
    query = [sys.executable, "-m", "trueup", "query", str(path), "0:5"]
    load = [sys.executable, "-c", f"import trueup as tu; tu.load({str(path)!r})"]
    for _ in range(4):
        done = subprocess.run(
            query if action == "query" else load, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_rows_are_made_from_a_measurement_and_tabulate_to_its_whole_counts(
    run: Run, ages: dict[str, Path], tmp_path: Path
) -> None:
    from pyarrow import parquet

    report = run("rows", ages["m"], "-o", "people.parquet", "--json").json
    shown = tu.infer(tu.load(ages["m"]), nonnegative=True, integers=True)
    table = parquet.read_table(tmp_path / "people.parquet")
    assert (shown.axis.count(table["age"]) == shown.counts()).all()
    assert report["rows"] == len(table)
    ran = run("rows", ages["m"], "-o", "people.csv", "--inside", "middle")
    assert "synthetic rows of age" in ran.out
    assert "Safe: counts, shares and sums over age" in ran.out
    assert run("rows", ages["r"], "-o", "x.csv").err.startswith("trueup: Rows need whole counts")


def test_equidepth_gives_what_the_library_gives_and_draws(
    run: Run, ages: dict[str, Path], tmp_path: Path
) -> None:
    found = tu.load(ages["r"]).equidepth(4)
    told = run("equidepth", ages["r"], "4", "--json").json
    assert told["edges"] == found.edges
    assert told["counts"] == found.counts.tolist()
    ran = run("equidepth", ages["r"], "4", "-o", "bins.svg")
    assert "where it ends" in ran.out
    assert (tmp_path / "bins.svg").exists()
    assert "ask for 2 to" in run("equidepth", ages["r"], "1").err


def test_a_box_is_a_range_of_each_axis_or_all_of_it() -> None:
    axes = [tu.Axis.integers("age", 0, 99), tu.Axis.categories("sex", ["F", "M"])]
    assert parse_box(axes, "18:65,F") == ((18, 65), (0, 1))
    assert parse_box(axes, ",M") == ((0, 100), (1, 2))
    assert parse_box(axes, "4") == ((4, 5), (0, 2))
    with pytest.raises(tu.InputError, match=r"3 ranges; the axes are age, sex"):
        parse_box(axes, "1:2,F,M")


def test_no_standard_error_is_told_of_counts_from_pooled_cells(run: Run, tmp_path: Path) -> None:
    counts = np.zeros(4096, np.int64)
    counts[2000] = 60
    axis = tu.Axis.integers("cell", 0, 4095)
    asked = tu.TreeCounts(axis, adaptive=True)
    measure_for_experiment(counts, asked, 0.1, seed=1).save(tmp_path / "m.parquet")
    for how in ((), ("--nonnegative",)):
        ran = run("query", "m.parquet", "2000", "0:2048", *how)
        assert "std. error" not in ran.out
        assert "95 % sure from" in ran.out
        told = run("query", "m.parquet", "2000", *how, "--json").json["answers"][0]
        assert told["std_error"] is None
        assert told["low"] <= 60 <= told["high"]
        shown = run("show", "m.parquet", *how)
        assert "± is half the 95 % interval" in shown.out
        drawn = run("show", "m.parquet", *how, "--json").json
        assert drawn["error_is"] == "half the 95 % interval"
        assert all(row["std_error"] is None and row["error"] >= 0 for row in drawn["rows"])
        heading = " ".join(shown.out.split("epsilon=")[0].split())
        assert "95 %: " in heading  # an interval of the total too, so that ± has one meaning
        assert "±" not in heading


def test_nothing_calls_pooled_counts_unbiased_or_those_of_least_squares(
    run: Run, tmp_path: Path
) -> None:
    """Noise had a say in what was asked, so they are neither."""
    asked = tu.TreeCounts(tu.Axis.integers("cell", 0, 4095), adaptive=True)
    measure_for_experiment(np.zeros(4096, np.int64), asked, 0.1, seed=1).save(
        tmp_path / "m.parquet"
    )
    said = run("query", "m.parquet", "7", "--json").json
    assert said["inferred"].startswith("from the top down")
    assert said["intervals_of"] == "these answers"
    whole = run("query", "m.parquet", "7", "--nonnegative", "--json").json
    assert whole["intervals_of"] == "the answers as inferred"
    for words in (("query", "m.parquet", "7"), ("show", "m.parquet")):
        ran = " ".join(run(*words, "--nonnegative").out.split())
        assert "as inferred" in ran
        assert "unbiased" not in ran


def test_standard_errors_are_told_by_that_name(run: Run, ages: dict[str, Path]) -> None:
    drawn = run("show", ages["r"], "--bars", "4", "--json").json
    assert drawn["error_is"] == "one standard error"
    assert all(row["std_error"] == row["error"] > 0 for row in drawn["rows"])
    band = run("show", ages["s"], "--bars", "4", "--json").json
    assert all(row["std_error"] is None for row in band["rows"])


def test_the_ends_of_an_interval_are_rounded_outward(run: Run, ages: dict[str, Path]) -> None:
    for words in ("0:1", "3:70"):
        told = run("query", "r.parquet", words, "--json").json["answers"][0]
        line = run("query", "r.parquet", words).out.splitlines()[1].split()
        low, high = (float(end.replace(",", "").replace("−", "-")) for end in line[-2:])
        assert low <= told["low"]
        assert told["high"] <= high
