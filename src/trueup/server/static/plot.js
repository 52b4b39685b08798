// Pictures, in the look of the library's own: blue counts, orange intervals, words beside.

import * as axes from "./axis.js";
import { draw, frame, nearest } from "./chart.js";
import { between as interval, count, percent } from "./numbers.js";
import { area, cut, svg, through } from "./svg.js";

export const MARK_SIGNS = ["●", "◆", "■", "▲", "✖", "✚"];
export const SERIES = ["blue", "orange", "green", "purple", "grey", "olive"];
const height = (width) => (width < 560 ? 290 : 340);

/** The axis along the bottom: numbers, dates, or labels under the middles of their bars. */
function along(axis, view, title) {
  const at = view.edges.map((edge, i) => axes.place(axis, edge, view.cells[i]));
  const x = { kind: "linear", domain: [at[0], at.at(-1)], title };
  if (axes.isDates(axis)) return { at, x: { ...x, kind: "time" } };
  if (axes.isScaled(axis)) return { at, x };
  return { at, x: { ...x, words: at.slice(0, -1).map((_, i) => (view.cells_per_point > 1 ? axes.name(axis, view.edges[i]) : axes.between(axis, view.edges[i], view.edges[i + 1]))) } };
}

/** Bars with their intervals; with raw answers, diamonds where the noise had put them. */
export function drawHistogram(target, axis, view, marked, title, over = null) {
  draw(target, (width) => {
    const { at, x } = along(axis, view, title);
    const high = (values) => values.map((value, i) => value * view.times[i]); // equal density, equal height
    const [counts, low, top, raw] = [view.counts, view.low, view.high, view.raw ?? []].map(high);
    const theirs = over ? over.counts.map((value, i) => (value * over.times[i] * view.cells_per_point) / over.cells_per_point) : [];
    const highest = Math.max(...counts, ...top, ...raw, ...theirs, 1e-9);
    const lowest = Math.min(0, ...counts, ...low, ...raw, ...theirs);
    const chart = frame(width, height(width), x, { kind: "linear", domain: [lowest, highest + 0.04 * (highest - lowest)], title: view.height });
    const edges = at.map(chart.x.at);
    const zero = chart.y.at(0);
    const isWide = (chart.right - chart.left) / counts.length > 10; // room for gaps and caps
    const gap = isWide ? 0.75 : 0;
    const least = Math.min(...view.cells.slice(1).map((cell, i) => cell - view.cells[i]));
    const bars = counts.map((value, i) => {
      const y = chart.y.at(value);
      const part = view.cells[i + 1] - view.cells[i] < (view.cells_per_point ?? least);
      return svg("g", { class: part ? "point part" : "point" }, svg("path", { d: `M${edges[i] + gap},${zero}V${y}H${Math.max(edges[i + 1] - gap, edges[i] + gap + 0.5)}V${zero}Z`, fill: "var(--blue)", "fill-opacity": part ? 0.55 : null }));
    });
    const whiskers = counts.map((_, i) => {
      const [middle, a, b] = [(edges[i] + edges[i + 1]) / 2, chart.y.at(low[i]), chart.y.at(top[i])];
      return `M${middle},${a}V${b}${isWide ? `M${middle - 3},${a}h6M${middle - 3},${b}h6` : ""}`;
    });
    chart.drawn.append(svg("g", { class: "bars" }, bars), svg("path", { class: "intervals", d: whiskers.join(""), stroke: "var(--orange)", "stroke-width": isWide ? 1.75 : 1, fill: "none" }), diamonds(raw, edges, chart));
    if (over) {
      const at = over.edges.map((edge, i) => chart.x.at(axes.place(axis, edge, over.cells[i])));
      chart.drawn.append(line(chart, at, [...theirs, theirs.at(-1)], true, { class: "line other", stroke: "var(--purple)" }));
    }
    marks(chart, marked);
    const tells = (px) => {
      if (px < chart.left || px > chart.right) return null;
      const found = Math.max(0, Math.min(counts.length - 1, edges.findIndex((edge) => edge > px) - 1));
      const said = [axes.between(axis, view.edges[found], view.edges[found + 1]), count(view.counts[found]), `between ${interval(view.low[found], view.high[found])}`];
      if (view.raw) said.push(`as measured: ${count(view.raw[found])}`);
      return { x: (edges[found] + edges[found + 1]) / 2, lines: said };
    };
    return { picture: chart.picture, tells };
  });
}

/** Bars of labels as one picture, for a file. */
export function labelBars(rows, title) {
  const [width, line, middle, end] = [900, 26, 300, 760];
  const most = Math.max(...rows.map((row) => row.high), 1e-9);
  const at = (value) => middle + (Math.max(0, value) / most) * (end - middle);
  const words = (x, y, text, more = {}) => svg("text", { x, y, "font-size": 13, fill: "var(--text)", ...more }, text);
  return svg("svg", { viewBox: `0 0 ${width} ${rows.length * line + 46}`, "font-family": "system-ui, sans-serif" },
    words(10, 22, title, { "font-weight": 700 }),
    rows.map((row, i) => {
      const y = 36 + i * line;
      return svg("g", {}, words(middle - 8, y + 17, cut(row.words, 13, middle - 16), { "text-anchor": "end" }),
        svg("rect", { x: middle, y: y + 3, width: at(row.count) - middle, height: line - 6, fill: "var(--blue)" }),
        svg("path", { d: `M${at(row.low)},${y + 13}H${at(row.high)}`, stroke: "var(--orange)", "stroke-width": 2 }),
        words(end + 10, y + 17, count(row.count)));
    }));
}

const diamonds = (raw, edges, chart) => svg("g", { class: "raw", fill: "none", stroke: "var(--purple)", "stroke-width": 1.25 },
  raw.map((value, i) => svg("path", { class: "point", d: `M${(edges[i] + edges[i + 1]) / 2},${chart.y.at(value) - 4}l4,4l-4,4l-4,-4Z` })));

/** The ranges that are being compared, shaded and lettered, each in its colour. */
function marks(chart, marked) {
  for (const { letter, colour, at } of marked) {
    const [first, last] = chart.x.domain;
    const [from, to] = [Math.max(at[0] ?? first, first), Math.min(at[1] ?? last, last)];
    if (from >= to) continue;
    const [a, b] = [chart.x.at(from), chart.x.at(to)];
    chart.marks.append(svg("rect", { class: "mark", x: a, width: b - a, y: chart.top, height: chart.bottom - chart.top, fill: `var(--${colour})`, "fill-opacity": 0.16 }));
    chart.picture.append(svg("g", { class: "annotation", "pointer-events": "none" },
      svg("line", { x1: a, x2: b, y1: chart.top, y2: chart.top, stroke: `var(--${colour})`, "stroke-width": 4 }),
      svg("text", { x: (a + b) / 2, y: chart.top - 6, "text-anchor": "middle", "font-size": 13, "font-weight": 700, fill: `var(--${colour})` }, letter)));
  }
}

/** A grid of counts as shades, its margins as bars along two sides; hatched where a count may be none. */
export function drawGrid(target, columns, view, marked) {
  draw(target, (width) => {
    const sides = columns.map((column, i) => along(column.axis, { edges: view.edges[i], cells: view.cells[i], cells_per_point: view.cells[i][1] - view.cells[i][0] }, titled(column)));
    const room = { top: 74, right: width < 560 ? 50 : 90 };
    const chart = frame(width, width < 560 ? 360 : 390, sides[0].x, { ...sides[1].x, title: titled(columns[1]) }, room);
    const [xs, ys] = [sides[0].at.map(chart.x.at), sides[1].at.map(chart.y.at)];
    const most = Math.max(...view.counts.flat(), 1e-9);
    const cells = [];
    view.counts.forEach((row, i) => row.forEach((value, j) => {
      const box = { x: xs[i], y: ys[j + 1], width: Math.max(0.5, xs[i + 1] - xs[i]), height: Math.max(0.5, ys[j] - ys[j + 1]) };
      cells.push(svg("rect", { class: "cell", ...box, fill: "var(--blue)", "fill-opacity": Number(Math.sqrt(Math.max(0, value) / most).toFixed(3)) }));
      if (view.low[i][j] <= 0) cells.push(svg("rect", { class: "unsure", ...box, fill: "url(#hatched)" }));
    }));
    chart.drawn.append(hatching(), ...cells, ...margins(view, xs, ys, chart));
    for (const { letter, colour, at } of marked) {
      const [a, b] = at[0].map((edge, i) => chart.x.at(edge ?? chart.x.domain[i]));
      const [c, d] = at[1].map((edge, i) => chart.y.at(edge ?? chart.y.domain[i]));
      chart.picture.append(svg("g", { class: "annotation", "pointer-events": "none" }, svg("rect", { class: "mark", x: a, y: d, width: b - a, height: c - d, fill: "none", stroke: `var(--${colour})`, "stroke-width": 3 }),
        svg("text", { x: a + 6, y: d + 16, "font-size": 13, "font-weight": 700, fill: `var(--${colour})` }, letter)));
    }
    const tells = (px, py) => {
      const i = xs.findIndex((x) => x > px) - 1;
      const j = ys.findIndex((y) => y < py) - 1;
      if (i < 0 || j < 0) return null;
      return { x: px, lines: [[0, 1].map((side) => axes.between(columns[side].axis, view.edges[side][[i, j][side]], view.edges[side][[i, j][side] + 1])).join(", "), count(view.counts[i][j]), `between ${interval(view.low[i][j], view.high[i][j])}`] };
    };
    return { picture: chart.picture, tells };
  });
}

const titled = (column) => (column.units ? `${column.title} (${column.units})` : column.title);

const hatching = () => svg("defs", {}, svg("pattern", { id: "hatched", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
  svg("line", { x1: 0, x2: 0, y1: 0, y2: 6, stroke: "var(--grey)", "stroke-width": 1, "stroke-opacity": 0.55 })));

/** The sums along each side of a grid. */
function margins(view, xs, ys, chart) {
  const [across, down] = view.margins.map((margin) => ({ ...margin, most: Math.max(...margin.counts, ...margin.high, 1e-9) }));
  const [tall, broad] = [44, 40];
  const up = (value) => chart.top - 4 - (Math.max(0, value) / across.most) * tall;
  const out = (value) => chart.right + 4 + (Math.max(0, value) / down.most) * broad;
  return [
    svg("g", { class: "margin" }, across.counts.map((value, i) => svg("path", { d: `M${xs[i] + 0.5},${chart.top - 4}V${up(value)}H${Math.max(xs[i + 1] - 0.5, xs[i] + 1)}V${chart.top - 4}Z`, fill: "var(--blue)" })),
      svg("path", { d: across.counts.map((_, i) => `M${(xs[i] + xs[i + 1]) / 2},${up(across.low[i])}V${up(across.high[i])}`).join(""), stroke: "var(--orange)" })),
    svg("g", { class: "margin" }, down.counts.map((value, j) => svg("path", { d: `M${chart.right + 4},${ys[j] - 0.5}H${out(value)}V${Math.min(ys[j + 1] + 0.5, ys[j] - 1)}H${chart.right + 4}Z`, fill: "var(--blue)" })),
      svg("path", { d: down.counts.map((_, j) => `M${out(down.low[j])},${(ys[j] + ys[j + 1]) / 2}H${out(down.high[j])}`).join(""), stroke: "var(--orange)" })),
  ];
}

const band = (chart, xs, low, high, steps) => svg("path", { class: "band", d: area(xs, low.map(chart.y.at), high.map(chart.y.at), steps), fill: "var(--band)" });
const line = (chart, xs, ys, steps, more = {}) => svg("path", { class: "line", d: through(xs, ys.map(chart.y.at), steps), fill: "none", stroke: "var(--blue)", "stroke-width": 2, ...more });

/** The share of the total below each value, with its band. */
export function drawShares(target, axis, view, marked, title) {
  draw(target, (width) => {
    const { at, x } = along(axis, view, title);
    const chart = frame(width, height(width), x, { kind: "linear", domain: [0, 1], title: "share below", percent: true });
    const xs = at.map(chart.x.at);
    const inside = (values) => values.map((value) => Math.min(1, Math.max(0, value)));
    chart.drawn.append(band(chart, xs, inside(view.low), inside(view.high)), line(chart, xs, inside(view.share)));
    marks(chart, marked);
    const tells = (px) => {
      const i = nearest(xs, px);
      return { x: xs[i], lines: [`below ${axes.name(axis, view.edges[i])}`, percent(view.share[i]), `between ${percent(view.low[i])} and ${percent(view.high[i])}`] };
    };
    return { picture: chart.picture, tells };
  });
}

/** Counts from the largest down on log-log axes, with the band that holds them all. */
export function drawSorted(target, view) {
  const floor = 0.5; // a logarithm has no zero
  const above = (values) => values.map((value) => Math.max(value, floor));
  draw(target, (width) => {
    const highest = Math.max(...view.high, ...view.counts, 1);
    const chart = frame(width, height(width), { kind: "log", domain: [1, Math.max(view.ranks.at(-1), 2)], title: "rank, largest first" }, { kind: "log", domain: [floor, highest * 1.2], title: "count" });
    const xs = view.ranks.map(chart.x.at);
    chart.drawn.append(band(chart, xs, above(view.low), above(view.high), true), line(chart, xs, above(view.counts), true));
    if (view.raw) {
      chart.drawn.prepend(svg("g", { class: "raw", fill: "none", stroke: "var(--purple)", "stroke-opacity": 0.7 },
        above(view.raw).map((value, i) => svg("path", { class: "point", d: `M${xs[i]},${chart.y.at(value) - 3}l3,3l-3,3l-3,-3Z` }))));
    }
    const tells = (px) => {
      const i = nearest(xs, px);
      return { x: xs[i], lines: [`rank ${count(view.ranks[i])}`, count(view.counts[i]), `between ${interval(view.low[i], view.high[i])}`] };
    };
    return { picture: chart.picture, tells };
  });
}

const MARKS = ["M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", "M0,-5L5,0L0,5L-5,0Z", "M-4,-4H4V4H-4Z", "M0,-5L5,4H-5Z", "M-4,-4L4,4M-4,4L4,-4", "M-5,0H5M0,-5V5"];

/** Expected ± against the length of a range, a curve a strategy; the chosen one is thick. */
export function drawErrors(target, strategies, chosen, names) {
  draw(target, (width) => {
    const points = strategies.flatMap((strategy) => strategy.by_length);
    const errors = points.map((point) => point.error_95).filter((error) => error > 0);
    const [least, most] = [Math.min(...errors), Math.max(...errors)];
    const chart = frame(width, width < 560 ? 230 : 260, { kind: "log", domain: [1, Math.max(2, ...points.map((point) => point.cells))], title: "cells in the range" },
      { kind: "log", domain: [least / 1.3, most * 1.3], title: "± at 95 %" });
    strategies.forEach((strategy, i) => {
      const known = strategy.by_length.filter((point) => point.error_95 > 0);
      const xs = known.map((point) => chart.x.at(point.cells));
      const thick = strategy === chosen;
      const colour = `var(--${SERIES[i % SERIES.length]})`;
      chart.drawn.append(svg("g", { class: "trace" }, line(chart, xs, known.map((point) => point.error_95), false, { stroke: colour, "stroke-width": thick ? 4 : 1.5 }),
        known.map((point, j) => svg("path", { d: MARKS[i % MARKS.length], transform: `translate(${xs[j]} ${chart.y.at(point.error_95)})${thick ? " scale(1.25)" : ""}`, fill: i % MARKS.length > 3 ? "none" : colour, stroke: colour }))));
    });
    const tells = (px) => {
      const known = chosen.by_length;
      const xs = known.map((point) => chart.x.at(point.cells));
      const i = nearest(xs, px);
      return { x: xs[i], lines: [`${count(known[i].cells)} cells, ${names[strategies.indexOf(chosen)]}`, `±${count(known[i].error_95)}`] };
    };
    return { picture: chart.picture, tells };
  });
}

/** What was spent, step by step, under the limit. */
export function drawSpending(target, times, spent, limit, people = [], letter = "ε") {
  draw(target, (width) => {
    const at = times.map((time) => new Date(time).getTime());
    const span = Math.max(at.at(-1) - at[0], 60_000);
    const chart = frame(width, 220, { kind: "time", domain: [at.at(-1) - span, at.at(-1)] }, { kind: "linear", domain: [0, limit * 1.15], title: `${letter} spent` });
    const xs = at.map(chart.x.at);
    const y = chart.y.at(limit);
    chart.drawn.append(svg("line", { class: "limit", x1: chart.left, x2: chart.right, y1: y, y2: y, stroke: "var(--orange)", "stroke-width": 2, "stroke-dasharray": "6 4" }),
      svg("text", { x: chart.left + 4, y: y - 5, "font-size": 12, fill: "var(--orange-text)" }, "limit"),
      line(chart, xs, spent, true), spent.map((value, i) => svg("circle", { cx: xs[i], cy: chart.y.at(value), r: 3, fill: "var(--blue)" })));
    people.slice(0, 7).forEach((person, i) => { // in the order in which they first spent
      const colour = `var(--range-${i})`;
      const own = person.times.map((time) => chart.x.at(new Date(time).getTime()));
      chart.drawn.append(svg("g", { class: "person" }, line(chart, own, person.spent, true, { stroke: colour, "stroke-width": 1.5, "stroke-dasharray": "5 3" }),
        svg("text", { x: chart.right - 4, y: chart.y.at(person.spent.at(-1)) - 4, "text-anchor": "end", "font-size": 12, fill: colour }, person.name)));
    });
    const tells = (px) => {
      const i = nearest(xs, px);
      return { x: xs[i], lines: [new Date(at[i]).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" }), `${Number(spent[i].toPrecision(6))} spent`] };
    };
    return { picture: chart.picture, tells };
  });
}
