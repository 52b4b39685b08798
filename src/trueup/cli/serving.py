"""Commands of whoever runs a server: serve, and the tokens that let people in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueup.cli.options import ConfigFile
from trueup.cli.output import AsJson, emit, say, table
from trueup.config import read_config
from trueup.errors import InputError

if TYPE_CHECKING:
    from trueup.server.auth import Tokens

app = typer.Typer(help="Tokens for the server: make, list and revoke them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Whose token it is.", show_default=False)]
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve_command(
    config: ConfigFile = None,
    host: Annotated[
        str | None,
        typer.Option(help="The address to listen on; this machine only if you give none."),
    ] = None,
    port: Annotated[int | None, typer.Option(help="The port; 8000 if you give none.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="The number of processes; 1 if you give none.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve the datasets of trueup.toml to analysts, with a page for their browsers."""
    check_installed()
    from trueup.server.checking import coinciding
    from trueup.server.run import serve
    from trueup.server.settings import read_settings

    found = read_config(config)
    settings = read_settings(found, host=host, port=port, workers=workers)
    if settings.host not in _LOOPBACK:
        say(
            f"Listening beyond this machine, on {settings.host}. Tokens and answers travel in the "
            f"clear: put a proxy with TLS in front (docs/server.md)."
        )

    for note in coinciding(found.datasets):
        say(note)

    def ready(port: int) -> None:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{host}:{port}"
        told = f"trueup serves on {address}; Ctrl-C stops it"
        emit(as_json, {"address": address}, lambda: say(told))

    serve(found, settings, ready)


@app.command("create")
def create_command(
    name: Name,
    role: Annotated[str, typer.Option(help="reader, analyst or owner.")] = "reader",
    limit: Annotated[
        str | None, typer.Option(help="An analyst's own limit, on each dataset.")
    ] = None,
    rho: Annotated[
        str | None, typer.Option(help="The same, on each dataset that counts rho.")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="The dataset that the limit is for; all if you give none."),
    ] = None,
    expires: Annotated[str | None, typer.Option(help="Such as 30d, 12h or 2026-12-31.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a token and show it once. An analyst's limit is written into the ledgers."""
    from trueup.server.auth import create

    found = read_config(config)
    secret = create(_tokens(config), found.datasets, name, role, limit, dataset, expires, rho)
    emit(as_json, {"name": name, "role": role, "token": secret}, lambda: print(secret))


@app.command("list")
def list_command(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List all tokens: whose they are, for what, until when. The token itself is never shown."""
    held = _tokens(config).list()
    facts = {"tokens": [vars(one) for one in held]}

    def show() -> None:
        rows = [
            [one.name, one.role, one.created, one.expires or "never", one.revoked or "no"]
            for one in held
        ]
        table(["name", "role", "created", "expires", "revoked"], rows)

    emit(as_json, facts, show)


@app.command("revoke")
def revoke_command(name: Name, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Revoke every token of a name, from this moment on."""
    number = _tokens(config).revoke(name)
    if not number:
        raise InputError(f"'{name}' has no token that could be revoked.")
    emit(as_json, {"revoked": number}, lambda: say(f"{number} revoked"))


def _tokens(config: Path | None) -> Tokens:
    check_installed()
    from trueup.server.auth import Tokens
    from trueup.server.settings import read_settings

    return Tokens(read_settings(read_config(config)).tokens)


def check_installed() -> None:
    """Refuses a command that needs packages of the server which are not there."""
    try:
        import fastapi  # noqa: F401
        import pydantic_settings  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise InputError("A server needs more packages: pip install 'trueup[serve]'.") from None
