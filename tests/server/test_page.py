from __future__ import annotations

import gzip
import re
from typing import Any

import httpx


def test_the_page_is_compressed_and_kept_under_an_address_of_its_version(
    server: Any,
) -> None:
    client = server(None)
    first = client.get("/")
    assert first.headers["cache-control"] == "no-cache"
    addresses = re.findall(r'(?:href|src)="(static/[^"]+)"', first.text)
    assert len(addresses) > 10
    versions = {address.split("/")[1] for address in addresses}
    assert len(versions) == 1
    for address in addresses:
        packed = client.get(f"/{address}", headers={"accept-encoding": "gzip"})
        plain = client.get(f"/{address}", headers={"accept-encoding": "identity"})
        assert packed.content == plain.content  # the client unpacks it
        assert "immutable" in packed.headers["cache-control"]
        if len(plain.content) > 1000:
            assert packed.headers["content-encoding"] == "gzip"
            assert int(packed.headers["content-length"]) <= len(gzip.compress(plain.content)) + 8
    (version,) = versions
    other = f"/static/{'0' * len(version)}/main.js"
    assert client.get(other).status_code == 404  # never an old file under a new name
    assert client.get(f"/static/{version}/nothing.js").status_code == 404


def test_scripts_have_the_type_that_browsers_insist_on(server: Any) -> None:
    client = server(None)
    address = re.search(r'src="(static/[^"]+main.js)"', client.get("/").text)
    assert address
    answer: httpx.Response = client.get(f"/{address[1]}")
    assert answer.headers["content-type"].startswith("text/javascript")
