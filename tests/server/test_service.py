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
