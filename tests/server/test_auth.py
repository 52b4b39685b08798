"""Tokens: hashed at rest, revoked at once, refused all alike."""

from __future__ import annotations

import ast
import datetime as dt
import inspect
import os
import re
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import trueup as tu
from trueup.config import read_config
from trueup.errors import InputError
from trueup.server import auth
from trueup.server.auth import Tokens, expiry

OWNERS = [
    ("GET", "/api/v1/tokens"),
    ("POST", "/api/v1/tokens"),
    ("DELETE", "/api/v1/tokens?name=x"),
    ("POST", "/api/v1/datasets/trips/verify"),
    ("GET", "/metrics"),
]
SPENDERS = [
    ("POST", "/api/v1/datasets/trips/quote"),
    ("POST", "/api/v1/datasets/trips/measure"),
    ("GET", "/api/v1/datasets/trips/history"),
    ("GET", "/api/v1/jobs/trips.1"),
]
ALL = [("GET", "/api/v1/me"), ("GET", "/api/v1/datasets"), ("GET", "/api/v1/releases")]


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "trueup.tokens")


def test_a_token_is_not_kept(tokens: Tokens) -> None:
    secret = tokens.create("ana", "analyst")
    assert secret.encode() not in tokens.store.path.read_bytes()
    assert secret.removeprefix("trueup_").encode() not in tokens.store.path.read_bytes()
    assert tokens.store.path.stat().st_mode & 0o077 == 0


def test_tokens_are_long_and_never_alike(tokens: Tokens) -> None:
    made = {tokens.create("ana", "analyst") for _ in range(50)}
    assert len(made) == 50
    assert min(len(secret) for secret in made) >= 43


def test_another_process_sees_a_revocation_at_once(tokens: Tokens) -> None:
    other = Tokens(tokens.store.path)
    secret = tokens.create("ana", "analyst")
    assert other.holder(secret) is not None
    assert tokens.revoke("ana") == 1
    assert other.holder(secret) is None
    assert tokens.revoke("ana") == 0


def test_a_fork_and_a_real_process_see_a_revocation_at_once(tokens: Tokens) -> None:
    secret = tokens.create("ana", "analyst")
    assert tokens.holder(secret) is not None  # read before the fork
    code = "from pathlib import Path; from trueup.server.auth import Tokens; "
    code += f"Tokens(Path({str(tokens.store.path)!r})).revoke('ana')"
    ran, wrote = os.pipe()
    child = os.fork()
    if not child:
        found = tokens.holder(secret) is not None
        os.write(wrote, b"1" if found else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(ran, 1) == b"1"
    os.close(ran)
    os.close(wrote)
    subprocess.run([sys.executable, "-c", code], check=True)
    assert tokens.holder(secret) is None


def test_a_file_put_in_the_place_of_the_old_one_is_read(tokens: Tokens, tmp_path: Path) -> None:
    old = tokens.create("ana", "analyst")
    assert tokens.holder(old) is not None
    other = Tokens(tmp_path / "other.tokens")
    new = other.create("bob", "reader")
    os.replace(other.store.path, tokens.store.path)
    assert tokens.holder(old) is None
    assert tokens.holder(new) is not None
    tokens.store.path.unlink()
    with pytest.raises(tu.FileError, match="cannot be read as a file of tokens"):
        tokens.holder(new)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2030-01-01T00:00:00+02:00", "2029-12-31T22:00:00Z"),
        ("2030-06-30T23:00:00-05:30", "2030-07-01T04:30:00Z"),
        ("2030-01-01T12:00:00", "2030-01-01T12:00:00Z"),  # without a zone: in UTC
        ("2030-01-01", "2030-01-01T00:00:00Z"),
        ("12h", dt.timedelta(hours=12)),
        ("30d", dt.timedelta(days=30)),
    ],
)
def test_an_expiry_is_a_moment_in_every_way_to_write_it(text: str, moment: Any) -> None:
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)
    found = expiry(text)
    assert found is not None
    if isinstance(moment, str):
        assert found == moment
    else:
        late = dt.datetime.fromisoformat(found) - before - moment
        assert dt.timedelta(0) <= late < dt.timedelta(seconds=60)


def test_an_expired_token_holds_nothing(tokens: Tokens) -> None:
    assert tokens.holder(tokens.create("ana", "analyst", "2020-01-01")) is None
    assert tokens.holder(tokens.create("ana", "analyst", "1h")) is not None


def test_a_token_and_its_sessions_are_over_at_the_second_they_are_said_to_be(
    tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Second by second, by a clock of the test's own; a session is over with its token at last."""
    began, passed = dt.datetime(2030, 1, 1, tzinfo=dt.UTC), [0]

    def moment(later: dt.timedelta = dt.timedelta()) -> str:
        return (began + dt.timedelta(seconds=passed[0]) + later).strftime("%Y-%m-%dT%H:%M:%SZ")

    monkeypatch.setattr(auth, "moment", moment)
    secret = tokens.create("ana", "analyst", "2030-01-01T00:00:09")
    lasting = tokens.create("bo", "reader")
    holder = tokens.holder(secret)
    assert holder is not None
    sessions = {seconds: tokens.sign_in(holder, seconds) for seconds in (1, 5, 60)}
    for passed[0] in range(12):
        assert (tokens.holder(secret) is not None) == (passed[0] < 9)
        assert (tokens.named("ana") is not None) == (passed[0] < 9)
        assert tokens.holder(lasting) is not None
        for seconds, session in sessions.items():
            assert (tokens.signed_in(session) is not None) == (passed[0] < min(seconds, 9))
    tokens.sign_in(holder, 3)  # clears away what is over, and nothing else
    assert {one[1] for one in tokens.store.known().sessions.values()} == {
        "2030-01-01T00:01:00Z",
        "2030-01-01T00:00:14Z",
    }


def test_an_expiry_of_long_ago_is_over(tokens: Tokens) -> None:
    """Moments are compared as text: years of three digits would come after all of ours."""
    for text in ("0999-12-31", "0001-01-01", "1000-01-01", "1970-01-01"):
        assert tokens.holder(tokens.create("ana", "analyst", text)) is None


def test_a_name_of_two_tokens_is_held_by_the_newest(tokens: Tokens) -> None:
    for _ in range(2):
        tokens.create("ana", "analyst")
    tokens.create("bo", "reader")
    last, found = max(one.number for one in tokens.list() if one.name == "ana"), tokens.named("ana")
    assert found is not None
    assert found.number == last
    tokens.revoke_one(last)
    again = tokens.named("ana")
    assert again is not None
    assert again.number < last
    assert tokens.named("nobody") is None


@pytest.mark.parametrize("text", ["soon", "3w", "-1d", "999999999d", ""])
def test_an_expiry_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(tu.InputError, match="expires"):
        expiry(text)


@pytest.mark.parametrize("name", ["", "a b", "../x", "ana\n", "é", "x" * 65])
def test_a_name_is_plain(tokens: Tokens, name: str) -> None:
    with pytest.raises(tu.InputError, match="name"):
        tokens.create(name, "reader")


def test_a_name_has_one_role(tokens: Tokens) -> None:
    tokens.create("ana", "analyst")
    with pytest.raises(tu.InputError, match="as analyst already"):
        tokens.create("ana", "owner")
    with pytest.raises(tu.InputError, match="role"):
        tokens.create("bo", "king")


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"not a database, but long enough to be looked at by sqlite" * 20)
    with pytest.raises(tu.FileError):
        Tokens(path)


@pytest.mark.parametrize(("method", "path"), [*OWNERS, *SPENDERS, *ALL])
def test_every_refusal_is_the_same(server: Any, method: str, path: str) -> None:
    kept = Tokens(server.config.path.parent / "trueup.tokens")
    expired = kept.create("late", "owner", "2020-01-01")
    revoked = kept.create("gone", "owner")
    kept.revoke("gone")
    wrong = ["-", "x", "trueup_" + "a" * 43, expired, revoked, revoked[:-1], "é" * 10]
    clients = [server(None)] + [server(secret) for secret in wrong]
    if (method, path) not in ALL:
        clients.append(server("rea"))
    if (method, path) in OWNERS:
        clients.append(server("ana"))
    answers = set()
    for client in clients:
        began = time.monotonic()
        said = client.request(method, path)
        assert time.monotonic() - began >= 0.02
        headers = tuple((k, v) for k, v in said.headers.items() if k != "date")
        answers.add((said.status_code, said.content, headers))
    assert len(answers) == 1
    assert answers.pop()[0] == 401


@pytest.mark.parametrize(("method", "path"), [*SPENDERS, *ALL])
def test_a_good_token_is_let_in(server: Any, method: str, path: str) -> None:
    assert server("ana").request(method, path).status_code != 401


@pytest.mark.parametrize(("method", "path"), OWNERS)
def test_the_owner_is_let_in(server: Any, method: str, path: str) -> None:
    assert server("boss").request(method, path).status_code != 401


def test_tokens_are_made_listed_and_revoked_over_the_wire(server: Any) -> None:
    boss = server("boss")
    said = boss.post("/api/v1/tokens", json={"name": "eve", "role": "analyst", "limit": "1/3"})
    secret = said.json()["token"]
    assert said.json()["limits"]["trips"]["limit"] == "1/3"
    assert secret not in boss.get("/api/v1/tokens").text
    client = server(secret)
    assert client.get("/api/v1/me").json()["limit"] == "2/3"
    assert boss.delete("/api/v1/tokens?name=eve").json() == {"revoked": 1}
    assert client.get("/api/v1/me").status_code == 401
    assert boss.delete("/api/v1/tokens?name=eve").status_code == 404
    assert boss.delete("/api/v1/tokens?name=boss").status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x", "role": "analyst"},
        {"name": "x", "role": "reader", "limit": 1},
        {"name": "x", "role": "king"},
        {"name": "a b", "role": "reader"},
        {"name": "x", "role": "analyst", "limit": "1/3", "datasets": ["none"]},
        {"name": "x", "role": "analyst", "limit": "-1"},
        {"name": "x", "role": "reader", "expires": "soon"},
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(server: Any, body: Any) -> None:
    boss = server("boss")
    before = boss.get("/api/v1/tokens").json()
    said = boss.post("/api/v1/tokens", json=body)
    assert said.status_code == 400
    assert boss.get("/api/v1/tokens").json() == before


def test_a_new_token_of_a_name_spends_from_the_same_limit(serving: Any) -> None:
    server = serving({"boss": ("owner", None), "ana": ("analyst", "1/4")})
    server.measured("spend-it-all", epsilon="1/4")
    boss = server("boss")
    boss.delete("/api/v1/tokens?name=ana")
    made = boss.post("/api/v1/tokens", json={"name": "ana", "role": "analyst", "limit": "1/4"})
    client = server(made.json()["token"])
    said = client.post(
        "/api/v1/datasets/trips/measure",
        json={"column": "fare", "epsilon": "1/100"},
        headers={"Idempotency-Key": "once-more"},
    )
    assert said.status_code == 409
    assert re.search("0 of your own 1/4 is left", said.json()["detail"])


def test_an_allowance_is_in_what_its_dataset_counts(tokens: Tokens, tmp_path: Path) -> None:
    said = 'source = "x.csv"\nledger = "{}.ledger"\n{}\n'
    pure = "[datasets.pure]\n" + said.format("pure", "limit = 1")
    many = "[datasets.many]\n" + said.format("many", 'rho = "1/2"')
    (tmp_path / "trueup.toml").write_text(pure + many)
    datasets = read_config(tmp_path / "trueup.toml").datasets
    with pytest.raises(InputError, match="'many' counts rho: give rho, or name other datasets"):
        auth.create(tokens, datasets, "ana", "analyst", "1/2")
    with pytest.raises(InputError, match="None of the datasets counts rho"):
        auth.create(tokens, datasets, "ana", "analyst", "1/2", ["pure"], rho="1/8")
    with pytest.raises(InputError, match="An analyst has a limit"):
        auth.create(tokens, datasets, "ana", "reader", rho="1/8")
    assert tokens.list() == []  # nothing is made that is refused
    auth.create(tokens, datasets, "ana", "analyst", "1/2", rho="1/8")
    assert auth.open_ledger(datasets["pure"]).allowed("ana") == (Fraction(1, 2), 0)
    many_ledger = auth.open_ledger(datasets["many"])
    assert many_ledger.notion == "rho"
    assert many_ledger.allowed("ana") == (Fraction(1, 8), 0)


def test_what_is_secret_is_compared_in_one_time_whatever_it_is() -> None:
    """No == on tokens or their hashes: how far two agree would show in the time."""
    source = ast.parse(inspect.getsource(auth))
    holder = next(
        node
        for node in ast.walk(source)
        if isinstance(node, ast.FunctionDef) and node.name == "holder"
    )
    compared = [node for node in ast.walk(holder) if isinstance(node, ast.Compare)]
    assert all(isinstance(op, (ast.Is, ast.IsNot)) for node in compared for op in node.ops)
    assert "hmac.compare_digest(digest," in ast.unparse(holder)
