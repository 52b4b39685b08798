// Ranges: each with its count and interval, and how it differs from the first.

import * as axes from "../axis.js";
import { post } from "../api.js";
import { announce, el, field, fill, trouble } from "../dom.js";
import { between, count, percent } from "../numbers.js";

const LETTERS = "ABCDEFGH";
export const MOST_RANGES = LETTERS.length;
export const letter = (i) => LETTERS[i];
const MOST_CHOICES = 1000; // labels in a list; more are typed

export function ranges(address, axis, state, changed) {
  const list = el("ol", { class: "ranges" });
  const said = el("div", {});
  const inputs = axes.hasLabels(axis) ? labelInputs(axis) : edgeInputs(axis);

  async function load() {
    try {
      await fetchAll();
    } catch (wrong) {
      fill(said, trouble(wrong.message));
    }
  }

  async function fetchAll() {
    if (!state.ranges.length) {
      fill(list);
      return;
    }
    const { version, level } = state;
    const [first, ...others] = state.ranges;
    const [found, ...differences] = await Promise.all([
      post(`${address}/ranges`, { ranges: state.ranges, level, version }),
      ...others.map((range) => post(`${address}/difference`, { first: range, second: first, level, version })),
    ]);
    fill(list, found.answers.map((answer, i) => item(i, answer, differences[i - 1])));
  }

  function item(i, answer, difference) {
    const words = axes.between(axis, ...state.ranges[i]);
    return el("li", {},
      el("div", { class: "range-head" }, el("span", { class: "letter" }, letter(i)), el("span", { class: "range" }, words),
        el("button", { type: "button", class: "plain", "aria-label": `Remove range ${letter(i)}, ${words}`, onclick: () => removed(i) }, "Remove")),
      el("p", { class: "count" }, count(answer.count)),
      el("p", {}, `between ${between(answer.low, answer.high)}, ${percent(state.level)} sure${state.version === "whole" ? " (from the unbiased count)" : ""}`),
      difference ? el("p", { class: "difference" }, comparison(i, difference)) : null);
  }

  function comparison(i, { count: by, low, high }) {
    const words = by < 0 ? `${count(-by)} fewer than A` : `${count(by)} more than A`;
    const sure = low > 0 || high < 0 ? "" : " There may be no difference at all.";
    return `${words}: the difference ${letter(i)} − A is between ${between(low, high)}, ${percent(state.level)} sure.${sure}`;
  }

  async function add(range) {
    if (state.ranges.length >= MOST_RANGES) {
      fill(said, trouble(`${MOST_RANGES} ranges are compared already; remove one first.`));
      return;
    }
    state.ranges.push(range);
    try {
      await fetchAll();
      fill(said);
      const last = list.lastElementChild;
      announce(`Range ${letter(state.ranges.length - 1)}, ${axes.between(axis, ...range)}: ${last.querySelector(".count").textContent}, ${last.querySelector(".count + p").textContent}.`);
      await changed();
    } catch (wrong) {
      state.ranges.pop();
      fill(said, trouble(wrong.message));
    }
  }

  async function removed(i) {
    state.ranges.splice(i, 1);
    inputs.focus();
    await Promise.all([load(), changed()]);
  }

  const parts = el("section", { class: "card", "aria-label": "Ranges" }, el("h2", {}, "Ranges"),
    el("p", { class: "quiet" }, axes.hasLabels(axis) ? "Drag across the picture, or choose:" : "Drag across the picture, or type. The upper end itself is not counted."),
    el("form", { onsubmit: (event) => { event.preventDefault(); add(inputs.value()); } },
      el("div", { class: "row level" }, inputs.parts, el("button", { class: "main" }, "Count"))),
    said, list);
  return { parts, load, add };
}

function edgeInputs(axis) {
  const example = axes.example(axis);
  const kind = { autocomplete: "off", inputmode: axes.isNumeric(axis) ? "decimal" : null, placeholder: example };
  const low = el("input", kind);
  const high = el("input", kind);
  return {
    parts: [field("From", low), field("Up to", high)],
    value: () => [axes.typed(axis, low.value), axes.typed(axis, high.value)],
    focus: () => low.focus(),
  };
}

function labelInputs(axis) {
  const all = axes.labels(axis);
  const input = () => (all.length > MOST_CHOICES ? el("input", { autocomplete: "off", required: true }) : el("select", {}, all.map((label) => el("option", {}, String(label)))));
  const [first, last] = [input(), input()];
  return {
    parts: [field("From", first), field("Through", last)],
    value: () => axes.through(axis, first.value, last.value),
    focus: () => first.focus(),
  };
}
