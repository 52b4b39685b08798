"""Keys asked through the server: quoted, charged once, listed, saved; nothing else is told."""

from __future__ import annotations

import io
from typing import Any

import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.keys import KeyMeasurement, KeyTerms
from trueup.server.auth import open_ledger
from trueup.server.routes import keyed


@pytest.fixture(scope="module")
def words(standing: Any) -> str:
    return str(standing.measured("keys-words", dataset="words", column=None, keys="word"))


@pytest.fixture(scope="module")
def hosts(standing: Any) -> str:
    asked = {"dataset": "words", "column": None, "keys": "hosts", "epsilon": 1}
    return str(standing.measured("keys-hosts", **asked))


def test_a_quote_says_the_threshold_of_the_library(standing: Any) -> None:
    body = {"keys": "word", "epsilon": "1/2"}
    said = standing().post("/api/v1/datasets/words/quote", json=body).json()
    question = tu.KeyCounts(tu.Universe.text("a-z", 6), "word", number="1/10")
    terms = KeyTerms.of(question, "1/2", unit="user", rows_per_unit=2)
    assert said["terms"] == terms.lines()
    assert f"at least {terms.threshold}" in said["sentence"]
    assert (said["cost"], said["allowed"]) == ("1/2", True)
    tree = standing().post("/api/v1/datasets/words/quote", json={"keys": "hosts", "epsilon": 1})
    assert tree.json()["strategy"] == "prefixes"
    told = standing().get("/api/v1/datasets/words").json()["keys"]
    assert [(one["name"], one["title"], one["tree"]) for one in told] == [
        ("word", "Search terms", False),
        ("hosts", "hosts", True),
    ]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"keys": "nothing", "epsilon": 1}, "/keys"),
        ({"keys": "word", "column": "age", "epsilon": 1}, "/keys"),
        ({"column": "age", "epsilon": 1, "delta": "1e-6"}, "/delta"),
        ({"keys": "word", "epsilon": 1, "where": "user = 3"}, "/where"),
        ({"keys": "word", "rho": 1}, "/rho"),
        ({"keys": "word", "epsilon": 0}, "/epsilon"),
    ],
)
@pytest.mark.parametrize("route", ["quote", "measure"])
def test_what_is_refused_names_its_field_and_costs_nothing(
    standing: Any, body: dict[str, Any], pointer: str, route: str
) -> None:
    before = standing.spent("words")
    headers = {"Idempotency-Key": "refused-keys"}
    said = standing().post(f"/api/v1/datasets/words/{route}", json=body, headers=headers)
    assert (said.status_code, said.json()["pointer"]) == (400, pointer), said.text
    assert standing.spent("words") == before


def test_keys_are_charged_once_under_their_key(standing: Any) -> None:
    asked = {"dataset": "words", "column": None, "keys": "word", "epsilon": "1/7"}
    before = standing.spent("words")
    first = standing.measured("keys-once", **asked)
    assert standing.measured("keys-once", **asked) == first
    assert standing.spent("words") - before == tu.Cost.of("1/7").amount
    body = {"keys": "hosts", "epsilon": "1/7"}
    headers = {"Idempotency-Key": "keys-once"}
    other = standing().post("/api/v1/datasets/words/measure", json=body, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "key_conflict")


def test_a_delta_is_spent_from_the_ledger(standing: Any) -> None:
    asked = {"dataset": "words", "column": None, "keys": "word", "epsilon": "1/7"}
    standing.measured("keys-delta", **asked, delta="1e-6")
    ledger = open_ledger(standing.config.datasets["words"])
    assert ledger.history()[-1].delta == tu.Cost.of(1, delta="1e-6").delta
    body = {"keys": "word", "epsilon": "1/7", "delta": "1e-2"}
    said = standing().post("/api/v1/datasets/words/quote", json=body).json()
    assert not said["allowed"]
    headers = {"Idempotency-Key": "keys-too-much"}
    refused = standing().post("/api/v1/datasets/words/measure", json=body, headers=headers)
    assert refused.status_code == 409


def test_every_answer_is_as_it_is_told(standing: Any, words: str, hosts: str) -> None:
    ask = standing("rea").get
    for path, model in (
        (f"{words}/keys?find=p&limit=2", keyed.KeysTold),
        (f"{words}/key?key=fig", keyed.KeyFound),
        (f"{hosts}/prefixes?at=10.0.0.0/8", keyed.PrefixesTold),
    ):
        said = ask(f"/api/v1/releases/{path}")
        assert said.status_code == 200, said.text
        model.model_validate(said.json())
    for path, pointer in ((f"{words}/key?key=UP", "/key"), (f"{hosts}/prefixes?at=x", "/at")):
        said = ask(f"/api/v1/releases/{path}")
        assert (said.status_code, said.json()["pointer"]) == (400, pointer)
    for path in (f"{words}/view", f"{words}/range", f"{hosts}/keys", f"{words}/boxes"):
        body = {"boxes": [[None, None]]}
        method = "POST" if path.endswith("boxes") else "GET"
        sent = {"json": body} if method == "POST" else {}
        said = standing("rea").request(method, f"/api/v1/releases/{path}", **sent)
        assert said.status_code == 400, path


def test_files_are_what_was_stored_and_released(standing: Any, words: str, hosts: str) -> None:
    ask = standing("rea").get
    stored = ask(f"/api/v1/releases/{words}/measurement").content
    measured = KeyMeasurement.from_bytes(stored)
    assert measured.terms.question.universe == tu.Universe.text("a-z", 6)
    saved = ask(f"/api/v1/releases/{words}/file?version=whole&format=parquet").content
    table = pq.read_table(io.BytesIO(saved))
    assert table["count"].to_pylist() == measured.infer().counts().tolist()
    lines = ask(f"/api/v1/releases/{hosts}/file?format=csv").text.splitlines()
    assert lines[0].replace('"', "").startswith("prefix,above,count,depth")
    for kind in ("json", "arrow", "csv"):
        assert ask(f"/api/v1/releases/{words}/measurement?format={kind}").status_code == 200
    link = standing("boss").put(f"/api/v1/releases/{words}/public").json()["link"]
    public = standing(None).get(f"/api/v1/public/{link}/keys").json()
    assert public == ask(f"/api/v1/releases/{words}/keys").json()


def test_the_client_asks_for_keys_and_infers_them_itself(standing: Any) -> None:
    client = tu.connect(standing.url, token=standing.secrets["ana"])
    measured = client.measure_keys("words", "word", epsilon=1, key="keys-by-client")
    assert isinstance(measured, KeyMeasurement)
    release = measured.infer()
    assert int(release.counts().sum()) + release.others() == release.total().value
    assert "fig" in release.keys


def test_the_highest_are_those_of_the_library_and_hold_together(standing: Any, words: str) -> None:
    stored = standing("rea").get(f"/api/v1/releases/{words}/measurement").content
    release = KeyMeasurement.from_bytes(stored).infer()
    for many, level in ((1, 0.9), (3, 0.95), (1000, 0.99)):
        asked = f"/api/v1/releases/{words}/top?many={many}&level={level}"
        said = standing("rea").get(asked).json()
        keyed.TopTold.model_validate(said)
        assert said["shown"] == len(release.keys)
        assert [
            (one["key"], one["count"], (one["low"], one["high"]), (one["first"], one["last"]))
            for one in said["keys"]
        ] == [(one.key, one.count, one.interval, one.places) for one in release.top(many, level)]
    alone = standing("rea").get(f"/api/v1/releases/{words}/keys?level=0.99").json()["keys"][0]
    assert (said["keys"][0]["low"], said["keys"][0]["high"]) != (alone["low"], alone["high"])


def test_a_tree_has_no_highest_keys(standing: Any, hosts: str) -> None:
    said = standing("rea").get(f"/api/v1/releases/{hosts}/top")
    assert (said.status_code, said.json()["code"]) == (400, "bad_request")


def test_published_keys_are_the_labels_of_a_further_question(standing: Any, words: str) -> None:
    shown = {one["key"] for one in standing().get(f"/api/v1/releases/{words}/keys").json()["keys"]}
    asked = {"among": words, "epsilon": 1, "where": "age < 5"}
    said = standing().post("/api/v1/datasets/words/quote", json=asked).json()
    assert (said["allowed"], said["cells"]) == (True, len(shown))
    before = standing.spent("words")
    name = standing.measured("labels-of-keys", dataset="words", column=None, **asked)
    assert standing.spent("words") - before == 1  # a further cost
    told = standing().get(f"/api/v1/releases/{name}").json()
    assert (told["column"], told["kind"]) == ("word", "histogram")
    assert set(told["axis"]["labels"]) == shown
    client = tu.connect(standing.url, standing.secrets["ana"])
    assert client.quote("words", epsilon=1, among=words).axis == tu.Axis.from_json(told["axis"])


@pytest.mark.parametrize("route", ["quote", "measure"])
def test_only_published_keys_of_the_same_dataset_are_labels(
    standing: Any, words: str, hosts: str, route: str
) -> None:
    ages = standing.measured("ages-of-words", dataset="words", column="age", epsilon=1)
    before = standing.spent("words")
    for dataset, body, status in (
        ("words", {"among": hosts}, 400),  # a tree
        ("words", {"among": ages}, 400),  # no keys
        ("words", {"among": "words.999"}, 404),
        ("words", {"among": words, "column": "age"}, 400),
        ("words", {"among": words, "keys": "word"}, 400),
        ("trips", {"among": words}, 400),  # of another dataset
    ):
        said = standing().post(
            f"/api/v1/datasets/{dataset}/{route}",
            json={"epsilon": 1, **body},
            headers={"Idempotency-Key": f"no-labels-{status}"},
        )
        assert said.status_code == status, said.text
        if status == 400:
            assert said.json()["pointer"] == "/among"
    assert standing.spent("words") == before


def test_a_client_s_delta_is_the_one_that_is_charged(standing: Any) -> None:
    client = tu.connect(standing.url, token=standing.secrets["ana"])
    ledger = open_ledger(standing.config.datasets["words"])
    for delta in ("1e-6", 0):
        found = client.measure_keys("words", "word", epsilon="1/9", delta=delta)
        asked = tu.Cost.of("1/9", delta=delta)
        assert ledger.history()[-1].cost == found.terms.cost == asked
