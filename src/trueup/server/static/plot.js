// Pictures, in the look of the library's own: blue counts, orange intervals, words beside.

import * as axes from "./axis.js";
import { paused } from "./dom.js";
import { between as interval, count, percent } from "./numbers.js";

const MARKS = ["circle", "diamond", "square", "triangle-up", "x", "cross"];
export const MARK_SIGNS = ["●", "◆", "■", "▲", "✖", "✚"];
const DARK = matchMedia("(prefers-color-scheme: dark)");

let loaded = null;

/** plotly.js, fetched once. Views that will draw ask for it while they wait for their numbers. */
export function plotly() {
  loaded ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/static/plotly.min.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      loaded = null;
      script.remove();
      reject(new Error("The drawing library did not load. The table shows the same numbers."));
    };
    document.head.append(script);
  });
  loaded.catch(() => {}); // told where something is drawn
  return loaded;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const SERIES = ["blue", "orange", "green", "purple", "grey", "olive"];

const drawn = new Map(); // each picture on screen and how it is made: its colours and its width may change

function redraw() {
  for (const [target, make] of drawn) {
    if (target.isConnected) draw(target, make);
    else drawn.delete(target);
  }
}

DARK.addEventListener("change", redraw);
addEventListener("resize", paused(100, redraw));

async function draw(target, make) {
  const Plotly = await plotly();
  drawn.set(target, make);
  if (!target.clientWidth) return; // hidden behind its table
  const { traces, layout } = make();
  const whole = { ...frame(target), ...layout };
  target.style.minHeight = `${whole.height}px`;
  await Plotly.react(target, traces, whole, { displayModeBar: false, doubleClick: false });
}

function frame(target) {
  const narrow = target.clientWidth < 560;
  return {
    font: { family: "system-ui, sans-serif", size: narrow ? 12 : 14, color: colour("text") },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: narrow ? { l: 56, r: 10, t: 14, b: 46 } : { l: 76, r: 16, t: 14, b: 52 },
    width: target.clientWidth,
    height: narrow ? 300 : 400,
    showlegend: false,
    dragmode: false,
    bargap: 0,
    hoverlabel: { align: "left", bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("text") } },
  };
}

const axisLook = (title, more = {}) => ({
  title: { text: title, standoff: 8 },
  gridcolor: colour("line"),
  linecolor: colour("line"),
  zerolinecolor: colour("grey"),
  fixedrange: true,
  ...more,
});

/** The axis along the bottom: numbers, dates, or labels under the middles of their bars. */
function along(axis, view, width) {
  const at = view.edges.map((edge, i) => axes.place(axis, edge, view.cells[i]));
  const range = [at[0], at.at(-1)];
  if (axes.isScaled(axis)) return { at, look: axisLook(escaped(axis.name), { range, tickformat: Math.max(...range.map(Math.abs)) >= 10_000 && range[1] - range[0] > 10 ? "," : "" }) };
  if (axes.isDates(axis)) return { at, look: axisLook(escaped(axis.name), { range, type: "date" }) };
  const step = Math.ceil((at.length - 1) / 12);
  const shown = at.slice(0, -1).map((_, i) => i).filter((i) => i % step === 0);
  const words = (i) => (step > 1 ? axes.name(axis, view.edges[i]) : axes.between(axis, view.edges[i], view.edges[i + 1]));
  return {
    at,
    look: axisLook(escaped(axis.name), {
      range,
      automargin: true,
      tickangle: shown.length * Math.max(...shown.map((i) => shortened(words(i)).length)) * 8 > width - 90 ? -40 : 0,
      tickvals: shown.map((i) => (at[i] + at[i + 1]) / 2),
      ticktext: shown.map((i) => escaped(shortened(words(i)))),
    }),
  };
}

const shortened = (words) => (words.length > 18 ? `${words.slice(0, 17)}…` : words);
const escaped = (words) => words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Bars with their intervals; with raw answers, diamonds where the noise had put them. */
export function drawHistogram(target, axis, view, marked) {
  return draw(target, () => {
    const { at, look } = along(axis, view, target.clientWidth);
    const middle = view.counts.map((_, i) => (at[i] + at[i + 1]) / 2);
    const high = (values) => values.map((value, i) => value * view.times[i]); // equal density, equal height
    const isWide = target.clientWidth / view.counts.length > 10; // room for gaps and caps
    const words = view.counts.map((value, i) => {
      const raw = view.raw ? `<br>as measured: ${count(view.raw[i])}` : "";
      return `${escaped(axes.between(axis, view.edges[i], view.edges[i + 1]))}<br><b>${count(value)}</b>, between ${interval(view.low[i], view.high[i])}${raw}`;
    });
    const traces = [{
      type: "bar",
      x: middle,
      y: high(view.counts),
      width: view.counts.map((_, i) => at[i + 1] - at[i]),
      text: words,
      textposition: "none",
      hovertemplate: "%{text}<extra></extra>",
      marker: { color: colour("blue"), line: { width: isWide ? 1 : 0, color: colour("card") } },
      error_y: {
        array: high(view.counts.map((value, i) => Math.max(view.high[i] - value, 0))),
        arrayminus: high(view.counts.map((value, i) => Math.max(value - view.low[i], 0))),
        color: colour("orange"),
        thickness: isWide ? 2 : 1,
        width: isWide ? 4 : 0,
      },
    }];
    if (view.raw) {
      traces.push({
        type: "scatter", mode: "markers", x: middle, y: high(view.raw), hoverinfo: "skip",
        marker: { symbol: "diamond-open", color: colour("purple"), size: 6, line: { width: 1.5 } },
      });
    }
    return { traces, layout: { xaxis: look, yaxis: axisLook(escaped(view.height), { tickformat: ",", automargin: true }), ...marks(marked, look.range) } };
  });
}

/** The share of the total below each value, with its band. */
export function drawShares(target, axis, view, marked, level) {
  return draw(target, () => {
    const { at, look } = along(axis, view, target.clientWidth);
    const words = view.share.map((share, i) => `below ${escaped(axes.name(axis, view.edges[i]))}: <b>${percent(share)}</b><br>between ${percent(view.low[i])} and ${percent(view.high[i])}`);
    const traces = [...band(at, view.low, view.high, level), {
      type: "scatter", mode: "lines", x: at, y: view.share, text: words, hovertemplate: "%{text}<extra></extra>",
      line: { color: colour("blue"), width: 2 },
    }];
    return { traces, layout: { xaxis: look, yaxis: axisLook("share below", { range: [0, 1.02], tickformat: ".0%" }), ...marks(marked, look.range) } };
  });
}

/** Counts from the largest down on log-log axes, with the band that holds them all. */
export function drawSorted(target, view, level) {
  const floor = 0.5; // a logarithm has no zero
  const above = (values) => values.map((value) => Math.max(value, floor));
  return draw(target, () => {
    const traces = [...band(view.ranks, above(view.low), above(view.high), level), {
      type: "scatter", mode: "lines", x: view.ranks, y: above(view.counts), line: { color: colour("blue"), width: 2, shape: "hv" },
      text: view.counts.map((value, i) => `rank ${count(view.ranks[i])}: <b>${count(value)}</b><br>between ${interval(view.low[i], view.high[i])}`),
      hovertemplate: "%{text}<extra></extra>",
    }];
    if (view.raw) {
      traces.unshift({
        type: "scatter", mode: "markers", x: view.ranks, y: above(view.raw), hoverinfo: "skip",
        marker: { symbol: "diamond-open", color: colour("purple"), size: 4, opacity: 0.7 },
      });
    }
    const logarithmic = { type: "log", tickformat: ",", dtick: 1 };
    return { traces, layout: { xaxis: axisLook("rank, largest first", logarithmic), yaxis: axisLook("count", { ...logarithmic, automargin: true }) } };
  });
}

/** Expected ± against the length of a range, a curve a strategy; the chosen one is thick. */
export function drawErrors(target, strategies, chosen, names) {
  return draw(target, () => {
    const traces = strategies.map((strategy, i) => ({
      type: "scatter",
      mode: "lines+markers",
      x: strategy.by_length.map((point) => point.cells),
      y: strategy.by_length.map((point) => point.error_95),
      text: strategy.by_length.map((point) => `${escaped(names[i])}<br>${count(point.cells)} cells: <b>±${count(point.error_95)}</b>`),
      hovertemplate: "%{text}<extra></extra>",
      line: { color: colour(SERIES[i % SERIES.length]), width: strategy === chosen ? 4 : 1.5 },
      marker: { symbol: MARKS[i % MARKS.length], size: strategy === chosen ? 9 : 6 },
    }));
    const logarithmic = { type: "log", tickformat: ",", dtick: 1 };
    return {
      traces,
      layout: {
        height: target.clientWidth < 560 ? 240 : 300,
        xaxis: axisLook("cells in the range", logarithmic),
        yaxis: axisLook("± at 95 %", { ...logarithmic, dtick: "D2", automargin: true }),
      },
    };
  });
}

/** What was spent, step by step, under the limit. */
export function drawSpending(target, times, spent, limit) {
  return draw(target, () => ({
    traces: [
      { type: "scatter", mode: "lines+markers", x: times, y: spent, line: { shape: "hv", color: colour("blue"), width: 2 }, hovertemplate: "%{x|%d %b %Y, %H:%M}: <b>%{y:.4~g}</b> spent<extra></extra>" },
    ],
    layout: {
      height: 260,
      xaxis: axisLook("", { type: "date", nticks: target.clientWidth < 560 ? 3 : 8, tickangle: 0 }),
      yaxis: axisLook("ε spent", { range: [0, limit * 1.1], automargin: true }),
      shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: limit, y1: limit, line: { color: colour("orange"), width: 2, dash: "dash" } }],
      annotations: [{ xref: "paper", x: 0, xanchor: "left", y: limit, yanchor: "bottom", text: "limit", showarrow: false, font: { color: colour("orange-text") } }],
    },
  }));
}

function band(x, low, high, level) {
  const quiet = { type: "scatter", mode: "lines", x, line: { width: 0 }, hoverinfo: "skip" };
  return [{ ...quiet, y: low }, { ...quiet, y: high, fill: "tonexty", fillcolor: colour("band"), name: `${percent(level)} band` }];
}

/** The ranges that are being compared, shaded and lettered. */
function marks(marked, [first, last]) {
  const shapes = [];
  const annotations = [];
  for (const { letter, at } of marked) {
    const [from, to] = [Math.max(at[0] ?? first, first), Math.min(at[1] ?? last, last)];
    if (from >= to) continue;
    shapes.push({ type: "rect", layer: "below", xref: "x", yref: "paper", x0: from, x1: to, y0: 0, y1: 1, fillcolor: colour("mark"), line: { width: 1, color: colour("grey"), dash: "dot" } });
    annotations.push({ xref: "x", yref: "paper", x: (from + to) / 2, y: 1, yanchor: "top", text: `<b>${letter}</b>`, showarrow: false, font: { color: colour("text") }, bgcolor: colour("card"), borderpad: 2 });
  }
  return { shapes, annotations };
}
