"""What a server process holds: its datasets, releases, tokens and measurements at work."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from starlette.requests import Request

from trueup.axis import Axis
from trueup.config import Config
from trueup.cost import Cost
from trueup.errors import TrueupError
from trueup.infer import infer
from trueup.measure import measure
from trueup.plan.offers import offers
from trueup.server.answers import Answering
from trueup.server.auth import Holder, NotAllowedError, Role, Tokens
from trueup.server.batches import SingleRanges
from trueup.server.budget_requests import BudgetRequests
from trueup.server.datasets import Table, open_tables
from trueup.server.entrance import Entrance, Sso
from trueup.server.errors import NotFoundError
from trueup.server.jobs import Jobs
from trueup.server.links import Links
from trueup.server.over_time import OverTime
from trueup.server.releases import Releases
from trueup.server.series import Shelf
from trueup.server.settings import Settings, read_settings
from trueup.standing import read_series
from trueup.warming import machine_code_only
from trueup.workload import Workload


@dataclass(frozen=True, eq=False)
class Service:
    """Everything that routes need."""

    settings: Settings
    tables: Mapping[str, Table]
    tokens: Tokens
    jobs: Jobs
    releases: Releases
    ranges: SingleRanges
    links: Links
    requests: BudgetRequests
    entrance: Entrance
    shelf: Shelf
    over_time: OverTime

    def table(self, name: str) -> Table:
        """The dataset of this name."""
        if name not in self.tables:
            raise NotFoundError("There is no such dataset.")
        return self.tables[name]

    def warm(self) -> None:
        """Compiles what the first analyst would otherwise wait for."""
        machine_code_only()
        with contextlib.suppress(TrueupError):
            axis = Axis.integers("warm", 0, 63)
            # So many that the library compiles their intervals: from then on it uses that code
            # for the few that are asked for at one moment too.
            many = np.resize(np.arange(60), 2000)
            for offer in offers(axis, Cost.of(1), Workload.all_ranges()):
                found = infer(measure([0] * 64, offer.question, 1), nonnegative=True, integers=True)
                places = many if offer.way == "tree" else many[:60]  # hats take them one by one
                Answering(found, "whole").many(places, places + 3, 0.95)


def open_service(config: Config) -> Service:
    """A server's parts, opened as the configuration says."""
    settings = read_settings(config)
    tables = open_tables(config)
    jobs = Jobs(settings.deadline, settings.most_measurements)
    shelf = Shelf(read_series(config), tables)
    releases = Releases(tables, jobs, settings.open_releases, shelf)
    tokens = Tokens(settings.tokens)
    links, requests = Links(tokens.store), BudgetRequests(tokens.store)
    sso = None
    if settings.sso_header:
        sso = Sso(settings.sso_header.lower().encode(), settings.sso_proxies)
    entrance = Entrance(tokens, links, sso)
    ranges = SingleRanges(releases)
    return Service(
        settings=settings,
        tables=tables,
        tokens=tokens,
        jobs=jobs,
        releases=releases,
        ranges=ranges,
        links=links,
        requests=requests,
        entrance=entrance,
        shelf=shelf,
        over_time=OverTime(),
    )


async def service(request: Request) -> Service:
    """The parts of the server that a request came to."""
    found: Service = request.app.state.service
    return found


async def holder(request: Request) -> Holder:
    """Whoever asks, with a good token."""
    return _in(request, "reader", "analyst", "owner")


async def anybody(request: Request) -> Holder:
    """Whoever asks, with a good token or a public link."""
    return _holder(request)


async def analyst(request: Request) -> Holder:
    """Whoever asks, if they may spend."""
    return _in(request, "analyst", "owner")


async def owner(request: Request) -> Holder:
    """Whoever asks, if it is the owner."""
    return _in(request, "owner")


def _holder(request: Request) -> Holder:
    found: Holder = request.scope["holder"]
    return found


def _in(request: Request, *roles: Role) -> Holder:
    found = _holder(request)
    if found.role not in roles:
        raise NotAllowedError
    return found
