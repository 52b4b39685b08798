// A map of the regions of an axis: stronger colour is more, hatched where unsure; click one, or outline several.

import * as axes from "../axis.js";
import { get, post, withParameters } from "../api.js";
import { announce, el, fill, newest, paused, trouble } from "../dom.js";
import { outlines, regionMap } from "../map.js";
import { count, percent, to } from "../numbers.js";
import { large, rangeColour } from "./ranges.js";

const AT_ONCE = 2000; // ranges in one request
const UNSURE = 0.5; // hatched where an interval reaches further than this share of its count

/** The map of a release; `add` counts a region as a range. */
export function mapped(address, { axis, column, margin }, state, { add, signal }) {
  const place = el("div", { class: "map-place" });
  const tip = el("div", { class: "tip", hidden: true });
  const said = el("p", { class: "answer outline", role: "status" });
  const toggle = el("button", { type: "button", "aria-pressed": "false", onclick: () => outline(toggle.getAttribute("aria-pressed") !== "true") }, "Draw an outline");
  const button = (label, sign, run) => el("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick: run }, sign);
  const parts = el("div", { class: "mapped" }, place, said);
  const summing = newest(signal);
  let map = null;
  let counts = new Map(); // by the label of each region
  let most = 1;
  let chosen = [];
  let fetched = "";

  const leaf = (path) => (axis.kind === "hierarchy" ? String(path.at(-1)) : String(path));
  const groups = axes.groups(axis, [], axis.levels?.length ?? 1);

  const wanted = () => JSON.stringify([state.version, state.level]);

  async function load() {
    const key = wanted();
    if (key !== fetched) {
      const rows = [];
      for (let i = 0; i < groups.length; i += AT_ONCE) {
        const asked = groups.slice(i, i + AT_ONCE).map((group) => group.range);
        rows.push(...(await post(`${address}/ranges`, { ranges: asked, level: state.level, version: state.version, column: margin }, signal)).answers);
      }
      if (key !== wanted()) return; // something else was asked for meanwhile, and is on its way
      counts = new Map(groups.map((group, i) => [leaf(axis.kind === "hierarchy" ? group.path : group.words), { ...rows[i], range: group.range, words: group.words }]));
      most = Math.max(...rows.map((row) => row.count), 1e-9);
      fetched = key;
    }
    if (!map) {
      const world = outlines(await get(withParameters(`${address}/regions`, { column }), signal));
      map = regionMap(world, told, { picked: (region) => add(counts.get(region.label).range), drawn: summed, hovered });
      fill(place, map.canvas, tip);
      new ResizeObserver(paused(60, fit)).observe(place);
    }
    map.canvas.setAttribute("aria-label", `Map of ${counts.size} regions; stronger colour is more, up to ${count(most)}; hatched where the interval is wide. Choose Bars to read the numbers.`);
    if (chosen.length) await summed(chosen);
    fit();
  }

  const fit = () => place.clientWidth && map.resize(place.clientWidth, place.clientWidth < 560 ? 320 : 400);

  function told(label) {
    const row = counts.get(label);
    const at = state.ranges.findIndex(([low, high]) => low === row.range[0] && high === row.range[1]);
    const isOutlined = chosen.some((region) => region.label === label);
    return { share: Math.sqrt(Math.max(0, row.count) / most), unsure: row.high - row.low > 2 * UNSURE * Math.max(0, row.count), colour: at >= 0 ? rangeColour(at) : isOutlined ? "orange" : null };
  }

  function hovered(region, point) {
    tip.hidden = !region;
    if (!region) return;
    const row = counts.get(region.label);
    fill(tip, el("div", {}, row.words), el("b", {}, count(row.count)), el("div", {}, `between ${to(row.low, row.high).replace(" to ", " and ")}`));
    const isLeft = point[0] > place.clientWidth / 2;
    Object.assign(tip.style, { left: isLeft ? "" : `${point[0] + 14}px`, right: isLeft ? `${place.clientWidth - point[0] + 14}px` : "", top: `${Math.max(0, point[1] - 30)}px` });
  }

  /** The sum of the regions inside an outline, with its own error. */
  async function summed(regions) {
    chosen = regions;
    if (!regions.length) {
      fill(said, "No region has its middle inside this outline.");
      return;
    }
    try {
      const ranges = regions.map((region) => counts.get(region.label).range);
      const found = await post(`${address}/sum`, { ranges, level: state.level, version: state.version, column: margin }, summing());
      fill(said, ...large(`in the ${count(regions.length)} ${regions.length === 1 ? "region" : "regions"} that you outlined`, found, state));
      announce(said.textContent);
      fit();
    } catch (wrong) {
      if (wrong.name !== "AbortError") fill(said, trouble(wrong.message));
    }
  }

  function outline(on) {
    toggle.setAttribute("aria-pressed", String(on));
    map.outlining(on);
    if (on) return;
    chosen = [];
    fill(said);
    fit();
  }

  const tools = [toggle, el("div", { class: "zoom", role: "group", "aria-label": "Zoom" }, button("Zoom in", "+", () => map.zoom(1.5)), button("Zoom out", "−", () => map.zoom(1 / 1.5)), el("button", { type: "button", "aria-label": "Whole map", onclick: () => map.whole() }, "All"))];
  const note = `Stronger colour is more. Hatched: the ${percent(state.level)} interval reaches further than half the count. Drag to move, click a region to count it, or draw an outline around several.`;
  return { tools, parts, note, load, canvas: () => map?.canvas ?? null, placeOf: (label) => map.placeOf(label) };
}
