// Quantiles: the values below which given shares of the total lie.

import * as axes from "../axis.js";
import { post } from "../api.js";
import { el, field, fill, newest, table, trouble } from "../dom.js";
import { percent } from "../numbers.js";

const MOST_AT_ONCE = 65_536; // cells; on longer axes an interval takes seconds, so it waits to be asked for

export function quantiles(address, { axis, cells, margin: column }, state, signal) {
  const begun = newest(signal);
  const input = el("input", { value: "5, 25, 50, 75, 95", autocomplete: "off" });
  const shown = el("div", { role: "status" });
  const name = (value) => axes.name(axis, typeof value === "number" ? Number(value.toPrecision(5)) : value);

  async function show() {
    const shares = input.value.split(/[,;\s]+/).filter(Boolean).map((text) => Number(text) / 100);
    try {
      const found = await post(`${address}/quantiles`, { quantiles: shares, level: state.level, version: state.version, column }, begun());
      fill(shown, table(`Where shares of the total lie, ${percent(state.level)} sure of each`, ["share below", "#value", "#interval"],
        found.answers.map((answer) => [percent(answer.quantile), name(answer.value), answer.low === null ? "–" : `${name(answer.low)} to ${name(answer.high)}`])));
    } catch (wrong) {
      if (wrong.name !== "AbortError") fill(shown, trouble(wrong.message));
    }
  }

  const parts = el("section", { class: "card", "aria-label": "Quantiles" }, el("h2", {}, "Quantiles"),
    el("form", { onsubmit: (event) => { event.preventDefault(); fill(shown, el("p", { class: "waiting" }, "Working it out …")); show(); } },
      el("div", { class: "row level" }, field("Shares in %", input), el("button", {}, "Show"))),
    shown);
  return { parts, load: () => (cells <= MOST_AT_ONCE ? show() : null) };
}
