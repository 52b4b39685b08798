"""What a server keeps for itself, in a file or in PostgreSQL: one contract for both."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueup.server.auth import Tokens, open_store
from trueup.server.links import Links


def test_what_another_process_writes_is_known_at_once(token_place: str | Path) -> None:
    one, other = (Tokens(token_place) for _ in range(2))
    holder = one.holder(one.create("ana", "analyst"))
    assert holder is not None
    session = one.sign_in(holder, 60)
    assert other.signed_in(session) == holder
    other.sign_out(session)
    assert one.signed_in(session) is None
    assert other.revoke("ana") == 1
    assert other.revoke("ana") == 0
    assert one.named("ana") is None


def test_a_token_has_a_hundred_sessions_and_the_oldest_ends(token_place: str | Path) -> None:
    tokens = Tokens(token_place)
    holder = tokens.holder(tokens.create("ana", "analyst"))
    assert holder is not None
    made = [tokens.sign_in(holder, 60) for _ in range(101)]
    assert [tokens.signed_in(one) is not None for one in made] == [False] + [True] * 100


def test_tokens_are_listed_and_their_use_is_noted(token_place: str | Path) -> None:
    tokens = Tokens(token_place)
    secrets = [tokens.create(name, "reader", "30d") for name in ("ana", "bo")]
    held = [tokens.holder(secret) for secret in secrets]
    assert tokens.list() == held
    assert tokens.last_used() == {}
    for _ in range(2):
        tokens.used(held[1])
    assert list(tokens.last_used()) == [held[1].number]
    assert tokens.revoke_one(held[0].number)
    assert [one.name for one in tokens.list() if one.valid()] == ["bo"]


def test_what_fails_in_the_middle_is_not_written(token_place: str | Path) -> None:
    store = open_store(token_place)

    def fail() -> None:
        with store.writing() as database:
            database.execute("INSERT INTO links VALUES (?, ?, ?)", ("release", "link", "now"))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert store.known().links == {}


def test_a_release_has_one_link_until_it_is_taken_back(token_place: str | Path) -> None:
    one, other = (Links(open_store(token_place)) for _ in range(2))
    link = one.publish("fares")
    assert other.publish("fares") == link
    assert other.release(link) == "fares"
    other.withdraw("fares")
    assert one.release(link) is None
    assert one.publish("fares") != link
