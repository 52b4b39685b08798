// Explore a release: its answer first; then zoom, drag out ranges, compare, take it elsewhere.
// The address reopens what is shown, and Back undoes.

import * as axes from "../axis.js";
import { get, withParameters } from "../api.js";
import { announce, choice, el, fill, newest, ofSample, paused, trouble } from "../dom.js";
import { dragging } from "../drag.js";
import { day, price, time } from "../numbers.js";
import { drawHistogram, drawShares, drawSorted, labelBars } from "../plot.js";
import { pictureIn } from "../chart.js";
import { zoomButtons } from "../zoom.js";
import { howWords } from "./datasets.js";
import { beside } from "./beside.js";
import { downloads } from "./downloads.js";
import { elsewhere } from "./elsewhere.js";
import { numbers, words } from "./figures.js";
import { grid } from "./grid.js";
import { keyList, prefixTree } from "./keyed.js";
import { labelled } from "./labelled.js";
import { mapped } from "./mapped.js";
import { publishing } from "./publishing.js";
import { queries } from "./queries.js";
import { quantiles } from "./quantiles.js";
import { large, letter, MOST_RANGES, rangeColour, ranges } from "./ranges.js";
import { firstVersion, isPooled, versionChoice } from "./versions.js";

export async function explore(page, { view: place = "release", subject, query: opened, me, signal }) {
  const address = `/${place === "public" ? "public" : "releases"}/${encodeURIComponent(subject)}`;
  const release = await described(address, signal);
  if (release.kind === "keys" || release.kind === "prefixes") {
    await (release.kind === "keys" ? keyList : prefixTree)(page, heading(release, me), address, release, opened, me, signal);
    return;
  }
  if (release.kind === "queries") {
    await queries(page, heading(release, me), address, release, signal);
    return;
  }
  const own = opened.get("column"); // of a grid: the margin of one column
  const margin = release.kind === "grid" && release.columns.find((column) => column.column === own);
  if (release.kind === "grid" && !margin) {
    await grid(page, heading(release, me), address, release, opened, `#/${place}/${encodeURIComponent(subject)}`, signal);
    return;
  }
  if (margin) Object.assign(release, { axis: margin.axis, cells: margin.cells, about: margin, title: margin.title, column: margin.column, margin: margin.column });
  const { axis } = release;
  const isSorted = release.kind === "sorted";
  const hasLabels = !isSorted && axes.hasLabels(axis);
  const state = restored(opened, release);
  const picture = el("div", { class: "picture", role: "img" });
  const figure = el("div", { class: "figure" }, picture);
  const tabled = el("div", { class: "figures" });
  const note = el("p", { class: "hint note" });
  const said = el("div", {});
  const largest = el("p", { class: "answer" });
  let view = null;
  let over = null; // the bars of a release that this one is compared with
  const begun = newest(signal);
  let did = false; // whether what is shown next is a step that Back undoes

  async function load() {
    const own = begun();
    figure.setAttribute("aria-busy", "true");
    try {
      if (hasLabels) await (state.show === "map" ? map : bars).load();
      else await fetchView(own);
      fill(said);
      draw();
    } catch (wrong) {
      if (wrong.name === "AbortError" || wrong.status === 401) return;
      fill(said, trouble(wrong.message, el("button", { type: "button", onclick: load }, "Try again")));
    }
    figure.removeAttribute("aria-busy");
  }

  async function fetchView(own) {
    const shares = state.show === "cdf";
    const span = state.span ? { start: state.span[0], stop: state.span[1] } : { low: state.low, high: state.high };
    const points = isSorted ? 600 : innerWidth < 640 ? 80 : 200; // more bars cannot be told apart
    view = await get(withParameters(`${address}/${shares ? "cdf" : "view"}`, {
      ...span, points, column: release.margin, version: state.version, level: state.level, raw: state.raw && !shares && !margin ? 1 : null,
    }), own);
    over = (await other?.bars(view)) ?? null;
  }

  function draw() {
    remember();
    if (hasLabels) {
      const isMap = state.show === "map";
      for (const part of [barsPlace, ...bars.tools]) part.hidden = isMap;
      for (const part of map ? [map.parts, ...map.tools] : []) part.hidden = !isMap;
      fill(note, isMap ? map.note : "");
      (isMap ? map : bars).load();
      return;
    }
    if (!(state.show === "cdf" ? view?.share : view?.counts)) return; // its numbers are on their way
    const asTable = state.show === "table";
    figure.hidden = asTable;
    fill(tabled, asTable ? numbers(release, view, state.level) : null);
    fill(note, ...words(release, view, state));
    picture.setAttribute("aria-label", `${note.textContent} Choose Table to read the numbers.`);
    if (isSorted) fill(largest, ...large("in the largest group", { count: view.counts[0], low: view.low[0], high: view.high[0] }, { ...state, version: "whole" }));
    else zoom.refresh();
    if (asTable) return;
    const marked = state.ranges.map((range, i) => ({ letter: letter(i), colour: rangeColour(i), at: axes.places(axis, range) }));
    const along = release.about?.units ? `${release.title} (${release.about.units})` : release.title;
    if (isSorted) drawSorted(picture, view);
    else if (state.show === "cdf") drawShares(picture, axis, view, marked, along);
    else drawHistogram(picture, axis, view, marked, along, over);
  }

  /** The address that reopens this view; a step of its own if something was done. */
  function remember() {
    const kept = new URLSearchParams();
    if (margin) kept.set("column", own);
    if (state.version !== firstVersion(release)) kept.set("version", state.version);
    if (state.show !== "histogram") kept.set("show", state.show);
    if (state.raw) kept.set("raw", "1");
    if (state.level !== 0.95) kept.set("level", state.level);
    if (view?.cells?.[0] > 0) kept.set("low", view.edges[0]);
    if (view?.cells?.at(-1) < release.cells) kept.set("high", view.edges.at(-1));
    if (state.sort !== "count") kept.set("sort", state.sort);
    if (state.find) kept.set("find", state.find);
    if (state.path.length) kept.set("path", JSON.stringify(state.path));
    if (state.other) kept.set("with", state.other);
    for (const range of state.ranges) kept.append("range", JSON.stringify(range));
    const query = kept.toString();
    const link = `#/${place}/${encodeURIComponent(subject)}${query ? `?${query}` : ""}`;
    if (link !== location.hash) history[did ? "pushState" : "replaceState"](null, "", link);
    did = false;
    saved.refresh();
    code?.refresh();
  }

  /** What somebody did: shown, and undone by Back. */
  const step = (show) => (...given) => {
    did = true;
    return show(...given);
  };

  const zoomed = paused(25, step(async () => {
    await load();
    announce(note.textContent);
  }));
  const zoom = isSorted || hasLabels ? null : zoomButtons(release.cells, () => state.span ?? [view.cells[0], view.cells.at(-1)], (start, stop) => {
    state.span = [start, stop];
    zoomed();
  });
  const drags = choice("Dragging", { count: "counts", zoom: "zooms" }, state.drag, (value) => (state.drag = value));
  const compared = isSorted ? null : ranges(address, release, state, step(() => { draw(); other?.load(); }), signal);
  const bars = hasLabels ? labelled(address, release, state, { add: (range) => compared.add(range), changed: step(remember), signal }) : null;
  const map = hasLabels && release.about?.regions ? mapped(address, release, state, { add: (range) => compared.add(range), signal }) : null;
  const barsPlace = hasLabels ? el("div", {}, bars.parts) : null;
  const saved = downloads(address, release, state, () => (hasLabels ? labelBars(bars.shown(), release.title) : pictureIn(picture)));
  const below = isSorted || hasLabels ? null : quantiles(address, release, state, signal);
  const code = isSorted ? null : elsewhere(address, release, state, !me);
  const other = isSorted || margin || !me ? null : beside(address, release, state, step(() => Promise.all([load(), other.load()])), signal);
  const all = () => Promise.all([load(), compared?.load(), below?.load(), other?.load()]);
  const versions = release.versions.length > 1 ? versionChoice(release, state, step(all)) : null;
  const ways = isSorted ? { histogram: "Picture", table: "Table" } : { histogram: "Histogram", cdf: "Share below", table: "Table" };

  if (!isSorted && !hasLabels) {
    dragging(figure, () => view?.edges.map((edge, i) => axes.place(axis, edge, view.cells[i])), (first, last) => {
      if (state.drag === "zoom") {
        state.span = [view.cells[first], view.cells[last]];
        zoomed();
      } else compared.add([view.edges[first], view.edges[last]]);
    });
  }

  const raw = el("label", { class: "check" }, el("input", { type: "checkbox", checked: state.raw, onchange: (event) => { state.raw = event.target.checked; step(load)(); } }),
    "See what consistency did: show the raw noisy answers too");
  fill(page, ...heading(release, me),
    el("section", { class: "card first", "aria-label": "Picture" },
      compared?.answer ?? largest,
      el("div", { class: "toolbar", role: "group", "aria-label": "View" },
        map ? choice("Show", { histogram: "Bars", map: "Map" }, state.show, (value) => { state.show = value; step(load)(); }) : null,
        hasLabels ? [...bars.tools, ...(map?.tools ?? [])] : choice("Show", ways, state.show, (value) => { state.show = value; step(load)(); }),
        versions?.choice ?? null, certainty(state, step(all)), zoom ? drags : null, zoom?.parts ?? null),
      said, hasLabels ? barsPlace : figure, map?.parts ?? null, tabled, note,
      el("div", { class: "more" }, versions?.words ?? null, hasLabels || margin || isPooled(release) || release.folder_bytes || (isSorted && !release.fractions) ? null : raw)),
    compared?.parts ?? null, other?.parts ?? null,
    el("div", { class: "halves" }, below?.parts ?? null, saved.parts), code?.parts ?? null, me?.role === "owner" ? publishing(release) : null);
  all();
}

/** A release, with what its owner calls its dataset and its axis. */
async function described(address, signal) {
  const release = await get(address, signal);
  const about = release.columns?.length === 1 ? release.columns[0] : null;
  return { ...release, about, title: about?.title || release.column };
}

/** What the address says was shown. */
function restored(query, release) {
  const level = Number(query.get("level"));
  const version = query.get("version");
  const read = (text) => {
    try {
      return JSON.parse(text);
    } catch {
      return null; // a link that was cut: the rest of it still opens
    }
  };
  const path = read(query.get("path"));
  const found = query.getAll("range").map(read);
  return {
    version: release.versions.includes(version) ? version : firstVersion(release),
    show: shows(release).includes(query.get("show")) ? query.get("show") : "histogram",
    raw: query.get("raw") === "1",
    level: [0.9, 0.95, 0.99].includes(level) ? level : 0.95,
    drag: "count",
    other: query.get("with"),
    low: query.get("low"),
    high: query.get("high"),
    span: null,
    sort: ["label", "declared"].includes(query.get("sort")) ? query.get("sort") : "count",
    find: query.get("find") ?? "",
    path: Array.isArray(path) && release.axis?.kind === "hierarchy" && path.every((part) => typeof part === "string") ? path : [],
    ranges: found.filter((range) => range?.length === 2 && release.axis && range.every((end) => axes.isEnd(release.axis, end))).slice(0, MOST_RANGES),
  };
}

/** The ways beside the first in which a release can be shown. */
function shows({ axis, about }) {
  if (!axis || !axes.hasLabels(axis)) return ["cdf", "table"];
  return about?.regions ? ["map"] : []; // labels have no order, and are a table already
}

function heading(release, me) {
  const of = release.dataset_title || release.dataset;
  const what = `${release.title ?? "Degrees"} of ${of}${release.kind === "sorted" ? ", sorted" : ""}${release.period ? `, ${release.period}` : ""}`;
  return [
    me ? el("p", { class: "path" }, el("a", { href: "#/" }, "Datasets"), " / ", of, release.series ? [" / ", el("a", { href: `#/series/${encodeURIComponent(release.series)}?first=${release.period}&through=${release.period}` }, release.series)] : []) : null,
    el("div", { class: "beside" }, el("h1", {}, what),
      el("details", { class: "about" }, el("summary", {}, `${price(release)}, ${day(release.created)}`),
        release.about?.description ? el("p", {}, release.about.description) : null,
        el("p", { class: "quiet" }, `${release.caption} Asked as ${howWords(release)}. Measured on ${day(release.created)} at ${time(release.created)}.`))),
    ofSample(release.sample),
  ];
}

function certainty(state, changed) {
  const options = { 0.9: "90 %", 0.95: "95 %", 0.99: "99 %" };
  return choice("Certainty", options, String(state.level), (value) => {
    state.level = Number(value);
    changed();
  });
}
