"""The page's own files: read once, compressed once, and named by what is in them.

Everything but the first file has an address with a digest of all of them in it, so that a browser
keeps it for good and fetches nothing twice; a new version has new addresses.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from trueup.server.errors import NotFoundError

_FOLDER = Path(__file__).parent / "static"
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
_ALWAYS = "public, max-age=31536000, immutable"


def serve_page(app: FastAPI) -> None:
    """Adds the page to an application."""
    files = {
        path.relative_to(_FOLDER).as_posix(): path.read_bytes()
        for path in sorted(_FOLDER.rglob("*"))
        if path.is_file()
    }
    if "index.html" not in files:
        return
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    version = digest.hexdigest()[:12]
    index = _index(files, version)
    packed = {name: gzip.compress(data, 9, mtime=0) for name, data in files.items()}
    first = gzip.compress(index, 9, mtime=0)

    @app.get("/", include_in_schema=False)
    def page(request: Request) -> Response:
        return _sent(request, index, first, "index.html", "no-cache")

    @app.get("/static/{address:path}", include_in_schema=False)
    def file(request: Request, address: str) -> Response:
        asked, _, name = address.partition("/")
        if asked != version or name not in files:
            raise NotFoundError("There is nothing at this address.")
        return _sent(request, files[name], packed[name], name, _ALWAYS)


def _index(files: dict[str, bytes], version: str) -> bytes:
    """The first file, with the addresses of this version; scripts are named ahead of their turn."""
    scripts = [name for name in files if name.endswith(".js")]
    ahead = "".join(f'<link rel="modulepreload" href="static/{name}">\n' for name in scripts)
    text = files["index.html"].decode().replace("<!-- ahead -->\n", ahead)
    return text.replace('"static/', f'"static/{version}/').encode()


def _sent(request: Request, plain: bytes, packed: bytes, name: str, cache: str) -> Response:
    kind = _KINDS.get(Path(name).suffix) or mimetypes.guess_type(name)[0]
    headers = {"Cache-Control": cache, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", "") and len(packed) < len(plain):
        headers["Content-Encoding"] = "gzip"
        plain = packed
    return Response(plain, headers=headers, media_type=kind)
