// Charges over time: what was spent, by whom, on what.

import { get } from "../api.js";
import { el, fill, table, twoLines } from "../dom.js";
import { charged, day, epsilon, exact, letter, plus, real, time } from "../numbers.js";
import { drawSpending } from "../plot.js";
import { budget, howWords } from "./datasets.js";
import { spentPeriods } from "./periods.js";

/** The analyst's own charges, dataset by dataset. */
export async function charges(page, { me, signal }) {
  if (me.role === "reader") {
    fill(page, el("h1", {}, "My charges"), el("p", {}, "Your token can read what is published. It cannot spend."));
    return;
  }
  const found = await get("/datasets", signal);
  const own = (dataset) => me.datasets?.[dataset.name] ?? { notion: dataset.notion, per: dataset.periods?.per, limit: "0", spent: "0", remaining: "0" };
  const parts = await Promise.all(found.datasets.map((dataset) => chargesOf(dataset, "Your own part of the budget", own(dataset), signal)));
  fill(page, el("h1", {}, "My charges"), parts.map((part) => part.section));
  await Promise.all(parts.map((part) => part.draw()));
}

/** Charges under a limit as a section, and the function that draws their picture once shown. */
export async function chargesOf(dataset, title, account, signal) {
  const history = await get(`/datasets/${encodeURIComponent(dataset.name)}/history`, signal);
  const picture = el("div", { class: "picture", role: "img", "aria-label": `${letter(history.notion)} spent over time, under the limit; the table lists the same charges` });
  const rows = history.charges.toReversed().map((charge) => [
    twoLines(day(charge.created), `${time(charge.created)}${charge.by ? `, ${charge.by}` : ""}`),
    twoLines(charge.release ? el("a", { href: `#/release/${encodeURIComponent(charge.release)}` }, subject(charge)) : subject(charge), howWords(charge)),
    epsilon(charged(charge)),
  ]);
  const [isDrawn, byPeriod] = [rows.length && !dataset.periods, await spentPeriods(dataset, signal)]; // a sum over periods means nothing
  const section = el("section", { class: "card", "aria-label": `Charges to ${dataset.title || dataset.name}` },
    el("h2", {}, dataset.title || dataset.name),
    budget(title, account),
    rows.length ? [isDrawn ? picture : null, table("Charges, newest first", ["when, by whom", "what", `#${letter(history.notion)}`], rows)] : el("p", { class: "quiet" }, byPeriod ? "No question has been charged." : "Nothing has been charged."), byPeriod);
  const people = [...new Set(history.charges.map((charge) => charge.by ?? "the owner"))];
  const each = people.length > 1 ? people.map((name) => ({ name, ...own(history.charges, name) })) : [];
  return { section, draw: () => (isDrawn ? drawSpending(picture, ...steps(history.charges, account.limit), each, letter(history.notion)) : null) };
}

const subject = (charge) => charge.column ?? "degrees";

/** What one person has spent, step by step. */
function own(made, name) {
  const [times, spent] = steps(made.filter((charge) => (charge.by ?? "the owner") === name), "0");
  return { times, spent };
}

function steps(made, limit) {
  let sum = exact("0");
  const spent = made.map((charge) => real((sum = plus(sum, exact(charged(charge))))));
  const now = new Date().toISOString();
  return [[...made.map((charge) => charge.created), now], [...spent, spent.at(-1)], real(exact(limit))];
}
