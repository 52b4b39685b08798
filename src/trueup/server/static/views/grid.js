// A grid of two columns: shades, margins, zoom, and boxes that are counted.

import * as axes from "../axis.js";
import { get, post, withParameters } from "../api.js";
import { pictureIn } from "../chart.js";
import { announce, blame, choice, el, fill, newest, paused, table, trouble } from "../dom.js";
import { draggingBox } from "../dragbox.js";
import { count, percent, to } from "../numbers.js";
import { drawGrid } from "../plot.js";
import { beside } from "./beside.js";
import { downloads } from "./downloads.js";
import { large, letter, MOST_RANGES, rangeColour, rangeInputs } from "./ranges.js";
import { firstVersion, versionChoice } from "./versions.js";

const MOST_ROWS = 200; // of the table of cells, largest first

export async function grid(page, heading, address, release, opened, link, signal) {
  const columns = release.columns.slice(0, 2);
  const state = restored(opened, release, columns);
  const picture = el("div", { class: "picture", role: "img" });
  const figure = el("div", { class: "figure" }, picture);
  const [tabled, boxed, said, answer, note] = [el("div", { class: "figures" }), el("div", { class: "ranges" }), el("div", {}), el("p", { class: "answer" }), el("p", { class: "hint note" })];
  const sizes = columns.map((column) => column.cells);
  const begun = newest(signal);
  let view = null;
  let did = false;

  const places = (side, edges, cells) => edges.map((edge, i) => axes.place(columns[side].axis, edge, cells[i]));
  const words = (box) => box.map((range, side) => `${columns[side].title} ${axes.between(columns[side].axis, ...(range ?? [null, null]))}`).join(", ");

  async function load() {
    figure.setAttribute("aria-busy", "true");
    const own = begun();
    try {
      const [[a, b], [c, d]] = state.spans;
      const asked = { version: state.version, level: state.level, points: innerWidth < 640 ? 32 : 64, first_start: a, first_stop: b, second_start: c, second_stop: d };
      const [found, counted] = await Promise.all([
        get(withParameters(`${address}/heatmap`, asked), own),
        state.boxes.length ? post(`${address}/boxes`, { boxes: [[null, null], ...state.boxes], level: state.level, version: state.version }, own) : null,
      ]);
      view = found;
      fill(said);
      draw(counted?.answers ?? []);
    } catch (wrong) {
      if (wrong.name === "AbortError") return; // a newer load shows more
      if (wrong.status !== 401) fill(said, trouble(wrong.message));
    }
    figure.removeAttribute("aria-busy");
  }

  function draw([total, ...boxes]) {
    fill(answer, ...large(boxes.length ? `${letter(boxes.length - 1)}: ${words(state.boxes.at(-1))}` : words([0, 1].map((side) => shownRange(side))), boxes.at(-1) ?? view.total, state));
    const shown = [0, 1].map((side) => `${columns[side].title} ${axes.between(columns[side].axis, ...shownRange(side))}`).join(", ");
    fill(note, `${shown}: ${count(view.counts.length)} × ${count(view.counts[0].length)} boxes. Stronger colour is more; hatched where the ${percent(state.level)} interval reaches 0. Bars are the sums along each side.`);
    picture.setAttribute("aria-label", `${note.textContent} Choose Table to read the numbers.`);
    figure.hidden = state.show === "table";
    fill(tabled, state.show === "table" ? cellTable() : null);
    fill(boxed, boxes.length ? boxTable(boxes, total) : null);
    remember();
    other?.load();
    if (figure.hidden) return;
    drawGrid(picture, columns, view, state.boxes.map((box, i) => ({ letter: letter(i), colour: rangeColour(i), at: box.map((range, side) => axes.places(columns[side].axis, range ?? [null, null])) })));
  }

  const shownRange = (side) => {
    const cells = view.cells[side];
    return [cells[0] === 0 ? null : view.edges[side][0], cells.at(-1) === sizes[side] ? null : view.edges[side].at(-1)];
  };

  function cellTable() {
    const rows = view.counts.flatMap((row, i) => row.map((value, j) => ({ value, i, j }))).sort((a, b) => b.value - a.value).slice(0, MOST_ROWS);
    const name = (side, at) => axes.between(columns[side].axis, view.edges[side][at], view.edges[side][at + 1]);
    return table(`Boxes as far as they are zoomed, largest first${view.counts.flat().length > MOST_ROWS ? `, the first ${MOST_ROWS}` : ""}`, [columns[0].title, columns[1].title, "#count", `#${percent(state.level)} interval`],
      rows.map(({ value, i, j }) => [name(0, i), name(1, j), count(value), to(view.low[i][j], view.high[i][j])]));
  }

  function boxTable(boxes, total) {
    const rows = boxes.map((box, i) => [el("span", {}, el("span", { class: `letter range-${i}` }, letter(i)), " ", el("span", { class: "range" }, words(state.boxes[i]))), el("strong", { class: "count" }, count(box.count)), to(box.low, box.high),
      total.count > 0 ? percent(Math.round(1000 * box.count / total.count) / 1000) : "–",
      el("button", { type: "button", class: "plain", "aria-label": `Remove box ${letter(i)}`, onclick: () => step(() => { state.boxes.splice(i, 1); load(); }) }, "Remove")]);
    return [table("Boxes that are compared", ["box", "#count", `#${percent(state.level)} interval`, "#share", "~remove"], rows), el("button", { type: "button", class: "plain", onclick: () => step(() => { state.boxes = []; load(); }) }, "Clear all")];
  }

  function remember() {
    const kept = new URLSearchParams();
    if (state.version !== firstVersion(release)) kept.set("version", state.version);
    if (state.show !== "heatmap") kept.set("show", state.show);
    if (state.level !== 0.95) kept.set("level", state.level);
    if (state.spans.some(([a, b], side) => a > 0 || b < sizes[side])) kept.set("cells", JSON.stringify(state.spans));
    if (state.other) kept.set("with", state.other);
    for (const box of state.boxes) kept.append("box", JSON.stringify(box));
    const query = kept.toString();
    const here = `${link}${query ? `?${query}` : ""}`;
    if (here !== location.hash) history[did ? "pushState" : "replaceState"](null, "", here);
    did = false;
    saved.refresh();
  }

  const step = (run) => {
    did = true;
    return run();
  };

  async function add(box) {
    if (state.boxes.length >= MOST_RANGES) {
      fill(said, trouble(`${MOST_RANGES} boxes are compared already; remove one first.`));
      return;
    }
    blame(typed);
    try {
      await post(`${address}/boxes`, { boxes: [box], level: state.level, version: state.version }, signal);
    } catch (wrong) {
      const pointer = wrong.pointer?.replace(/^\/boxes\/0/, "/box");
      fill(said, blame(typed, { message: wrong.message, pointer }) ? null : trouble(wrong.message));
      return;
    }
    fill(said);
    state.boxes = [...state.boxes, box];
    await step(load);
    announce(`Box ${answer.textContent}`);
  }

  draggingBox(figure, () => view && [0, 1].map((side) => places(side, view.edges[side], view.cells[side])), (first, second) => {
    if (state.drag === "zoom") step(() => { state.spans = [first, second].map((edges, side) => edges.map((edge) => view.cells[side][edge])); load(); });
    else add([first, second].map((edges, side) => edges.map((edge) => view.edges[side][edge])));
  });

  const zoomed = paused(25, () => step(load));
  const move = (change) => () => {
    state.spans = state.spans.map(([a, b], side) => {
      const [start, wide] = change(a, b - a, side);
      const broad = Math.max(1, Math.min(sizes[side], Math.round(wide)));
      const from = Math.max(0, Math.min(sizes[side] - broad, Math.round(start)));
      return [from, from + broad];
    });
    zoomed();
  };
  const button = (label, sign, change) => el("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick: move(change) }, sign);
  const along = (which, sign) => (start, wide, side) => [side === which ? start + (sign * wide) / 2 : start, wide];
  const zoom = el("div", { class: "zoom", role: "group", "aria-label": "Zoom" }, button("Zoom in", "+", (start, wide) => [start + wide / 4, wide / 2]), button("Zoom out", "−", (start, wide) => [start - wide / 2, 2 * wide]),
    button("Move left", "←", along(0, -1)), button("Move right", "→", along(0, 1)), button("Move up", "↑", along(1, 1)), button("Move down", "↓", along(1, -1)),
    el("button", { type: "button", "aria-label": "Whole grid", onclick: move((_, __, side) => [0, sizes[side]]) }, "All"));
  const inputs = columns.map((column, side) => rangeInputs(column.axis, column.title, `box/${side}`));
  const typed = el("form", { class: "count-form", onsubmit: (event) => { event.preventDefault(); add(inputs.map((one) => one.value())); } }, el("div", { class: "row level" }, inputs.flatMap((one) => one.parts), el("button", { class: "main" }, "Count")));
  const saved = downloads(address, release, state, () => pictureIn(picture));
  const parted = { name: "boxes", all: [null, null], chosen: () => state.boxes, words };
  const other = address.startsWith("/releases") ? beside(address, release, state, () => step(load), signal, parted) : null; // a public link opens one release
  const versions = versionChoice(release, state, () => step(load));
  const certainty = choice("Certainty", { 0.9: "90 %", 0.95: "95 %", 0.99: "99 %" }, String(state.level), (value) => step(() => { state.level = Number(value); load(); }));

  fill(page, ...heading,
    el("section", { class: "card first", "aria-label": "Picture" }, answer,
      el("div", { class: "toolbar", role: "group", "aria-label": "View" }, choice("Show", { heatmap: "Grid", table: "Table" }, state.show, (value) => step(() => { state.show = value; load(); })),
        versions.choice, certainty, choice("Dragging", { count: "counts", zoom: "zooms" }, state.drag, (value) => (state.drag = value)), zoom),
      said, figure, tabled, note, el("div", { class: "more" }, versions.words)),
    el("section", { class: "card", "aria-label": "Boxes" }, el("h2", {}, "Boxes"), el("p", { class: "hint" }, "Drag across the grid, or type; what is left empty is all of it."),
      typed, boxed),
    other?.parts ?? null,
    el("div", { class: "halves" }, marginLinks(release, columns), saved.parts));
  load();
}

/** Where the sums over one column are explored by themselves. */
function marginLinks(release, columns) {
  return el("section", { class: "card", "aria-label": "Margins" }, el("h2", {}, "Margins"), el("p", {}, "The sums over the other column are releases of their own:"),
    el("ul", {}, columns.map((column) => el("li", {}, el("a", { href: `#/release/${encodeURIComponent(release.id)}?column=${encodeURIComponent(column.column)}` }, `${column.title} alone`)))));
}

function restored(query, release, columns) {
  const level = Number(query.get("level"));
  const read = (text) => {
    try {
      return JSON.parse(text);
    } catch {
      return null; // a link that was cut: the rest of it still opens
    }
  };
  const spans = read(query.get("cells"));
  const whole = columns.map((column) => [0, column.cells]);
  const good = Array.isArray(spans) && spans.length === 2 && spans.every((span, i) => Array.isArray(span) && Number.isInteger(span[0]) && Number.isInteger(span[1]) && span[0] >= 0 && span[0] < span[1] && span[1] <= columns[i].cells);
  const isRange = (range, axis) => range === null || (range?.length === 2 && range.every((end) => axes.isEnd(axis, end)));
  return {
    version: release.versions.includes(query.get("version")) ? query.get("version") : firstVersion(release),
    show: query.get("show") === "table" ? "table" : "heatmap",
    level: [0.9, 0.95, 0.99].includes(level) ? level : 0.95,
    drag: "count",
    other: query.get("with"),
    spans: good ? spans : whole,
    boxes: query.getAll("box").map(read).filter((box) => box?.length === 2 && box.every((range, i) => isRange(range, columns[i].axis))).slice(0, MOST_RANGES),
  };
}
