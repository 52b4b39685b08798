// Where each period has a budget of its own: which periods a question is about, and how far they are spent.

import { get } from "../api.js";
import { el, field, table } from "../dom.js";
import { epsilon, letter } from "../numbers.js";

const TYPES = { day: "date", week: "week", month: "month" }; // a browser without one of them shows a line of text
const LAST = 14; // periods in the owner's table

/** The fields that name periods, and what they say. Without periods there are none. */
export function periodFields(dataset, query, changed) {
  const { periods } = dataset;
  if (!periods) return { parts: null, value: () => ({}), lacks: () => null, words: () => "" };
  const { per, example, zone } = periods;
  const input = (at, value) => el("input", { type: TYPES[per] ?? "text", "data-at": at, value, placeholder: example, autocomplete: "off", oninput: changed });
  const first = input("period", query.get("period") ?? periods.last ?? "");
  const through = input("through", query.get("through") ?? "");
  const value = () => ({ period: first.value.trim(), ...(through.value.trim() ? { through: through.value.trim() } : {}) });
  return {
    parts: el("div", { class: "row" }, field(`Rows of which ${per}`, first, `In the time zone ${zone}.`), field("Through", through, `Empty: one ${per}. Each ${per} pays the price.`)),
    value,
    lacks: () => (first.value.trim() ? null : `Choose a ${per}: each ${per} has a budget of its own.`),
    words: () => ` of ${first.value.trim()}${through.value.trim() ? ` through ${through.value.trim()}` : ""}`,
  };
}

/** Whose budget a quote speaks of: " on 2026-03-01", " on each of 7 days". */
export function ofPeriods({ periods }, per) {
  if (!periods?.length) return "";
  return periods.length === 1 ? ` on ${periods[0]}` : ` on each of ${periods.length.toLocaleString("en")} ${per}s`;
}

/** A limit that each period has, in words. */
export const eachPeriod = (title, { notion, limit, periods }) => el("div", { class: "budget" },
  el("p", {}, `${title}: `, el("strong", {}, `${letter(notion)} = ${epsilon(limit)} for each ${periods.per}`), "."),
  el("p", { class: "hint" }, `Each ${periods.per} has a budget of its own, and what somebody loses adds up: ${periods.loses}.`));

/** How far the latest periods are spent. */
export async function spentPeriods(dataset, signal) {
  if (!dataset.periods) return null;
  const { per } = dataset.periods;
  const found = await get(`/datasets/${encodeURIComponent(dataset.name)}/periods?limit=${LAST}`, signal);
  const rows = found.periods.map((one) => [one.period, epsilon(one.spent), epsilon(one.remaining)]);
  return el("div", {}, el("h3", {}, `By ${per}`), rows.length
    ? table(`${found.total > LAST ? `The last ${LAST} of ${found.total.toLocaleString("en")} ${per}s` : `The ${per}s`} of which something is spent, series included`, [per, `#${letter(dataset.notion)} spent`, "#left"], rows)
    : el("p", { class: "quiet" }, `Nothing is spent of any ${per}.`));
}
