// The error to expect, strategy by strategy, before anything is spent.

import { announce, el, fill, newName, paused } from "../dom.js";
import { count } from "../numbers.js";
import { drawErrors, MARK_SIGNS, SERIES } from "../plot.js";

/** The preview's elements; `choose` is called with the strategy that was picked. */
export function preview(choose) {
  const sentence = el("p", { class: "sentence" });
  const picture = el("div", { class: "picture", role: "img" });
  const list = el("div", {});
  const group = newName("strategy");
  const curves = el("div", {}, el("p", { class: "quiet" }, "How far an answer may be off, by the number of cells in it:"), picture, list);
  const parts = el("div", { class: "preview" }, sentence, curves);
  const say = paused(600, announce);
  let drawn = "";

  function pick(found, chosen) {
    return found.strategies.find((s) => s.strategy === chosen) ?? found.strategies.find((s) => s.best) ?? found.strategies[0];
  }

  function legend(found, picked) {
    const names = found.strategies.map((s) => s.strategy).join();
    if (names === drawn) { // only figures change while ε moves: the focus stays where it is
      found.strategies.forEach((s, i) => {
        list.querySelectorAll(".typical")[i].textContent = `±${count(s.typical_95)}`;
        list.querySelectorAll("input")[i].checked = s === picked;
      });
      return;
    }
    drawn = names;
    fill(list, el("fieldset", { class: "strategies" }, el("legend", {}, "Strategy, with its ± on a typical range at 95 %"),
      found.strategies.map((s, i) => {
        const mark = el("span", { class: SERIES[i % SERIES.length], "aria-hidden": "true" }, MARK_SIGNS[i % MARK_SIGNS.length]);
        return el("label", {}, el("input", { type: "radio", name: group, value: s.strategy, checked: s === picked, onchange: () => choose(s.strategy) }),
          mark, el("span", { class: "name" }, s.name, s.best ? el("em", {}, " (best)") : null), el("span", { class: "typical" }, `±${count(s.typical_95)}`));
      })));
  }

  return {
    parts,
    waiting: () => parts.setAttribute("aria-busy", "true"),
    blank(words) {
      parts.removeAttribute("aria-busy");
      drawn = "";
      fill(sentence, words);
      curves.hidden = true;
      announce(words);
    },
    async show(found, chosen) {
      parts.removeAttribute("aria-busy");
      fill(sentence, found.sentence);
      say(`${found.sentence}, for ε = ${found.cost}`);
      curves.hidden = !found.strategies[0]?.by_length.length; // sorted counts are asked in one way only
      if (curves.hidden) return;
      const picked = pick(found, chosen);
      legend(found, picked);
      picture.setAttribute("aria-label", `Expected error against the length of a range. ${picked.name}: ±${count(picked.by_length[0].error_95)} on one cell, ±${count(picked.by_length.at(-1).error_95)} on all ${found.cells}.`);
      await drawErrors(picture, found.strategies, picked, found.strategies.map((s) => s.name));
    },
  };
}
