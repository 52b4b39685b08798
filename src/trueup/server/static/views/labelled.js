// Counts by label: a bar a label, never merged; sorted, searched, and opened level by level.

import * as axes from "../axis.js";
import { post } from "../api.js";
import { announce, choice, el, field, fill, paused } from "../dom.js";
import { count, to } from "../numbers.js";
import { letter } from "./ranges.js";

const AT_ONCE = 2000; // ranges in one request
const SHOWN = 100; // rows; more are asked for
const SORTS = { count: "largest first", label: "A to Z", declared: "as declared" };

/** The rows of labels; `add` counts one as a range, `changed` keeps the address. */
export function labelled(address, { axis, column, margin }, state, { add, changed, signal }) {
  const body = el("div", {});
  const path = el("nav", { class: "crumbs", "aria-label": "Level" });
  const find = el("input", { type: "search", autocomplete: "off", value: state.find, oninput: paused(150, () => { state.find = find.value; shown = SHOWN; draw(); changed(); }) });
  const order = choice("Sort", SORTS, state.sort, (value) => { state.sort = value; draw(); changed(); });
  let rows = [];
  let fetched = "";
  let shown = SHOWN;

  const depth = () => Math.min(state.path.length + 1, axis.levels?.length ?? 1);

  const wanted = () => JSON.stringify([state.version, state.level, state.path]);

  async function load() {
    const key = wanted();
    if (key === fetched) {
      draw();
      return;
    }
    const found = axes.groups(axis, state.path, depth());
    const answers = [];
    for (let i = 0; i < found.length; i += AT_ONCE) {
      const asked = found.slice(i, i + AT_ONCE).map((group) => group.range);
      answers.push(...(await post(`${address}/ranges`, { ranges: asked, level: state.level, version: state.version, column: margin }, signal)).answers);
    }
    if (key !== wanted()) return; // something else was asked for meanwhile, and is on its way
    rows = found.map((group, i) => ({ ...group, ...answers[i], range: group.range }));
    fetched = key;
    draw();
  }

  function ordered() {
    const sought = state.find.trim().toLowerCase();
    const found = rows.filter((row) => row.words.toLowerCase().includes(sought));
    if (state.sort === "count") found.sort((a, b) => b.count - a.count);
    if (state.sort === "label") found.sort((a, b) => a.words.localeCompare(b.words, "en", { numeric: true }));
    return found;
  }

  function draw() {
    const found = ordered();
    const most = Math.max(...rows.map((row) => row.high), 1e-9);
    const part = (value) => `${Math.max(0, Math.min(100, (100 * value) / most))}%`;
    fill(path, crumbs());
    const head = el("tr", {}, [axis.levels?.[depth() - 1] ?? column, "", "count", ""].map((words, i) => el(words ? "th" : "td", { scope: words ? "col" : null, class: i === 2 ? "number" : null }, words)));
    const more = found.length > shown ? el("button", { type: "button", onclick: () => { shown += SHOWN; draw(); } }, `Show ${Math.min(SHOWN, found.length - shown)} more of ${count(found.length)}`) : null;
    fill(body, el("table", { class: "labels" }, el("caption", { class: "unseen" }, `Counts by ${column}`), el("thead", {}, head), el("tbody", {}, found.slice(0, shown).map((row) => line(row, part)))),
      found.length ? null : el("p", { class: "quiet" }, rows.length ? "No label has this in it." : "Nothing here."), more);
  }

  function line(row, part) {
    const at = state.ranges.findIndex(([low, high]) => low === row.range[0] && high === row.range[1]);
    const bar = el("div", { class: "bar" }, el("span", { class: "body" }), el("span", { class: "whisker" }));
    bar.children[0].style.width = part(row.count);
    Object.assign(bar.children[1].style, { left: part(row.low), right: `${100 - Number.parseFloat(part(row.high))}%` });
    const name = row.hasParts ? el("button", { type: "button", class: "plain", onclick: () => open(row.path) }, row.words) : row.words;
    return el("tr", {}, el("th", { scope: "row" }, at >= 0 ? el("span", { class: `letter range-${at}` }, letter(at)) : null, at >= 0 ? " " : null, name), el("td", { class: "bars" }, bar),
      el("td", { class: "number" }, count(row.count), el("small", { class: "hint" }, to(row.low, row.high))),
      el("td", {}, el("button", { type: "button", class: "icon plain", "aria-label": `Count ${row.words}`, title: "Count as a range", onclick: () => add(row.range) }, "+")));
  }

  async function open(to) {
    state.path = to;
    state.find = find.value = "";
    shown = SHOWN;
    await load();
    changed();
    announce(`${to.length ? to.join(", ") : "All"}: ${rows.length} labels`);
    path.querySelector("button, [aria-current]")?.focus();
  }

  function crumbs() {
    if (axis.kind !== "hierarchy") return [];
    const steps = ["All", ...state.path];
    return steps.flatMap((words, i) => [i ? " › " : null, i === steps.length - 1
      ? el("span", { "aria-current": "page", tabindex: "-1" }, words)
      : el("button", { type: "button", class: "plain", onclick: () => open(state.path.slice(0, i)) }, words)]);
  }

  return { tools: [field("Search", find), order], parts: [path, body], load, shown: () => ordered().slice(0, 60) };
}
