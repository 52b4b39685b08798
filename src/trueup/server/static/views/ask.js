// Ask: what to count and at what price, with the error to expect before anything is spent.

import { askAddress } from "../address.js";
import { get, post } from "../api.js";
import { confirmed } from "../dialog.js";
import { blame, el, field, fill, paused, trouble } from "../dom.js";
import { epsilonFields } from "../epsilon.js";
import { count, epsilon, exact, isLess, letter, meant, minus, real, upTo3, written } from "../numbers.js";
import { pending, prepare } from "../pending.js";
import { budget, ownBudget } from "./datasets.js";
import { explanation } from "./explain.js";
import { measuring } from "./measuring.js";
import { ofPeriods, periodFields } from "./periods.js";
import { askForMore } from "./more.js";
import { preview } from "./preview.js";
import { questionFields } from "./question.js";

const TURNS = 6; // quotes that may be asked for one ±: errors go nearly as 1/ε, or 1/√ρ

export async function ask(page, { subject, query, me, signal }) {
  const address = `/datasets/${encodeURIComponent(subject)}`;
  const [dataset, total] = await Promise.all([get(address, signal), publishedTotal(subject, signal)]);
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

  const { notion } = dataset;
  const price = epsilonFields(exact(mostOf(dataset, me)), query.get(notion), () => changed(), notion);
  const periods = periodFields(dataset, query, () => changed());
  const question = questionFields(dataset, query, () => changed());
  const cost = el("div", { class: "cost" });
  const shown = preview((strategy) => changed(strategy), cost, query.has("strategy"));
  const meaning = explanation();
  const within = el("input", { "data-at": "within", class: "short", inputmode: "decimal", autocomplete: "off", oninput: paused(400, () => reach(Number(within.value.replaceAll(/[,\s±]/g, "")))) });
  let chosen = query.get("strategy") ?? "best";
  let asking = new AbortController();

  const body = () => ({ strategy: chosen, ...question.value(), ...periods.value(), [notion]: price.value() });
  const quoted = (asked) => post(`${address}/quote`, asked, AbortSignal.any([asking.signal, signal]));

  async function quote() {
    asking = new AbortController();
    if (!price.isValid()) {
      shown.blank(`${letter(notion)} must be a positive number such as 0.1 or 1/10.`);
      fill(cost);
      return;
    }
    if (periods.lacks()) {
      shown.blank(periods.lacks());
      fill(cost);
      return;
    }
    const asked = body();
    blame(form);
    history.replaceState(null, "", askAddress(subject, asked));
    if (notion === "epsilon") meaning.move(asked.epsilon);
    try {
      const found = await quoted(asked);
      if (notion === "rho") meaning.move(asked.rho, found.shown);
      show(asked, found);
    } catch (wrong) {
      if (wrong.name === "AbortError") return;
      shown.blank(blame(form, wrong) ? "Change what is marked." : wrong.message);
      fill(cost);
    }
  }

  function show(asked, found) {
    question.offer(found.cell_choices);
    price.leave(exact(found.remaining));
    shown.show(found, chosen, total);
    if (document.activeElement !== within) within.value = count(shown.pick(found, chosen).typical_95);
    fill(cost, pending(me.name) ? el("p", {}, "Fetch the answer that is waiting first: the link is above.") : bill(found, () => spend(asked, found), () => askForMore(dataset, found, me, signal), dataset));
  }

  /** Finds the price at which a typical range is off by no more than this, and asks at that price. */
  async function reach(target) {
    if (!within.value.trim() || !price.isValid()) return;
    if (!(target > 0)) {
      asking.abort();
      blame(form, { pointer: "/within", message: "± must be a positive number of counts, such as 50." });
      shown.blank("Change what is marked.");
      fill(cost); // what it was before must not be spent by mistake
      return;
    }
    blame(form);
    asking.abort();
    asking = new AbortController();
    shown.waiting();
    let at = real(exact(price.value()));
    try {
      for (let turn = 0; turn < TURNS; turn += 1) {
        const asked = { ...body(), [notion]: upTo3(at) };
        const { typical_95: error } = shown.pick(await quoted(asked), chosen);
        price.set(asked[notion]);
        if (error <= target && error > 0.98 * target) break;
        // At a large price whole numbers have no error at all, which says nothing of a smaller one.
        at = real(exact(asked[notion])) * (error === 0 ? 1 / 8 : 1) * ((error || target) / target) ** (notion === "rho" ? 2 : 1) * (error > target ? 1.002 : 0.999);
      }
    } catch (wrong) {
      if (wrong.name === "AbortError") return;
    }
    quote();
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
    const yes = await confirmed(`Spend ${letter(notion)} = ${epsilon(found.cost)} for good?`, [
      `This counts ${question.words()}${periods.words()} in ${found.cells.toLocaleString("en")} ${found.strategy === "sorted" ? "groups" : "cells"} and publishes the answer with noise: ${found.sentence}.`,
      `${letter(notion)} = ${written(minus(exact(found.remaining), exact(found.cost)))} will be left${ofPeriods(found, dataset.periods?.per)}. What is spent cannot be taken back.`,
    ], `Spend ${epsilon(found.cost)}`);
    if (yes) await measuring(page, title, prepare(me.name, subject, asked), signal);
  }

  const form = el("form", { class: "card", onsubmit: (event) => event.preventDefault() }, el("h2", {}, "Question"), periods.parts, question.parts, el("h2", {}, "Price"), price.slider,
    el("div", { class: "row" }, price.exactly, el("span", { class: "or" }, "or"), field("± you want, 95 % sure", within, `On a typical range; ${letter(notion)} follows.`)),
    el("div", { class: "budgets" }, budget("Budget of the dataset", dataset), ownBudget(dataset, me)));
  fill(page,
    el("p", { class: "path" }, el("a", { href: "#/" }, "Datasets"), " / ", title),
    el("h1", {}, `Ask ${title}`),
    el("p", {}, el("strong", {}, "Protects "), dataset.protects, "."),
    el("div", { class: "halves" },
      form,
      el("section", { class: "card", "aria-label": "What to expect" }, el("h2", {}, "What to expect"), shown.parts, meaning.parts)));
  quote();
}

/** How many rows were published in all, by the latest histogram of the whole table; null without one. */
async function publishedTotal(dataset, signal) {
  try {
    const { releases } = await get("/releases", signal);
    const last = releases.findLast((one) => one.dataset === dataset && one.kind === "histogram" && !one.where && !one.period);
    const found = last && await get(`/releases/${encodeURIComponent(last.id)}/range`, signal);
    return found?.count > 0 ? found.count : null;
  } catch (wrong) {
    if (wrong.name === "AbortError") throw wrong;
    return null; // a help, not a need
  }
}

/** The most that may cost: what is left for this person, or of each period what they may spend. */
export function mostOf(dataset, me) {
  if (!dataset.periods) return dataset.yours;
  const own = me.role === "owner" ? dataset.limit : me.datasets?.[dataset.name]?.limit ?? "0";
  return isLess(exact(own), exact(dataset.limit)) ? own : dataset.limit;
}

/** What it costs, and the button; or why it cannot be had, and what to do. */
export function bill(found, spend, more, { periods = null } = {}) {
  if (!found.allowed) return [trouble(found.why_not ?? "You cannot ask this."), more()];
  return [
    el("p", {}, "This costs ", el("strong", {}, `${letter(found.notion)} = ${epsilon(found.cost)}`), ` of the ${epsilon(found.remaining)} that is left${ofPeriods(found, periods?.per)}.`),
    found.shown ? el("p", { class: "hint" }, `Alone, ${meant(found.shown)}.`) : null,
    el("button", { type: "button", class: "main", onclick: spend }, `Spend ${epsilon(found.cost)} and measure`),
  ];
}
