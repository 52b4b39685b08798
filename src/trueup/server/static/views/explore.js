// Explore a release: zoom, drag out ranges, compare, take it away. The address reopens what is shown.

import * as axes from "../axis.js";
import { get, withParameters } from "../api.js";
import { announce, choice, el, fill, paused, table, trouble } from "../dom.js";
import { dragging } from "../drag.js";
import { count, day, percent, time, to } from "../numbers.js";
import { drawHistogram, drawShares, drawSorted, plotly } from "../plot.js";
import { howWords } from "./datasets.js";
import { downloads } from "./downloads.js";
import { queries } from "./queries.js";
import { quantiles } from "./quantiles.js";
import { MOST_RANGES, ranges } from "./ranges.js";

const VERSIONS = {
  unbiased: ["Unbiased", "Right on average: compute with these. Sums and differences stay right; a count may be negative or a fraction."],
  whole: ["Non-negative whole", "Non-negative whole numbers, made to be shown and for programs that need such counts. They still add up, but nearly empty cells come out a little high. The intervals are those of the unbiased counts."],
};

const SORTED_VERSIONS = {
  unbiased: ["As inferred", "The nearest sequence that is in order; counts may be fractions."],
  whole: ["Non-negative whole", "The same in whole numbers, still in order, to be shown and for programs that need such counts."],
};

export async function explore(page, { subject, query, signal }) {
  plotly();
  const address = `/releases/${encodeURIComponent(subject)}`;
  const release = await get(address, signal);
  if (release.kind === "queries") {
    await queries(page, heading(release), address, release, signal);
    return;
  }
  const isSorted = release.kind === "sorted";
  const { axis } = release;
  const state = restored(query, release);
  const picture = el("div", { class: "picture", role: "img" });
  const figure = el("div", { class: "figure" }, picture);
  const tabled = el("div", { class: "figures" });
  const note = el("p", { class: "quiet note" });
  const said = el("div", {});
  let view = null;
  let loading = new AbortController();

  async function load() {
    loading.abort();
    loading = new AbortController();
    const shares = state.show === "cdf";
    const span = state.span ? { start: state.span[0], stop: state.span[1] } : { low: state.low, high: state.high };
    const points = isSorted ? 600 : innerWidth < 640 ? 80 : 200; // more bars cannot be told apart
    try {
      view = await get(withParameters(`${address}/${shares ? "cdf" : "view"}`, {
        ...span, points, version: state.version, level: state.level, raw: state.raw && !shares ? 1 : null,
      }), AbortSignal.any([loading.signal, signal]));
      fill(said);
      await draw();
    } catch (wrong) {
      if (wrong.name === "AbortError" || wrong.status === 401) return;
      fill(said, trouble(wrong.message, el("button", { type: "button", onclick: load }, "Try again")));
    }
  }

  async function draw() {
    const asTable = state.show === "table";
    figure.hidden = drags.hidden = asTable;
    fill(tabled, asTable ? numbers(release, view, state.level) : null);
    fill(note, ...(isSorted ? sortedNote(release, view, state) : histogramNote(release, view, state)));
    picture.setAttribute("aria-label", `${note.textContent} Choose Table to read the numbers.`);
    if (!isSorted) zoom.refresh();
    remember();
    if (asTable) return;
    const marked = state.ranges.map((range, i) => ({ letter: letter(i), at: axes.places(axis, range) }));
    if (isSorted) await drawSorted(picture, view, state.level);
    else if (state.show === "cdf") await drawShares(picture, axis, view, marked, state.level);
    else await drawHistogram(picture, axis, view, marked);
    picture.dataset.cells = view.cells_per_point ?? "";
  }

  /** The address that reopens this view. */
  function remember() {
    const kept = new URLSearchParams();
    if (state.version !== "unbiased") kept.set("version", state.version);
    if (state.show !== "histogram") kept.set("show", state.show);
    if (state.raw) kept.set("raw", "1");
    if (state.level !== 0.95) kept.set("level", state.level);
    if (!isSorted && view.cells[0] > 0) kept.set("low", view.edges[0]);
    if (!isSorted && view.cells.at(-1) < release.cells) kept.set("high", view.edges.at(-1));
    for (const range of state.ranges) kept.append("range", JSON.stringify(range));
    const words = kept.toString();
    history.replaceState(null, "", `#/release/${encodeURIComponent(subject)}${words ? `?${words}` : ""}`);
    saved.refresh();
  }

  const zoomed = paused(60, async () => {
    await load();
    announce(note.textContent);
  });
  const zoom = zoomButtons(release.cells, () => state.span ?? [view.cells[0], view.cells.at(-1)], (start, stop) => {
    state.span = [start, stop];
    zoomed();
  });
  const drags = choice("Dragging", { count: "counts", zoom: "zooms" }, state.drag, (value) => (state.drag = value));
  const compared = isSorted ? null : ranges(address, axis, state, () => draw());
  const saved = downloads(address, release, state);
  const below = isSorted || axes.hasLabels(axis) ? null : quantiles(address, release, state);
  const changed = () => Promise.all([load(), compared?.load(), below?.load()]);
  const versions = release.versions.length > 1 ? versionChoice(release, state, changed) : null;

  if (!isSorted) {
    dragging(figure, () => view?.edges.map((edge, i) => axes.place(axis, edge, view.cells[i])), (first, last) => {
      if (state.drag === "zoom") {
        state.span = [view.cells[first], view.cells[last]];
        zoomed();
      } else if (state.ranges.length < MOST_RANGES) compared.add([view.edges[first], view.edges[last]]);
      else announce(`${MOST_RANGES} ranges are compared already; remove one first.`);
    });
  }

  fill(page, ...heading(release),
    el("div", { class: "controls card" },
      el("div", { class: "row" },
        versions?.choice ?? null,
        choice("Show", isSorted ? { histogram: "Picture", table: "Table" } : { histogram: "Histogram", cdf: "Share below", table: "Table" }, state.show, (value) => { state.show = value; load(); }),
        certainty(state, changed)),
      versions?.words ?? null,
      el("label", { class: "check" }, el("input", { type: "checkbox", checked: state.raw, onchange: (event) => { state.raw = event.target.checked; load(); } }),
        "See what consistency did: show the raw noisy answers too")),
    el("div", { class: compared ? "sides" : null },
      el("section", { class: "card", "aria-label": "Picture" },
        isSorted ? null : el("div", { class: "tools" }, zoom.parts, drags),
        said, figure, tabled, note),
      compared?.parts ?? null),
    el("div", { class: "halves" }, below?.parts ?? null, saved.parts));
  changed();
}

export const letter = (i) => "ABCDEFGH"[i];

/** What the address says was shown. */
function restored(query, release) {
  const level = Number(query.get("level"));
  const version = query.get("version");
  const found = query.getAll("range").map((text) => {
    try {
      return JSON.parse(text);
    } catch {
      return null; // a link that was cut: the rest of it still opens
    }
  });
  return {
    version: release.versions.includes(version) ? version : "unbiased",
    show: ["cdf", "table"].includes(query.get("show")) ? query.get("show") : "histogram",
    raw: query.get("raw") === "1",
    level: [0.9, 0.95, 0.99].includes(level) ? level : 0.95,
    drag: "count",
    low: query.get("low"),
    high: query.get("high"),
    span: null,
    ranges: found.filter((range) => Array.isArray(range) && range.length === 2).slice(0, MOST_RANGES),
  };
}

function heading(release) {
  const what = `${release.column ?? "Degrees"} of ${release.dataset}${release.kind === "sorted" ? ", sorted" : ""}`;
  return [
    el("p", { class: "path" }, el("a", { href: "#/" }, "Datasets"), " / ", release.dataset),
    el("h1", {}, what),
    el("p", { class: "quiet" }, `${release.caption} Asked as ${howWords(release)}. Measured on ${day(release.created)} at ${time(release.created)}.`),
  ];
}

function versionChoice(release, state, changed) {
  const meaning = release.kind === "sorted" ? SORTED_VERSIONS : VERSIONS;
  const words = el("p", { class: "hint" }, meaning[state.version][1]);
  const options = Object.fromEntries(release.versions.map((version) => [version, meaning[version][0]]));
  const parts = choice("Counts", options, state.version, (value) => {
    state.version = value;
    fill(words, meaning[value][1]);
    announce(meaning[value][1]);
    changed();
  });
  return { choice: parts, words };
}

function certainty(state, changed) {
  return choice("Certainty", { 0.9: "90 %", 0.95: "95 %", 0.99: "99 %" }, String(state.level), (value) => {
    state.level = Number(value);
    changed();
  });
}

/** Buttons that move over the axis, cell by whole cell. */
function zoomButtons(size, current, move) {
  const to = (start, width) => {
    const wide = Math.max(1, Math.min(size, Math.round(width)));
    const from = Math.max(0, Math.min(size - wide, Math.round(start)));
    move(from, from + wide);
  };
  const button = (label, sign, step) => el("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick() {
    const [start, stop] = current();
    if (this.getAttribute("aria-disabled") !== "true") step(start, stop - start);
  } }, sign);
  const closer = button("Zoom in", "+", (start, width) => to(start + width / 4, width / 2));
  const further = button("Zoom out", "−", (start, width) => to(start - width / 2, 2 * width));
  const left = button("Move left", "←", (start, width) => to(start - width / 2, width));
  const right = button("Move right", "→", (start, width) => to(start + width / 2, width));
  const whole = el("button", { type: "button", onclick: () => move(0, size) }, "Whole axis");
  return {
    parts: el("div", { class: "zoom", role: "group", "aria-label": "Zoom" }, closer, further, left, right, whole),
    refresh() {
      const [start, stop] = current();
      const all = start === 0 && stop === size;
      // Not "disabled": a button that is disabled while it has the focus loses it.
      for (const [one, off] of [[closer, stop - start <= 1], [further, all], [whole, all], [left, start === 0], [right, stop === size]]) one.setAttribute("aria-disabled", off);
    },
  };
}

function histogramNote({ axis, cells }, view, state) {
  const shown = `${axes.between(axis, view.edges[0], view.edges.at(-1))}: ${count(view.cells.at(-1) - view.cells[0])} of ${count(cells)} cells`;
  if (state.show === "cdf") return [`${shown}. The line is the share of the total below each value; the band holds each true share ${percent(state.level)} of the time.`];
  const step = view.cells_per_point;
  const bars = `${step === 1 ? "1 cell" : `${count(step)} cells`} a bar`;
  if (state.show === "table") return [`${shown}, ${bars}.`];
  const whose = state.version === "whole" ? " of the unbiased counts" : "";
  return [`${shown}, ${bars}. `, el("b", { class: "orange" }, "Orange"), `: ${percent(state.level)} intervals${whose}. `,
    ...(state.raw && !view.raw ? ["The cells themselves were not asked, so there are no raw answers to show."] : []),
    ...(view.raw ? [el("b", { class: "purple" }, "Purple diamonds"), ": the noisy answers as they were measured, added up. Making all answers agree turned them into the bars, which are nearer the truth."] : [])];
}

function sortedNote(release, view, state) {
  return [`${count(release.cells)} groups by their counts, largest first. The band holds the whole true sequence ${percent(state.level)} of the time. `,
    ...(view.raw ? [el("b", { class: "purple" }, "Purple diamonds"), ": the noisy answers as measured. The order that true counts must have removes most of their noise."] : [])];
}

/** What the picture shows, as a table. */
function numbers(release, view, level) {
  const raw = view.raw ? ["#as measured"] : [];
  const ends = `#${percent(level)} interval`;
  if (release.kind === "sorted") {
    return table("Counts, largest first", ["#rank", "#count", ends, ...raw],
      view.ranks.map((rank, i) => [count(rank), count(view.counts[i]), to(view.low[i], view.high[i]), ...(view.raw ? [count(view.raw[i])] : [])]));
  }
  return table(`Counts of ${release.column}, as far as they are zoomed`, [release.column, "#count", ends, ...raw],
    view.counts.map((value, i) => [axes.between(release.axis, view.edges[i], view.edges[i + 1]), count(value), to(view.low[i], view.high[i]), ...(view.raw ? [count(view.raw[i])] : [])]));
}
