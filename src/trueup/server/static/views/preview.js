// The error to expect before anything is spent: in one sentence; strategy by strategy for those who ask.

import { announce, el, fill, newName, paused } from "../dom.js";
import { count, letter, percent } from "../numbers.js";
import { drawErrors, MARK_SIGNS, SERIES } from "../plot.js";

const PLAIN = {
  flat: "Each cell by itself. Good for single cells; long ranges add up many errors.",
  tree: "Cells and groups of cells together, made to agree. Good for ranges of every length.",
  adaptive: "Asked top down: cells with small counts are counted together. Non-negative counts err least; intervals of small counts are wider than this ±.",
  binary: "Groups of two, four, eight cells, as in the paper. For comparison.",
  hats: "Overlapping windows. Good for ranges; takes longer to work out.",
  shown: "Groups of cells and their total, asked at once. Good for non-negative counts with narrow intervals. The ± is that of the unbiased counts.",
};

/** The preview's elements; `choose` is called with the strategy that was picked. */
export function preview(choose, cost, open) {
  const sentence = el("p", { class: "sentence" });
  const share = el("p", { class: "quiet share" });
  const picture = el("div", { class: "picture", role: "img" });
  const list = el("div", {});
  const group = newName("strategy");
  const chosenWords = el("summary", {});
  const curves = el("details", { class: "ways", open, ontoggle: () => shown && redraw() }, chosenWords,
    el("p", { class: "quiet" }, "How far an answer may be off, by the number of cells in it:"), picture, list);
  const parts = el("div", { class: "preview" }, sentence, share, cost, curves);
  const say = paused(600, announce);
  let drawn = "";
  let shown = null;

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
          mark, el("span", { class: "name" }, s.name, s.best ? el("em", {}, " (best)") : null, PLAIN[s.strategy] ? el("small", { class: "hint" }, PLAIN[s.strategy]) : null), el("span", { class: "typical" }, `±${count(s.typical_95)}`));
      })));
  }

  function redraw() {
    const { found, picked } = shown;
    drawErrors(picture, found.strategies, picked, found.strategies.map((s) => s.name));
  }

  return {
    parts,
    pick,
    waiting: () => parts.setAttribute("aria-busy", "true"),
    blank(words) {
      parts.removeAttribute("aria-busy");
      drawn = "";
      fill(sentence, words);
      fill(share);
      curves.hidden = true;
      announce(words);
    },
    /** Shows a quote; `total` is one that was published, if any. */
    show(found, chosen, total) {
      parts.removeAttribute("aria-busy");
      const picked = pick(found, chosen);
      fill(sentence, found.sentence);
      say(`${found.sentence}, for ${letter(found.notion)} = ${found.cost}`);
      const part = total && picked.typical_95 ? `That is ${percent(Number((picked.typical_95 / total).toPrecision(2)))} of the ${count(total)} rows that were published in all.` : "";
      fill(share, part, String(picked.strategy).startsWith("adaptive") ? " Small counts are counted together: their intervals may be wider." : "");
      curves.hidden = !found.strategies[0]?.by_length.length; // sorted counts are asked in one way only
      if (curves.hidden) return;
      fill(chosenWords, `Asked as: ${picked.name}. ${found.strategies.length} ways compared`);
      legend(found, picked);
      picture.setAttribute("aria-label", `Expected error against the length of a range. ${picked.name}: ±${count(picked.by_length[0].error_95)} on one cell, ±${count(picked.by_length.at(-1).error_95)} on all ${found.cells}.`);
      shown = { found, picked };
      redraw();
    },
  };
}
