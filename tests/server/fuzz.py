"""Requests that schemathesis makes from the OpenAPI document: none may be an internal error.

Every answer is held against the document: its status, its kind and its schema must be there.
To make a request takes schemathesis longer than the server takes to answer it. So most are put
together from those that it made for the same route: each parameter and each field of the body from
another, some left out.

Run: python tests/server/fuzz.py [--cases 100000] [--seed N]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

KNOWN: dict[str, tuple[str, ...]] = {
    "dataset": ("trips", "friends", "daily", "words", "riders"),
    "name": ("bo", "nobody"),
    "series": ("fares", "both", "riders"),
    "column": ("borough", "age"),
}
ASKED: tuple[dict[str, Any], ...] = (
    {"column": "fare", "epsilon": "1/1000"},
    {"column": "fare", "epsilon": "1/1000", "period": "2026-01-09", "through": "2026-01-10"},
    {"column": "tip", "epsilon": "1/1000", "period": ["2026-01-03", "2026-01-12"]},
    {"keys": "tips", "epsilon": "1/1000", "period": "2026-01-09"},
    {"keys": "word", "epsilon": "1/1000", "delta": "1e-9"},
    {"column": "top", "epsilon": "1/1000", "where": "trips > 3"},
)  # questions that some dataset answers; mixed with each other, and with what is made
SERVER = "most_measurements = 4"
TIMES = 8  # requests sent for each that schemathesis makes
Sent = dict[str, Any]


def attack(server: Any, cases: int, seed: int = 0) -> Counter[int]:
    """How many requests got each status, after so many of them; an internal error stops it.

    Every operation gets its share. Names in paths are often those of something that is there, so
    that more than the first check is reached.
    """
    import schemathesis
    from hypothesis import strategies as st

    document = server(None).get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    operations = [found.ok() for found in schema.get_all_operations()]
    release = server.measured("fuzz-release", epsilon=1, strategy="tree")
    graph = server.measured("fuzz-graph", dataset="friends", column=None, epsilon=1)
    columns = [{"column": "age"}, {"column": "borough"}]
    grid = server.measured("fuzz-grid", column=None, columns=columns, epsilon=1)
    link = server("boss").put(f"/api/v1/releases/{grid}/public").json()["link"]
    releases = (release, graph, grid, "fares@2026-01-03")
    known = {**KNOWN, "release": releases, "job": (release, graph), "link": (link,)}
    answers = Answers(document)
    chance = random.Random(seed)
    seen: Counter[int] = Counter()
    each = -(-cases // len(operations))

    def named(case: Any, pick: Any) -> None:
        for name, names in known.items():
            if name in case.path_parameters and pick.draw(st.integers(0, 3)):
                case.path_parameters[name] = pick.draw(st.sampled_from(names))
        if case.operation.path.endswith(("/quote", "/measure")) and pick.draw(st.booleans()):
            case.body = dict(pick.draw(st.sampled_from(ASKED)))
        if case.operation.path.endswith("/public"):  # the link of the grid stays
            case.path_parameters["release"] = release
        if "/tokens/" in case.operation.path:  # and so do the tokens that ask
            case.path_parameters["number"] = 1000 + case.path_parameters["number"] % 1000

    for operation in operations:
        wanted = -(-each // TIMES)
        cases_made = generated(operation, wanted, seed, named)
        made = [case.as_transport_kwargs(base_url=server.url) for case in cases_made]
        more = each - len(made) if len(made) == wanted else 0  # fewer are all that there are
        for sent in [*made, *(mixed(made, chance) for _ in range(more))]:
            who = chance.choice(["boss", "boss", "ana", "rea"])
            seen[send(server, operation.path, sent, who, answers)] += 1
    return seen


def generated(operation: Any, number: int, seed: int, named: Any) -> list[Any]:
    """So many requests of a route as schemathesis makes them; fewer where there are no more."""
    import hypothesis
    from hypothesis import HealthCheck, Phase
    from hypothesis import strategies as st

    found = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(), pick=st.data())
    def one(case: Any, pick: Any) -> None:
        named(case, pick)
        found.append(case)

    one()
    return found


def mixed(made: list[Sent], chance: random.Random) -> Sent:
    """A request put together from others of its route."""
    found = dict(chance.choice(made))
    for part in ("params", "headers", "json"):
        if isinstance(found.get(part), dict):
            found[part] = _mixed([one.get(part) for one in made], chance)
    found["url"] = chance.choice(made)["url"]
    return found


def _mixed(made: list[Any], chance: random.Random) -> dict[str, Any]:
    """An object whose fields are each those of another."""
    some = [one for one in made if isinstance(one, dict)]
    found = dict(chance.choice(some))
    for name in {*found, *chance.choice(some)}:
        have = [one[name] for one in some if name in one]
        found[name] = chance.choice(have)
        if isinstance(found[name], dict) and chance.random() < 0.5:
            found[name] = _mixed(have, chance)
        if chance.random() < 0.1:
            del found[name]
    return found


class Answers:
    """What the document says that may be answered."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.validators: dict[tuple[str, str, str, str], Any] = {}

    def check(self, path: str, method: str, said: Any) -> None:
        """Refuses an answer that is not in the document."""
        import jsonschema_rs

        known = self.document["paths"][path][method.lower()]["responses"]
        status = str(said.status_code)
        assert status in known, (method, path, status, said.text[:300])
        kinds = known[status].get("content", {})
        kind = said.headers.get("content-type", "").partition(";")[0]
        assert kind in kinds or (not kinds and not said.content), (method, path, status, kind)
        if not kind.endswith("json") or not kinds[kind].get("schema"):
            return
        at = (path, method, status, kind)
        if at not in self.validators:
            schema = {**kinds[kind]["schema"], "components": self.document["components"]}
            self.validators[at] = jsonschema_rs.validator_for(schema)
        self.validators[at].validate(said.json())


def send(server: Any, path: str, sent: Sent, who: str, answers: Answers) -> int:
    """The status of a request, after checking that its answer is in the document."""
    headers = dict(sent.get("headers") or {})
    headers["Authorization"] = f"Bearer {server.secrets[who]}"
    headers.pop("X-Schemathesis-TestCaseId", None)
    if "json" in sent:
        body: Any = json.dumps(sent["json"]).encode()
        headers["Content-Type"] = "application/json"
    else:
        body = sent.get("data")
        body = body.encode() if isinstance(body, str) else body
    import httpx

    request = {"params": sent.get("params"), "content": body}
    request["headers"] = {k: v.encode("latin-1", "replace") for k, v in headers.items()}
    try:
        try:
            said = server(who).request(sent["method"], sent["url"], **request)
        except httpx.TransportError:  # a connection that had been idle too long
            said = server(who).request(sent["method"], sent["url"], **request)
    except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeEncodeError, TypeError):
        return 0  # a request that cannot be written down
    assert said.status_code < 500, (sent, said.status_code, said.text)
    answers.check(path, sent["method"], said)
    assert "Traceback" not in said.text
    return int(said.status_code)


def main() -> None:
    """Fuzzes a server of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    place = Path(__file__).with_name("conftest.py")
    spec = importlib.util.spec_from_file_location("server_conftest", place)
    assert spec is not None
    assert spec.loader is not None
    conftest = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = conftest
    spec.loader.exec_module(conftest)
    folder = Path(tempfile.mkdtemp())
    config = conftest.write_config(folder, limit=10**9, server=SERVER, deadline=0.01, series=True)
    people = {"boss": ("owner", None), "ana": ("analyst", 10**6), "rea": ("reader", None)}
    people["bo"] = ("analyst", 1)
    with conftest.running(config, people) as server:
        begin = time.monotonic()
        seen = attack(server, given.cases, given.seed)
        took = time.monotonic() - begin
    told = ", ".join(f"{status or 'unsendable'}: {n:,}" for status, n in sorted(seen.items()))
    print(f"{sum(seen.values()):,} cases in {took:.0f} s, seed {given.seed}. {told}.")
    print("No 5xx, none undocumented.")


if __name__ == "__main__":
    main()
