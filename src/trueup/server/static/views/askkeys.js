// Ask about keys that nobody can list: from which count on they will be shown, before anything is spent.

import { get, post } from "../api.js";
import { confirmed } from "../dialog.js";
import { blame, el, field, fill, paused, trouble } from "../dom.js";
import { epsilonFields } from "../epsilon.js";
import { epsilon, exact, letter, minus, written } from "../numbers.js";
import { pending, prepare } from "../pending.js";
import { bill, mostOf } from "./ask.js";
import { budget, ownBudget } from "./datasets.js";
import { measuring } from "./measuring.js";
import { ofPeriods, periodFields } from "./periods.js";
import { askForMore } from "./more.js";

export async function askKeys(page, { subject, query, me, signal }) {
  const address = `/datasets/${encodeURIComponent(subject)}`;
  const dataset = await get(address, signal);
  const title = dataset.title || dataset.name;
  const one = dataset.keys.find((each) => each.name === query.get("keys")) ?? dataset.keys[0];
  if (!one || me.role === "reader") {
    fill(page, el("h1", {}, `Ask ${title}`), el("p", {}, one ? "Your token can read what is published. It cannot spend. Ask the owner for one that can." : "This dataset has no keys that may be asked about."));
    return;
  }
  const sent = pending(me.name);
  if (sent?.dataset === subject) {
    await measuring(page, title, sent, signal);
    return;
  }
  const { notion } = dataset;
  const price = epsilonFields(exact(mostOf(dataset, me)), query.get(notion), () => changed(), notion);
  const periods = periodFields(dataset, query, () => changed());
  const where = el("input", { autocomplete: "off", value: query.get("where") ?? "", "data-at": "where", oninput: () => changed() });
  const hasDelta = exact(dataset.delta_limit)?.top > 0n && !one.tree;
  const delta = el("input", { autocomplete: "off", class: "short", value: query.get("delta") ?? "", placeholder: "none", "data-at": "delta", oninput: () => changed() });
  const [expected, cost] = [el("div", {}), el("div", { class: "cost" })];
  let asking = new AbortController();

  const body = () => ({ keys: one.name, ...periods.value(), [notion]: price.value(), where: where.value.trim() || undefined, delta: delta.value.trim() || undefined });

  async function quote() {
    asking.abort();
    asking = new AbortController();
    blame(form);
    if (!price.isValid()) {
      fill(expected, el("p", {}, `${letter(notion)} must be a positive number such as 0.1 or 1/10.`));
      fill(cost);
      return;
    }
    if (periods.lacks()) {
      fill(expected, el("p", {}, periods.lacks()));
      fill(cost);
      return;
    }
    const asked = body();
    history.replaceState(null, "", `#/keys/${encodeURIComponent(subject)}?${new URLSearchParams(Object.entries(asked).filter(([, value]) => value))}`);
    try {
      const found = await post(`${address}/quote`, asked, AbortSignal.any([asking.signal, signal]));
      fill(expected, el("p", { class: "sentence" }, `${found.sentence[0].toUpperCase()}${found.sentence.slice(1)}.`),
        el("ul", {}, Object.entries(found.terms).filter(([name]) => name !== "threshold").map(([name, words]) => el("li", {}, `${name === "universe" ? "Keys there could be: " : ""}${words}`))));
      fill(cost, pending(me.name) ? el("p", {}, "Fetch the answer that is waiting first: the link is above.") : bill(found, () => spend(asked, found), () => askForMore(dataset, found, me, signal), dataset));
      price.leave(exact(found.remaining));
    } catch (wrong) {
      if (wrong.name === "AbortError") return;
      fill(expected, blame(form, wrong) ? el("p", {}, "Change what is marked.") : trouble(wrong.message));
      fill(cost);
    }
  }

  const soon = paused(150, quote);
  function changed() {
    for (const button of cost.querySelectorAll("button")) button.disabled = true; // its price is an old one
    soon();
  }

  async function spend(asked, found) {
    const yes = await confirmed(`Spend ${letter(notion)} = ${epsilon(found.cost)} for good?`, [
      `This counts the keys of ${one.title}${periods.words()} with noise and publishes those that are shown: ${found.sentence}.`,
      `${letter(notion)} = ${written(minus(exact(found.remaining), exact(found.cost)))} will be left${ofPeriods(found, dataset.periods?.per)}. What is spent cannot be taken back.`,
    ], `Spend ${epsilon(found.cost)}`);
    if (yes) await measuring(page, title, prepare(me.name, subject, asked), signal);
  }

  const form = el("form", { class: "card", onsubmit: (event) => event.preventDefault() }, el("h2", {}, `${one.title}${one.tree ? ", a tree of prefixes" : ""}`),
    one.description ? el("p", {}, one.description) : null, periods.parts, price.slider, el("div", { class: "row" }, price.exactly, hasDelta ? field("δ", delta, "Shows keys by a δ; none for pure ε.") : null),
    dataset.filters.length ? field("Only rows where", where, `Such as ${dataset.filters[0].column} ${dataset.filters[0].type === "text" ? "= 'a'" : ">= 18"}.`) : null,
    el("div", { class: "budgets" }, budget("Budget of the dataset", dataset), ownBudget(dataset, me)));
  fill(page, el("p", { class: "path" }, el("a", { href: "#/" }, "Datasets"), " / ", title), el("h1", {}, `Ask ${title}`), el("p", {}, el("strong", {}, "Protects "), dataset.protects, "."),
    el("div", { class: "halves" }, form, el("section", { class: "card", "aria-label": "What to expect" }, el("h2", {}, "What to expect"), expected, cost)));
  quote();
}
