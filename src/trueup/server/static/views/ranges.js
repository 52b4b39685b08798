// Ranges: each with its count, interval and share, and how it differs from the first.

import * as axes from "../axis.js";
import { post } from "../api.js";
import { announce, blame, el, field, fill, newest, stacking, trouble } from "../dom.js";
import { above, count, half, percent, to } from "../numbers.js";

const LETTERS = "ABCDEFGH";
export const MOST_RANGES = LETTERS.length;
export const letter = (i) => LETTERS[i];
export const rangeColour = (i) => `range-${i}`;
const MOST_CHOICES = 1000; // labels in a list; more are typed

/** The range fields, the table of ranges, and the one large number: of the last range, or of all. */
export function ranges(address, { axis, title, margin: column }, state, changed, signal) {
  const tabled = el("div", { class: "ranges" });
  const answer = el("p", { class: "answer" });
  const said = el("div", {});
  const inputs = rangeInputs(axis);
  const begun = newest(signal);
  let counted = []; // the ranges that were answered last

  async function load() {
    try {
      await fetchAll();
    } catch (wrong) {
      if (wrong.name !== "AbortError") fill(said, trouble(wrong.message));
    }
  }

  async function fetchAll() {
    const { version, level } = state;
    const asked = state.ranges;
    const own = begun();
    const [found, parts, ...differences] = await Promise.all([
      post(`${address}/ranges`, { ranges: [[null, null], ...asked], level, version, column }, own),
      asked.length ? post(`${address}/shares`, { ranges: asked, level, version, column }, own) : null,
      ...asked.slice(1).map((range) => post(`${address}/difference`, { first: range, second: asked[0], level, version, column }, own)),
    ]);
    const [total, ...answers] = found.answers;
    counted = asked;
    fill(answer, ...large(asked.length ? `${letter(asked.length - 1)}: ${axes.between(axis, ...asked.at(-1))}` : `all of ${title}`, answers.at(-1) ?? total, state));
    fill(tabled, answers.length ? table(answers, differences, parts.answers) : null);
  }

  function table(answers, differences, shares) {
    const heads = ["range", "count", `${percent(state.level)} interval`, "share", ...(answers.length > 1 ? ["less A"] : [])];
    return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Ranges that are compared" },
      stacking(el("table", {}, el("caption", { class: "unseen" }, "Ranges that are compared"),
        el("thead", {}, el("tr", {}, heads.map((words, i) => el("th", { scope: "col", class: i ? "number" : null }, words)),
          el("td", {}, el("button", { type: "button", class: "plain", onclick: () => removed() }, "Clear all")))),
        el("tbody", {}, answers.map((answer, i) => row(i, answer, shares[i], answers, differences[i - 1]))))));
  }

  function row(i, answer, share, answers, difference) {
    const words = axes.between(axis, ...counted[i]);
    return el("tr", {},
      el("th", { scope: "row" }, el("span", { class: `letter range-${i}` }, letter(i)), " ", el("span", { class: "range" }, words)),
      el("td", { class: "number count" }, count(answer.count)),
      el("td", { class: "number interval" }, to(answer.low, answer.high)),
      el("td", { class: "number share" }, ...part(share)),
      answers.length > 1 ? el("td", { class: "number difference" }, ...(difference ? comparison(answer, answers[0], difference) : ["–"])) : null,
      el("td", {}, el("button", { type: "button", class: "plain", "aria-label": `Remove range ${letter(i)}, ${words}`, onclick: () => removed(i) }, "Remove")));
  }

  /** A share of the total, and under it what it lies between: rounded outward. */
  function part({ share, low, high }) {
    if (share === null || share < 0) return ["–"];
    const [least, most] = [Math.max(0, Math.floor(1000 * low + 1e-5) / 1000), Math.ceil(1000 * high - 1e-5) / 1000];
    return [percent(Math.round(1000 * share) / 1000), low === null || high === null ? null : el("small", { class: "hint" }, `${percent(least)} to ${percent(most)}`)];
  }

  function comparison(answer, first, { low, high }) {
    const none = low <= 0 && high >= 0 ? "; may be none" : "";
    return [el("span", { class: "by" }, above(answer.count, first.count)), el("small", { class: "hint" }, `${to(low, high)}${none}`)];
  }

  async function add(range) {
    if (state.ranges.length >= MOST_RANGES) {
      fill(said, trouble(`${MOST_RANGES} ranges are compared already; remove one first.`));
      return;
    }
    state.ranges = [...state.ranges, range];
    blame(form);
    try {
      await fetchAll();
      fill(said);
      announce(`Range ${answer.textContent}`);
      changed();
    } catch (wrong) {
      if (wrong.name === "AbortError") return; // a newer load has this range in it
      state.ranges = counted;
      const pointer = wrong.pointer?.replace(/^\/ranges\/\d+/, "/range");
      fill(said, blame(form, { message: wrong.message, pointer }) ? null : trouble(wrong.message));
    }
  }

  /** Takes a range away; without a number, all. */
  async function removed(i = null) {
    state.ranges = i === null ? [] : state.ranges.filter((_, other) => other !== i);
    inputs.focus();
    changed();
    await load();
  }

  const form = el("form", { class: "count-form", onsubmit: (event) => { event.preventDefault(); add(inputs.value()); } },
    el("div", { class: "row level" }, inputs.parts, el("button", { class: "main" }, "Count")));
  const hint = axes.hasLabels(axis) ? "Choose + beside a label, or a stretch of labels in their declared order." : `Drag across the picture, or type.${axis.kind === "integers" ? "" : " The upper end itself is not counted."}`;
  const parts = el("section", { class: "card", "aria-label": "Ranges" },
    el("div", { class: "beside" }, el("div", {}, el("h2", {}, "Ranges"), el("p", { class: "hint" }, hint)), form), said, tabled);
  return { parts, answer, load, add };
}

/** A count as one large number, with its ±, or between what it lies. */
export function large(words, { count: value, low, high }, { version, level }) {
  const spread = version === "whole" ? ` between ${to(low, high).replace(" to ", " and ")}` : ` ± ${half(low, high)}`;
  return [el("strong", { class: "count" }, count(value)), el("span", { class: "spread" }, spread), el("span", { class: "of" }, ` ${words}, ${percent(level)} sure`)];
}

/** The fields of a range of an axis; `of` names the axis where there are several, `at` what the server calls the range. */
export const rangeInputs = (axis, of, at = "range") => (axes.hasLabels(axis) ? labelInputs(axis, of, at) : edgeInputs(axis, of, at));

const called = (of, words) => (of ? `${of} ${words.toLowerCase()}` : words);

function edgeInputs(axis, of, at) {
  const example = axes.example(axis);
  const kind = { autocomplete: "off", inputmode: axes.isNumeric(axis) ? "decimal" : null, placeholder: example };
  const low = el("input", { ...kind, "data-at": at });
  const high = el("input", kind);
  return {
    parts: [field(called(of, "From"), low), field(called(of, axis.kind === "integers" ? "Through" : "Up to"), high)],
    value: () => [axes.typed(axis, low.value), axes.typedEnd(axis, high.value)],
    focus: () => low.focus(),
  };
}

function labelInputs(axis, of, at) {
  const all = axes.labels(axis);
  const input = () => (all.length > MOST_CHOICES ? el("input", { autocomplete: "off", required: true, "data-at": at }) : el("select", {}, all.map((label) => el("option", {}, String(label)))));
  const [first, last] = [input(), input()];
  return {
    parts: [field(called(of, "From"), first), field(called(of, "Through"), last)],
    value: () => axes.through(axis, first.value, last.value),
    focus: () => first.focus(),
  };
}
