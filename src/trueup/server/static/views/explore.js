// Explore a release: zoom, drag out ranges, compare, take it away. The address reopens what is shown.

import * as axes from "../axis.js";
import { get, withParameters } from "../api.js";
import { announce, choice, el, fill, paused, trouble } from "../dom.js";
import { dragging } from "../drag.js";
import { day, time } from "../numbers.js";
import { drawHistogram, drawShares, drawSorted, plotly } from "../plot.js";
import { zoomButtons } from "../zoom.js";
import { howWords } from "./datasets.js";
import { downloads } from "./downloads.js";
import { numbers, words } from "./figures.js";
import { queries } from "./queries.js";
import { quantiles } from "./quantiles.js";
import { letter, MOST_RANGES, ranges } from "./ranges.js";
import { versionChoice } from "./versions.js";

export async function explore(page, { subject, query: opened, signal }) {
  plotly();
  const address = `/releases/${encodeURIComponent(subject)}`;
  const release = await get(address, signal);
  if (release.kind === "queries") {
    await queries(page, heading(release), address, release, signal);
    return;
  }
  if (release.kind === "grid") {
    const saved = downloads(address, release, { version: "unbiased" });
    fill(page, ...heading(release), el("p", {}, "Counts over several columns are not drawn here. Download them and open them with trueup."), saved.parts);
    saved.refresh();
    return;
  }
  const isSorted = release.kind === "sorted";
  const { axis } = release;
  const state = restored(opened, release);
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
    figure.setAttribute("aria-busy", "true");
    const shares = state.show === "cdf";
    const span = state.span ? { start: state.span[0], stop: state.span[1] } : { low: state.low, high: state.high };
    const points = isSorted ? 600 : innerWidth < 640 ? 80 : 200; // more bars cannot be told apart
    try {
      view = await get(withParameters(`${address}/${shares ? "cdf" : "view"}`, {
        ...span, points, version: state.version, level: state.level, raw: state.raw && !shares ? 1 : null,
      }), AbortSignal.any([loading.signal, signal]));
      fill(said);
      await draw();
      figure.removeAttribute("aria-busy");
    } catch (wrong) {
      if (wrong.name === "AbortError" || wrong.status === 401) return;
      figure.removeAttribute("aria-busy");
      fill(said, trouble(wrong.message, el("button", { type: "button", onclick: load }, "Try again")));
    }
  }

  async function draw() {
    if (!(state.show === "cdf" ? view?.share : view?.counts)) return; // its numbers are on their way
    const asTable = state.show === "table";
    figure.hidden = drags.hidden = asTable;
    fill(tabled, asTable ? numbers(release, view, state.level) : null);
    fill(note, ...words(release, view, state));
    picture.setAttribute("aria-label", `${note.textContent} Choose Table to read the numbers.`);
    if (!isSorted) zoom.refresh();
    remember();
    if (asTable) return;
    const marked = state.ranges.map((range, i) => ({ letter: letter(i), at: axes.places(axis, range) }));
    if (isSorted) await drawSorted(picture, view, state.level);
    else if (state.show === "cdf") await drawShares(picture, axis, view, marked, state.level);
    else await drawHistogram(picture, axis, view, marked);
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
    const query = kept.toString();
    history.replaceState(null, "", `#/release/${encodeURIComponent(subject)}${query ? `?${query}` : ""}`);
    saved.refresh();
  }

  const zoomed = paused(25, async () => {
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
      } else compared.add([view.edges[first], view.edges[last]]);
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
    ranges: found.filter((range) => range?.length === 2 && release.axis && range.every((end) => axes.isEnd(release.axis, end))).slice(0, MOST_RANGES),
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

function certainty(state, changed) {
  return choice("Certainty", { 0.9: "90 %", 0.95: "95 %", 0.99: "99 %" }, String(state.level), (value) => {
    state.level = Number(value);
    changed();
  });
}
