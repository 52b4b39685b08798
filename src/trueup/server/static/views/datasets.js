// Datasets: what is in each, who is protected, what is left of the budget, what has been published.

import { get } from "../api.js";
import { el, fill, table, twoLines } from "../dom.js";
import { charged, epsilon, exact, day, letter, meant, real, time } from "../numbers.js";

export async function datasets(page, { me, signal }) {
  const [found, published] = await Promise.all([get("/datasets", signal), get("/releases", signal)]);
  const cards = found.datasets.map((dataset) => card(dataset, published.releases.filter((r) => r.dataset === dataset.name), me));
  fill(page,
    el("h1", {}, "Datasets"),
    el("p", { class: "lead" }, "Each question costs some of a dataset's budget, for good. What has been published is free to explore."),
    cards.length ? cards : el("p", {}, "This server has no datasets, or none that you may see."));
}

function card(dataset, releases, me) {
  const mayAsk = me.role !== "reader";
  const name = encodeURIComponent(dataset.name);
  const asked = (column) => el("a", { class: "button", href: `#/ask/${name}?column=${encodeURIComponent(column)}`, "aria-label": `Ask about ${column}` }, "Ask");
  const columns = dataset.columns.map((c) => [named(c), c.describes, ...(mayAsk ? [asked(c.column)] : [])]);
  if (dataset.graph) columns.push(["degrees", graphWords(dataset.graph), ...(mayAsk ? [el("a", { class: "button", href: `#/ask/${name}`, "aria-label": "Ask about the degrees" }, "Ask")] : [])]);
  return el("section", { class: "card", "aria-label": dataset.title || dataset.name },
    el("h2", {}, dataset.title || dataset.name),
    dataset.description ? el("p", {}, dataset.description) : null,
    el("p", {}, el("strong", {}, "Protects "), dataset.protects, "."),
    el("div", { class: "budgets" }, budget("Budget of the dataset", dataset), ownBudget(dataset, me)),
    el("h3", {}, "What may be asked"),
    table("Columns and their cells", ["column", "cells", ...(mayAsk ? ["~ask"] : [])], columns),
    el("h3", {}, "Published"),
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
  [release.name, `${release.cells.toLocaleString("en")} ${release.kind === "sorted" ? "groups" : "cells"}`, release.where ? `where ${release.where}` : null].filter(Boolean).join(", ");

const row = (release) => [
  twoLines(el("a", { href: `#/release/${encodeURIComponent(release.id)}` }, release.kind === "sorted" ? `${release.column ?? "degrees"}, sorted` : release.column),
    howWords(release)),
  epsilon(charged(release)),
  twoLines(day(release.created), `${time(release.created)}${release.by ? `, ${release.by}` : ""}`),
];

/** The part of a dataset's budget that is an analyst's own. */
export const ownBudget = (dataset, me) => (me.datasets?.[dataset.name] ? budget("Your own part of it", me.datasets[dataset.name]) : null);

/** What is left of a limit: a bar, and the same in words. */
export function budget(title, { notion, limit, spent, remaining, shown }) {
  const bar = el("span", { class: "filled" });
  bar.style.width = `${100 * Math.min(1, real(exact(spent)) / real(exact(limit)) || 0)}%`;
  return el("div", { class: "budget" },
    el("p", {}, `${title}: `, el("strong", {}, `${letter(notion)} = ${epsilon(remaining)} of ${epsilon(limit)} is left`), `, ${epsilon(spent)} is spent${meant(shown) ? `, ${meant(shown)}` : ""}.`),
    el("div", { class: "meter", "aria-hidden": "true" }, bar));
}
