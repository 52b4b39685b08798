// Counts over time: a point a period with its interval, the chosen periods shaded, those that are compared too.

import { milliseconds } from "./axis.js";
import { draw, frame, nearest } from "./chart.js";
import { between, count } from "./numbers.js";
import { area, svg, through } from "./svg.js";

const FEW = 80; // points that have room for a mark and a whisker each

/** The edges between periods, in milliseconds: half way from each to the next. */
export function edgesOf(points) {
  const at = points.map((point) => milliseconds(point.begins));
  const last = at.length > 1 ? at.at(-1) - at.at(-2) : 864e5;
  const first = at.length > 1 ? at[1] - at[0] : 864e5;
  return [at[0] - first / 2, ...at.slice(1).map((x, i) => (x + at[i]) / 2), at.at(-1) + last / 2];
}

/** Points as runs without a gap: where a period is missing, the line stops. */
function runs(points, gaps) {
  const found = [];
  let missing = 0;
  points.forEach((point, i) => {
    let isBroken = i === 0;
    while (missing < gaps.length && gaps[missing] < point.period) {
      missing += 1;
      isBroken = true;
    }
    if (isBroken) found.push([]);
    found.at(-1).push(i);
  });
  return found;
}

/** Draws points over time; `shades` are stretches of them, {first, last, colour, words}. */
export function drawTimeline(target, points, gaps, shades, title) {
  draw(target, (width) => {
    const edges = edgesOf(points);
    const highest = Math.max(...points.map((point) => Math.max(point.high, point.count)), 1e-9);
    const lowest = Math.min(0, ...points.map((point) => Math.min(point.low, point.count)));
    const chart = frame(width, width < 560 ? 260 : 300, { kind: "time", domain: [edges[0], edges.at(-1)] }, { kind: "linear", domain: [lowest, highest + 0.04 * (highest - lowest)], title });
    const xs = points.map((point) => chart.x.at(milliseconds(point.begins)));
    const [ys, low, high] = ["count", "low", "high"].map((word) => points.map((point) => chart.y.at(point[word])));
    const isFew = points.length <= FEW;
    for (const run of runs(points, gaps)) {
      const of = (values) => run.map((i) => values[i]);
      if (!isFew) chart.drawn.append(svg("path", { class: "band", d: area(of(xs), of(low), of(high)), fill: "var(--band)" }));
      chart.drawn.append(svg("path", { class: "line", d: through(of(xs), of(ys)), fill: "none", stroke: "var(--blue)", "stroke-width": 2 }));
    }
    if (isFew) {
      chart.drawn.append(svg("path", { class: "intervals", d: xs.map((x, i) => `M${x},${low[i]}V${high[i]}M${x - 3},${low[i]}h6M${x - 3},${high[i]}h6`).join(""), stroke: "var(--orange)", "stroke-width": 1.5, fill: "none" }),
        svg("g", { class: "points", fill: "var(--blue)" }, xs.map((x, i) => svg("circle", { cx: x, cy: ys[i], r: 3.5 }))));
    }
    for (const { first, last, colour, words } of shades) {
      const [a, b] = [chart.x.at(edges[first]), chart.x.at(edges[last + 1])];
      chart.marks.append(svg("rect", { class: `mark ${words}`, x: a, width: b - a, y: chart.top, height: chart.bottom - chart.top, fill: `var(--${colour})`, "fill-opacity": 0.16 }));
      chart.picture.append(svg("line", { class: "annotation", "pointer-events": "none", x1: a, x2: b, y1: chart.top, y2: chart.top, stroke: `var(--${colour})`, "stroke-width": 4 }));
    }
    const tells = (px) => {
      if (px < chart.left || px > chart.right) return null;
      const i = nearest(xs, px);
      return { x: xs[i], lines: [points[i].period, count(points[i].count), `between ${between(points[i].low, points[i].high)}`] };
    };
    return { picture: chart.picture, tells };
  });
}
