// Ask: what to count and at what price, with the error to expect before anything is spent.

import { askAddress } from "../address.js";
import { get, post } from "../api.js";
import { confirmed } from "../dialog.js";
import { el, fill, paused, trouble } from "../dom.js";
import { epsilonFields } from "../epsilon.js";
import { epsilon, exact, minus, written } from "../numbers.js";
import { pending, prepare } from "../pending.js";
import { budget, ownBudget } from "./datasets.js";
import { measuring } from "./measuring.js";
import { preview } from "./preview.js";
import { questionFields } from "./question.js";

export async function ask(page, { subject, query, me, signal }) {
  const address = `/datasets/${encodeURIComponent(subject)}`;
  const dataset = await get(address, signal);
  const title = dataset.title || dataset.name;
  if (me.role === "reader") {
    fill(page, el("h1", {}, `Ask ${title}`), el("p", {}, "Your token can read what is published. It cannot spend. Ask the owner for one that can."));
    return;
  }
  const sent = pending(me.name);
  if (sent?.dataset === subject) {
    await measuring(page, title, sent, signal);
    return;
  }

  const price = epsilonFields(exact(dataset.yours), query.get("epsilon"), () => changed());
  const question = questionFields(dataset, query, () => changed());
  const shown = preview((strategy) => changed(strategy));
  const cost = el("div", { class: "cost" });
  let chosen = query.get("strategy") ?? "best";
  let asking = new AbortController();

  const body = () => ({ strategy: chosen, ...question.value(), epsilon: price.value() });

  async function quote() {
    asking = new AbortController();
    if (!price.isValid()) {
      shown.blank("ε must be a positive number such as 0.1 or 1/10.");
      fill(cost);
      return;
    }
    const asked = body();
    history.replaceState(null, "", askAddress(subject, asked));
    try {
      const found = await post(`${address}/quote`, asked, AbortSignal.any([asking.signal, signal]));
      await shown.show(found, chosen);
      fill(cost, pending(me.name) ? el("p", {}, "Fetch the answer that is waiting first: the link is above.") : bill(found, () => spend(asked, found)));
    } catch (wrong) {
      if (wrong.name === "AbortError") return;
      shown.blank(wrong.message);
      fill(cost);
    }
  }

  const soon = paused(120, quote);
  function changed(strategy) {
    if (strategy) chosen = strategy;
    asking.abort();
    shown.waiting();
    for (const button of cost.querySelectorAll("button")) button.disabled = true; // its price is an old one
    soon();
  }

  async function spend(asked, found) {
    const yes = await confirmed(`Spend ε = ${epsilon(found.cost)} for good?`, [
      `This counts ${question.words()} in ${found.cells.toLocaleString("en")} ${found.axis ? "cells" : "groups"} and publishes the answer with noise: ${found.sentence}.`,
      `ε = ${written(minus(exact(found.remaining), exact(found.cost)))} will be left. What is spent cannot be taken back.`,
    ], `Spend ${epsilon(found.cost)}`);
    if (yes) await measuring(page, title, prepare(me.name, subject, asked), signal);
  }

  fill(page,
    el("p", { class: "path" }, el("a", { href: "#/" }, "Datasets"), " / ", title),
    el("h1", {}, `Ask ${title}`),
    el("p", {}, el("strong", {}, "Protects "), dataset.protects, "."),
    el("div", { class: "halves" },
      el("form", { class: "card", onsubmit: (event) => event.preventDefault() }, el("h2", {}, "Question"), question.parts, el("h2", {}, "Price"), price.parts, el("div", { class: "budgets" }, budget("Budget of the dataset", dataset), ownBudget(dataset, me))),
      el("section", { class: "card", "aria-label": "What to expect" }, el("h2", {}, "What to expect"), shown.parts, cost)));
  quote();
}

/** What it costs, and the button; or why it cannot be had. */
function bill(found, spend) {
  if (!found.allowed) return trouble(found.why_not ?? "You cannot ask this.");
  return [
    el("p", {}, "This costs ", el("strong", {}, `ε = ${epsilon(found.cost)}`), ` of the ${epsilon(found.remaining)} that is left.`),
    el("button", { type: "button", class: "main", onclick: spend }, `Spend ${epsilon(found.cost)} and measure`),
  ];
}
