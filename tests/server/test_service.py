"""What a server process holds, and who may do what with it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trueup.config import read_config
from trueup.server import service
from trueup.server.auth import Holder, NotAllowedError
from trueup.server.errors import NotFoundError

ROLES = ("reader", "analyst", "owner")


@pytest.mark.parametrize(
    ("needed", "let_in"),
    [(service.holder, ROLES), (service.analyst, ROLES[1:]), (service.owner, ROLES[2:])],
)
def test_a_role_may_do_what_the_roles_under_it_may(needed: Any, let_in: tuple[str, ...]) -> None:
    for role in ROLES:
        who = Holder(1, "ana", role, "2013-01-01T00:00:00Z", None, None)  # type: ignore[arg-type]
        request = SimpleNamespace(scope={"holder": who})
        if role in let_in:
            assert asyncio.run(needed(request)) is who
        else:
            with pytest.raises(NotAllowedError):
                asyncio.run(needed(request))


def test_a_service_holds_every_declared_dataset_and_no_other(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    found = service.open_service(read_config(config_of(tmp_path)))
    assert [found.table(name).name for name in ("trips", "friends")] == ["trips", "friends"]
    with pytest.raises(NotFoundError, match="no such dataset"):
        found.table("../trips")
    assert found.releases.all() == []
    found.jobs.close()


def test_a_warm_server_has_compiled_the_intervals_of_a_handful(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    code = (
        "import sys; from trueup import law; from trueup.config import read_config\n"
        "from trueup.server.service import open_service\n"
        f"open_service(read_config({str(config_of(tmp_path))!r})).warm()\n"
        "assert law._ROWS in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


_OF_A_RELEASE = "measurement file rows range ranges sum shares difference quantiles view cdf nodes"
_OF_A_RELEASE += " heatmap boxes regions top keys key prefixes"
_POSTED = ["ranges", "sum", "shares", "difference", "quantiles", "boxes", "compare"]
LEAST = {
    "public": [
        "GET /releases/{release}",
        *(
            f"{'POST' if word in _POSTED else 'GET'} /releases/{{release}}/{word}"
            for word in _OF_A_RELEASE.split()
        ),
    ],
    "reader": [
        "GET /me",
        "GET /datasets",
        "GET /datasets/{dataset}",
        "GET /datasets/{dataset}/periods",
        "GET /datasets/{dataset}/regions",
        "GET /releases",
        "POST /releases/{release}/compare",
        "GET /series",
        "GET /series/{series}",
        "GET /series/{series}/periods",
        "GET /series/{series}/over",
        "GET /series/{series}/file",
        "GET /series/{series}/view",
        "POST /series/{series}/sum",
        "POST /series/{series}/compare",
    ],
    "analyst": [
        "POST /datasets/{dataset}/quote",
        "POST /datasets/{dataset}/measure",
        "GET /jobs/{job}",
        "GET /datasets/{dataset}/history",
        "POST /datasets/{dataset}/requests",
        "GET /requests",
    ],
    "owner": [
        "POST /requests/{number}",
        "GET /datasets/{dataset}/allowances",
        "PUT /datasets/{dataset}/allowances/{name}",
        "GET /tokens",
        "POST /tokens",
        "DELETE /tokens",
        "DELETE /tokens/{number}",
        "PUT /releases/{release}/public",
        "DELETE /releases/{release}/public",
        "POST /datasets/{dataset}/verify",
        "GET /publications",
    ],
}
"""Every route under /api/v1 that needs to know who asks, by the least role that may use it."""


def test_every_route_is_for_its_role_and_those_above(server: Any, fares: str) -> None:
    """A route that is not in the list above fails here: say whom it is for."""
    least = {route: role for role, routes in LEAST.items() for route in routes}
    known = {
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, said in server.guard.app.app.openapi()["paths"].items()
        for method in said
        if path.startswith("/api/v1/") and path != "/api/v1/session"
    }
    linked = {route for route in known if "/public/{link}" in route}
    assert known - linked == set(least)
    assert linked == {
        each.replace("releases/{release}", "public/{link}") for each in LEAST["public"]
    }
    link = server("boss").put(f"/api/v1/releases/{fares}/public").json()["link"]
    ranked = ("public", *ROLES)
    holders = dict(zip(ROLES, ("rea", "ana", "boss"), strict=True))
    for route, role in least.items():
        method, path = route.split()
        named = {"release": fares, "dataset": "trips", "number": 1 << 39, "name": "nobody"}
        address = path.format(**named, series="none", job="none.1")
        asked = {"json": {}} if method in ("POST", "PUT") else {}
        if path.startswith("/releases/{release}"):
            rest = path.removeprefix("/releases/{release}")
            said = server(None).request(method, f"/api/v1/public/{link}{rest}", **asked)
            assert (said.status_code == 401) == (role != "public"), route
        assert server(None).request(method, f"/api/v1{address}", **asked).status_code == 401, route
        for who in ROLES:
            said = server(holders[who]).request(method, f"/api/v1{address}", **asked)
            assert (said.status_code == 401) == (ranked.index(who) < ranked.index(role)), route
