// Datasets: what is in each, who is protected, what is left of the budget, what has been published.

import { get } from "../api.js";
import { el, fill, table, twoLines } from "../dom.js";
import { charged, epsilon, exact, day, isLess, letter, meant, real, time } from "../numbers.js";
import { eachPeriod } from "./periods.js";

export async function datasets(page, { me, signal }) {
  const [found, published, standing] = await Promise.all([get("/datasets", signal), get("/releases", signal), get("/series", signal)]);
  const cards = found.datasets.map((dataset) => card(dataset, published.releases.filter((r) => r.dataset === dataset.name), standing.series.filter((one) => one.dataset === dataset.name), me));
  fill(page,
    el("h1", {}, "Datasets"),
    el("p", { class: "lead" }, "Each question costs some of a dataset's budget, for good. What has been published is free to explore."),
    cards.length ? cards : el("p", {}, "This server has no datasets, or none that you may see."));
}

/** Series of a dataset: each once, however many periods it has. */
function again(list) {
  const rows = list.map((one) => [
    twoLines(el("a", { href: `#/series/${encodeURIComponent(one.name)}` }, one.title), [one.columns.join(" × "), one.where ? `where ${one.where}` : null, one.description || null].filter(Boolean).join(", ")),
    `${letter(one.notion)} = ${epsilon(one.cost)} a ${one.per}`,
    one.published ? twoLines(`${one.published.toLocaleString("en")} ${one.per}${one.published > 1 ? "s" : ""}`, `${one.first} to ${one.last}`) : "nothing yet",
  ]);
  return [el("h3", {}, `Published for every ${list[0].per}`), table("Series, free to explore", ["series", "cost", "published"], rows)];
}

function card(dataset, releases, series, me) {
  const mayAsk = me.role !== "reader";
  const name = encodeURIComponent(dataset.name);
  const asked = (column) => el("a", { class: "button", href: `#/ask/${name}?column=${encodeURIComponent(column)}`, "aria-label": `Ask about ${column}` }, "Ask");
  const columns = dataset.columns.map((c) => [named(c), c.describes, ...(mayAsk ? [asked(c.column)] : [])]);
  for (const one of dataset.keys) {
    const words = one.title === one.name ? one.name : `${one.title} (${one.name})`;
    columns.push([one.description ? twoLines(words, one.description) : words, `${one.tree ? "prefixes of keys" : "keys"}: ${one.universe}`, ...(mayAsk ? [el("a", { class: "button", href: `#/keys/${name}?keys=${encodeURIComponent(one.name)}`, "aria-label": `Ask about ${one.name}` }, "Ask")] : [])]);
  }
  if (dataset.graph) columns.push(["degrees", graphWords(dataset.graph), ...(mayAsk ? [el("a", { class: "button", href: `#/ask/${name}`, "aria-label": "Ask about the degrees" }, "Ask")] : [])]);
  return el("section", { class: "card", "aria-label": dataset.title || dataset.name },
    el("h2", {}, dataset.title || dataset.name),
    dataset.description ? el("p", {}, dataset.description) : null,
    el("p", {}, el("strong", {}, "Protects "), dataset.protects, "."),
    el("div", { class: "budgets" }, budget("Budget of the dataset", dataset), ownBudget(dataset, me)),
    el("h3", {}, "What may be asked"),
    table("Columns and their cells", ["column", "cells", ...(mayAsk ? ["~ask"] : [])], columns),
    series.length ? again(series) : [],
    el("h3", {}, series.length ? "Published on request" : "Published"),
    releases.length ? table("Releases, free to explore", ["release", `#${letter(dataset.notion)}`, "when, by whom"], releases.toReversed().map(row)) : el("p", { class: "quiet" }, "Nothing yet."));
}

/** A column as its owner calls it, with what she says of it. */
function named({ column, title, units, description }) {
  const words = title && title !== column ? `${title} (${column})` : column;
  const more = [description, units ? `In ${units}.` : null].filter(Boolean).join(" ");
  return more ? twoLines(words, more) : words;
}

export const graphWords = (graph) => `of all ${graph.nodes.toLocaleString("en")} nodes, ${graph.kind ?? "undirected"}, sorted`;

/** How a release was asked for, in words. */
export const howWords = (release) =>
  [release.name, release.cells ? `${release.cells.toLocaleString("en")} ${release.kind === "sorted" ? "groups" : "cells"}` : null, release.where ? `where ${release.where}` : null, release.period ?? null].filter(Boolean).join(", ");

const row = (release) => [
  twoLines(el("a", { href: `#/release/${encodeURIComponent(release.id)}` }, release.kind === "sorted" ? `${release.column ?? "degrees"}, sorted` : release.column),
    howWords(release)),
  epsilon(charged(release)),
  twoLines(day(release.created), `${time(release.created)}${release.by ? `, ${release.by}` : ""}`),
];

/** The part of a dataset's budget that is an analyst's own. */
export function ownBudget(dataset, me) {
  const own = me.datasets?.[dataset.name];
  if (!own) return null;
  const limit = own.per && isLess(exact(dataset.limit), exact(own.limit)) ? dataset.limit : own.limit; // no more than there is
  return budget("Your own part of it", { ...own, limit });
}

/** What is left of a limit: a bar, and the same in words. */
export function budget(title, { notion, limit, spent, remaining, shown, per, periods }) {
  if (periods) return eachPeriod(title, { notion, limit, periods });
  if (per) return el("div", { class: "budget" }, el("p", {}, `${title}: `, el("strong", {}, `at most ${letter(notion)} = ${epsilon(limit)} of each ${per}`), exact(spent).top > 0n ? `; of the ${per} where you spent most, ${epsilon(spent)} is spent.` : "."));
  const bar = el("span", { class: "filled" });
  bar.style.width = `${100 * Math.min(1, real(exact(spent)) / real(exact(limit)) || 0)}%`;
  return el("div", { class: "budget" },
    el("p", {}, `${title}: `, el("strong", {}, `${letter(notion)} = ${epsilon(remaining)} of ${epsilon(limit)} is left`), `, ${epsilon(spent)} is spent${meant(shown) ? `, ${meant(shown)}` : ""}.`),
    el("div", { class: "meter", "aria-hidden": "true" }, bar));
}
