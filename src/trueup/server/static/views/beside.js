// Two releases beside each other: the other one over the picture, and range by range with an honest difference.

import * as axes from "../axis.js";
import { get, post, withParameters } from "../api.js";
import { el, field, fill, newest, table, trouble } from "../dom.js";
import { above, count, day, percent, price, to } from "../numbers.js";
import { letter } from "./ranges.js";

/** The section, its numbers, and the other release's bars for the picture; `parted` are the parts of a grid that are compared. */
export function beside(address, release, state, changed, signal, parted = null) {
  const of = parted ?? { name: "ranges", all: [null, null], chosen: () => state.ranges, words: (range) => axes.between(release.axis, ...range) };
  const body = el("div", {});
  const select = el("select", { onchange: () => { state.other = select.value || null; changed(); } }, el("option", { value: "" }, "no other release"));
  const parts = el("section", { class: "card", "aria-label": "Compare" }, el("h2", {}, "Compare and combine"), field("With", select, parted ? "Grids of the same columns, of this dataset or another." : "Releases of the same column, of this dataset or another."), body);
  const begun = newest(signal);
  let others = null;

  async function offer() {
    if (others) return;
    const { releases } = await get("/releases", signal);
    others = releases.filter((one) => one.id !== release.id && one.kind === release.kind && one.column === (release.columns?.map((each) => each.column).join(" × ") || release.column));
    select.append(...others.toReversed().map((one) => el("option", { value: one.id }, `${one.dataset}, ${day(one.created)}, ${price(one)}${one.where ? `, where ${one.where}` : ""} (${one.id})`)));
    select.value = state.other ?? "";
    if (select.selectedIndex < 0) select.value = "";
    state.other = select.value || null;
  }

  async function load() {
    const own = begun();
    try {
      await offer();
      if (!state.other) {
        fill(body);
        return;
      }
      const asked = [of.all, ...of.chosen()];
      const { answers } = await post(`${address}/compare`, { other: state.other, [of.name]: asked, level: state.level }, own);
      const both = answers.some((one) => one.combined);
      const cell = ({ count: value, low, high }) => el("span", {}, el("strong", {}, count(value)), el("small", { class: "hint" }, to(low, high)));
      const change = (one) => el("span", { class: "change" }, el("strong", {}, above(one.first.count, one.second.count)), el("small", { class: "hint" }, `${to(one.difference.low, one.difference.high)}${one.difference.low <= 0 && one.difference.high >= 0 ? "; may be none" : ""}`));
      const rows = answers.map((one, i) => [i ? `${letter(i - 1)}: ${of.words(asked[i])}` : "all", cell(one.first), cell(one.second), change(one), ...(both ? [one.combined ? cell(one.combined) : "–"] : [])]);
      fill(body, table(`Unbiased counts, each with its ${percent(state.level)} interval`, [parted ? "box" : "range", "#this", "#the other", "#this less the other", ...(both ? ["#both as one"] : [])], rows),
        el("p", { class: "hint" }, both ? "The same question was asked twice: both as one is nearer the truth than either." : "Two different questions, or two tables: the difference counts the noise of both."));
    } catch (wrong) {
      if (wrong.name !== "AbortError") fill(body, trouble(wrong.message));
    }
  }

  /** The bars of the other release over what is shown; nothing without one. */
  async function bars(view) {
    await offer();
    if (!state.other || !view.counts) return null;
    const [low, high] = [view.edges[0], view.edges.at(-1)];
    try {
      return await get(withParameters(`/releases/${encodeURIComponent(state.other)}/view`, { low, high, points: view.counts.length, version: state.version, level: state.level }), signal);
    } catch (wrong) {
      if (wrong.name === "AbortError") throw wrong;
      return null; // its axis does not reach here: the numbers below say so
    }
  }

  return { parts, load, bars };
}
