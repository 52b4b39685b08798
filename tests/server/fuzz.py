"""Requests that schemathesis makes from the OpenAPI document: none may be an internal error.

Run: python tests/server/fuzz.py [--cases 100000] [--seed N]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

KNOWN = {"dataset": ("trips", "friends"), "release": (), "job": ()}
SERVER = "most_measurements = 4"


def attack(server: Any, cases: int, seed: int = 0) -> Counter[int]:
    """How many requests got each status, after so many of them; an internal error stops it.

    Every operation gets its share. Names in paths are often those of something that is there, so
    that more than the first check is reached.
    """
    import hypothesis
    import schemathesis
    from hypothesis import HealthCheck, Phase
    from hypothesis import strategies as st

    document = server(None).get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    operations = [found.ok() for found in schema.get_all_operations()]
    release = server.measured("fuzz-release", epsilon=1, strategy="tree")
    graph = server.measured("fuzz-graph", dataset="friends", column=None, epsilon=1)
    known = {**KNOWN, "release": (release, graph), "job": (release, graph)}
    seen: Counter[int] = Counter()
    each = -(-cases // len(operations))
    for operation in operations:

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=each,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy(), pick=st.data())
        def one(case: Any, pick: Any) -> None:
            for name, names in known.items():
                if name in case.path_parameters and pick.draw(st.integers(0, 3)):
                    case.path_parameters[name] = pick.draw(st.sampled_from(names))
            who = pick.draw(st.sampled_from(["boss", "boss", "ana", "rea"]))
            seen[send(server, case, who)] += 1

        one()
    return seen


def send(server: Any, case: Any, who: str) -> int:
    """The status of a request, after checking that a refusal has our shape."""
    sent = case.as_transport_kwargs(base_url=server.url)
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
    assert said.status_code < 500, (case.as_curl_command(), said.status_code, said.text)
    if said.status_code >= 400:
        problem = said.json()["error"]
        assert set(problem) == {"code", "message"}
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
    config = conftest.write_config(folder, limit=10**9, server=SERVER, deadline=0.01)
    with conftest.running(config) as server:
        begin = time.monotonic()
        seen = attack(server, given.cases, given.seed)
        took = time.monotonic() - begin
    told = ", ".join(f"{status or 'unsendable'}: {n:,}" for status, n in sorted(seen.items()))
    print(f"{sum(seen.values()):,} cases in {took:.0f} s, seed {given.seed}. {told}. No 5xx.")


if __name__ == "__main__":
    main()
