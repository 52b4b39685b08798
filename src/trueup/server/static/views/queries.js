// Named counts: a table of them, each with its interval.

import { get, withParameters } from "../api.js";
import { el, fill, table } from "../dom.js";
import { count, percent, to } from "../numbers.js";
import { downloads } from "./downloads.js";

export async function queries(page, heading, address, release, signal) {
  const level = 0.95;
  const view = await get(withParameters(`${address}/view`, { level }), signal);
  const rows = view.answers.map((answer) => [String(answer.range[0]), count(answer.count), to(answer.low, answer.high)]);
  const saved = downloads(address, release, { version: "unbiased" });
  fill(page, ...heading,
    el("section", { class: "card", "aria-label": "Counts" }, table("Counts by name", ["name", "#count", `#${percent(level)} interval`], rows)), saved.parts);
  saved.refresh();
}
