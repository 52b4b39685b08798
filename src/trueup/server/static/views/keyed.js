// Keys that nobody can list: those that are shown, largest first, and all others; or a tree of prefixes.

import { get, withParameters } from "../api.js";
import { announce, blame, choice, el, field, fill, newest, paused, table, trouble } from "../dom.js";
import { between, count, percent, to } from "../numbers.js";
import { labelBars } from "../plot.js";
import { downloads } from "./downloads.js";
import { publishing } from "./publishing.js";
import { large } from "./ranges.js";

const AT_ONCE = 25; // keys in a page
const TOP = 10;

const bar = (row, most) => {
  const part = (value) => `${Math.max(0, Math.min(100, (100 * value) / most))}%`;
  const made = el("div", { class: "bar" }, el("span", { class: "body" }), row.high === undefined ? null : el("span", { class: "whisker" }));
  made.children[0].style.width = part(row.count);
  if (row.high !== undefined) Object.assign(made.children[1].style, { left: part(row.low), right: `${100 - Number.parseFloat(part(row.high))}%` });
  return made;
};

const lines = (caption, head, rows) => el("table", { class: "labels" }, el("caption", { class: "unseen" }, caption),
  el("thead", {}, el("tr", {}, el("th", { scope: "col" }, head), el("td", {}), el("th", { scope: "col", class: "number" }, "count"))), el("tbody", {}, rows));

/** A list of keys: searched, sorted, a page at a time; one key looked up, shown or not. */
export async function keyList(page, heading, address, release, query, me, signal) {
  const state = { version: "whole", level: [0.9, 0.95, 0.99].includes(Number(query.get("level"))) ? Number(query.get("level")) : 0.95, find: query.get("find") ?? "", sort: query.get("sort") === "key" ? "key" : "count" };
  const [answer, body, said, words, found] = [el("p", { class: "answer" }), el("div", {}), el("div", {}), el("p", { class: "hint note" }), el("div", { role: "status" })];
  const begun = newest(signal);
  const highest = el("div", {});
  let rows = [];

  async function load(more = false) {
    const own = begun();
    try {
      const part = await get(withParameters(`${address}/keys`, { find: state.find.trim(), order: state.sort, level: state.level, start: more ? rows.length : 0, limit: AT_ONCE }), own);
      rows = more ? [...rows, ...part.keys] : part.keys;
      fill(said);
      draw(part);
      remember();
      if (!more) await rank(own);
    } catch (wrong) {
      if (wrong.name !== "AbortError" && wrong.status !== 401) fill(said, trouble(wrong.message));
    }
  }

  /** Which places the highest may have: said of all of them at once. */
  async function rank(own) {
    const top = await get(withParameters(`${address}/top`, { many: TOP, level: state.level }), own);
    const place = ({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`);
    fill(highest, top.keys.length ? table(`The ${Math.min(TOP, top.keys.length)} highest counts`, [release.column, "#count", `#interval of all, ${percent(state.level)} sure`, "#place"], top.keys.map((one) => [one.key || "(empty)", count(one.count), to(one.low, one.high), place(one)])) : null,
      el("p", { class: "hint" }, top.statement));
  }

  function draw(part) {
    if (part.sum) fill(answer, ...large(`in all, ${count(part.shown)} keys are shown`, part.sum, state));
    else fill(answer, el("strong", { class: "count" }, count(part.shown)), el("span", { class: "of" }, " keys are shown"));
    const most = Math.max(...rows.map((row) => row.high), part.others ?? 0, 1e-9);
    const others = !state.find.trim() && part.others !== null
      ? [el("tr", { class: "others" }, el("th", { scope: "row" }, el("em", {}, "all other keys")), el("td", { class: "bars" }, bar({ count: part.others }, most)), el("td", { class: "number" }, count(part.others)))] : [];
    fill(body, lines(`Keys of ${release.column}`, release.column, [...rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.key || "(empty)"), el("td", { class: "bars" }, bar(row, most)),
      el("td", { class: "number" }, count(row.count), el("small", { class: "hint" }, to(row.low, row.high))))), ...others]),
    rows.length ? null : el("p", { class: "quiet" }, part.shown ? "No key that is shown has this in it." : "No key is shown."),
    part.next === null ? null : el("button", { type: "button", onclick: () => load(true) }, `Show ${Math.min(AT_ONCE, part.total - rows.length)} more of ${count(part.total)}`));
    const number = part.number ? ` There are ${count(part.number.count)} different keys, between ${between(Math.max(0, part.number.low), part.number.high)}.` : "";
    const rest = part.others === null ? "" : ` All other keys together: ${count(part.others)}; with those shown they make the total exactly. They come out low on average, because keys whose noise was high are among those shown.`;
    fill(words, `${part.statement}${rest}${number}`);
    announce(`${part.total} keys`);
  }

  function remember() {
    const kept = new URLSearchParams();
    if (state.find.trim()) kept.set("find", state.find.trim());
    if (state.sort !== "count") kept.set("sort", state.sort);
    if (state.level !== 0.95) kept.set("level", state.level);
    const asked = kept.toString();
    history.replaceState(null, "", `${location.hash.split("?")[0]}${asked ? `?${asked}` : ""}`);
    saved.refresh();
  }

  const search = el("input", { type: "search", autocomplete: "off", value: state.find, oninput: paused(200, () => { state.find = search.value; load(); }) });
  const sort = choice("Sort", { count: "largest first", key: "by key" }, state.sort, (value) => { state.sort = value; load(); });
  const levels = choice("Certainty", { 0.9: "90 %", 0.95: "95 %", 0.99: "99 %" }, String(state.level), (value) => { state.level = Number(value); load(); });
  const wanted = el("input", { autocomplete: "off", "data-at": "key" });
  const lookUp = el("form", { class: "count-form", onsubmit: async (event) => {
    event.preventDefault();
    blame(lookUp);
    fill(found);
    try {
      const one = await get(withParameters(`${address}/key`, { key: wanted.value, level: state.level }), signal);
      fill(found, one.shown ? el("p", {}, el("strong", {}, `${one.key}: ${count(one.count)}`), `, between ${between(one.low, one.high)}, ${percent(state.level)} sure among keys that are shown.`)
        : el("p", {}, el("strong", {}, `${one.key} is not shown`), `: it has at most ${count(one.high)}, ${percent(state.level)} sure.`));
    } catch (wrong) {
      if (wrong.name !== "AbortError" && !blame(lookUp, wrong)) fill(found, trouble(wrong.message));
    }
  } }, el("div", { class: "row level" }, field("Key", wanted, "Shown or not."), el("button", { class: "main" }, "Look up")));
  const saved = downloads(address, release, state, () => labelBars(rows.slice(0, 60).map((row) => ({ ...row, words: row.key })), release.column));
  fill(page, ...heading,
    el("section", { class: "card first", "aria-label": "Keys" }, answer, el("div", { class: "toolbar", role: "group", "aria-label": "View" }, field("Search", search), sort, levels), said, body, words),
    el("section", { class: "card", "aria-label": "The highest counts" }, el("h2", {}, "Which are the highest?"), highest),
    el("section", { class: "card", "aria-label": "One key" }, el("h2", {}, "One key"), lookUp, found),
    saved.parts, me?.role === "owner" ? publishing(release) : null);
  await load();
}

/** A tree of prefixes, opened level by level: the parts of a prefix are its count, exactly. */
export async function prefixTree(page, heading, address, release, query, me, signal) {
  const [answer, body, said] = [el("p", { class: "answer" }), el("div", {}), el("div", {})];
  const path = el("nav", { class: "crumbs", "aria-label": "Level" });
  const steps = query.getAll("at");
  const saved = downloads(address, release, { version: "whole" }, () => labelBars(rows.slice(0, 60).map((row) => ({ ...row, low: row.count, high: row.count, words: row.prefix })), release.column));
  let rows = [];

  async function load(more = false) {
    const at = steps.at(-1) ?? "all";
    try {
      const part = await get(withParameters(`${address}/prefixes`, { at, start: more ? rows.length : 0, limit: AT_ONCE }), signal);
      rows = more ? [...rows, ...part.prefixes] : part.prefixes;
      fill(said);
      draw(part);
    } catch (wrong) {
      if (wrong.name !== "AbortError" && wrong.status !== 401) fill(said, trouble(wrong.message));
    }
  }

  function open(number, label = null) {
    steps.splice(number);
    if (label) steps.push(label);
    history.pushState(null, "", `${location.hash.split("?")[0]}${steps.length ? `?${new URLSearchParams(steps.map((step) => ["at", step]))}` : ""}`);
    saved.refresh();
    load();
  }

  function draw(part) {
    fill(answer, el("strong", { class: "count" }, count(part.count)), el("span", { class: "of" }, ` ${part.at === "all" ? "in all" : `in ${part.at}`}`));
    const most = Math.max(...rows.map((row) => row.count), 1e-9);
    const trail = ["all", ...steps];
    fill(path, trail.flatMap((words, i) => [i ? " › " : null, i === trail.length - 1 ? el("span", { "aria-current": "page" }, words) : el("button", { type: "button", class: "plain", onclick: () => open(i) }, words)]));
    fill(body, lines(`Parts of ${part.at}`, "prefix", rows.filter((row) => row.count || row.split).map((row) => el("tr", {},
      el("th", { scope: "row" }, row.split ? el("button", { type: "button", class: "plain", onclick: () => open(steps.length, row.prefix) }, row.prefix) : row.prefix),
      el("td", { class: "bars" }, bar(row, most)), el("td", { class: "number" }, count(row.count))))),
    part.next === null ? null : el("button", { type: "button", onclick: () => load(true) }, `Show more of ${count(part.total)}`));
    announce(`${part.at}: ${part.total} parts`);
  }

  fill(page, ...heading,
    el("section", { class: "card first", "aria-label": "Prefixes" }, answer, path, said, body,
      el("p", { class: "hint note" }, "Parts add up to the prefix above them exactly; choose one to open it. A prefix is split where its noisy count stands above the noise; what does not is in “others”. Counts are whole numbers, none below 0.")),
    saved.parts, me?.role === "owner" ? publishing(release) : null);
  saved.refresh();
  await load();
}
