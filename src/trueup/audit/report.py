"""The report of an examination: one page without anything to fetch, for somebody who must judge."""

from __future__ import annotations

import json
import platform
from html import escape
from pathlib import Path

from trueup.audit.examination import Examination
from trueup.files.atomic import write_whole
from trueup.version import __version__

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #b3261e; --none: #777 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: .4rem .6rem }
tr { border-bottom: 1px solid var(--line) }
.verdict { border-left: .4rem solid var(--good); padding: .5rem 1rem; font-size: 1.15rem }
.verdict.bad { border-color: var(--bad) }
.good { color: var(--good) } .bad { color: var(--bad) } .none { color: var(--none) }
pre { font: .85rem/1.4 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap }
"""

_MEANS = """
<p>A mechanism with a claim of differential privacy promises that one record changes the chance of
no output by more than a stated factor. This report ran the mechanism many times on two made-up
inputs that differ in one record. It chose an event (such as “the output is above 12”) on a first
sample, and counted on fresh runs how often the event came about on either input. From these counts
follow limits, by Clopper and Pearson's exact method, and from the limits a lower bound on the true
cost.</p>
<p><strong>If the bound lies above the claim, the claim is false</strong>, except with the chance
stated. <strong>If it lies below, nothing is proved</strong>: an audit can catch a mechanism, never
clear it. A bound far below the claim means only that this search did not find more.</p>
"""


def page(found: Examination) -> str:
    """The whole page as HTML."""
    words = {True: ("good", "stood"), False: ("bad", "FAILED"), None: ("none", "not tried")}
    rows = "".join(
        f"<tr><th>{escape(one.what)}</th><td class='{words[one.passed][0]}'>{words[one.passed][1]}"
        f"</td><td>{escape(one.result)}</td></tr>"
        for one in found.findings
    )
    tried = "".join(
        f"<tr><td>{escape(name)}</td><td>{promise:.3g}</td></tr>" for name, promise in found.tried
    )
    bad = "" if found.passed else " bad"
    chance = f"{1 - found.wanted.level:.1g}"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Privacy audit: {escape(found.target)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>
<body><h1>Privacy audit of {escape(found.target)}</h1>
<p class="verdict{bad}">{escape(found.verdict)}</p>
<table><tr><th>claim</th><td>{escape(str(found.claim))}</td></tr>
<tr><th>certified lower bound</th><td>{found.audit.bound:.4g}</td></tr>
<tr><th>chance that the bound is wrong</th><td>at most {chance}</td></tr>
<tr><th>runs on each input</th><td>{found.wanted.draws:,}</td></tr>
<tr><th>made</th><td>{escape(found.when)}, trueup {escape(__version__)}, Python
{escape(platform.python_version())}</td></tr></table>
<h2>What was tried</h2><table>{rows}</table>
<h2>What this means</h2>{_MEANS}
<h2>The two inputs</h2><p>{escape(found.pair.words)}</p>
<pre>{escape(_short(found.pair.first))}</pre><pre>{escape(_short(found.pair.second))}</pre>
<h2>Pairs of neighbours that were looked at</h2>
<p>Each with what a first look promised; the most telling one was examined.</p>
<table><tr><th>pair</th><th>promised</th></tr>{tried}</table>
<p>The inputs are made up: this page is not private and need not be.</p></body></html>
"""


def _short(given: object, most: int = 2000) -> str:
    text = json.dumps(given, default=str)
    return text if len(text) <= most else text[:most] + " …"


def write_page(found: Examination, path: Path) -> None:
    """Writes the page, whole or not at all."""
    write_whole(path, page(found).encode(), 0o666)
