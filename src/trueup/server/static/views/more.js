// At the limit: what an analyst can do there, and what became of what was asked for.

import { get, post } from "../api.js";
import { blame, el, field, fill, trouble } from "../dom.js";
import { epsilon, exact, isLess, letter, minus, real, written } from "../numbers.js";

/** Words and a form to ask the owner for more. */
export function askForMore({ name, periods }, found, me, signal) {
  if (me.role === "owner") return null;
  const left = exact(found.remaining);
  const lacking = isLess(left, exact(found.cost)) ? written(minus(exact(found.cost), left)) : "0.1";
  const more = el("input", { "data-at": "more", value: lacking, autocomplete: "off", class: "short", required: true });
  const reason = el("input", { "data-at": "reason", autocomplete: "off", maxlength: "1000" });
  const said = el("div", { role: "status" });
  const standing = el("div", {});

  async function look() {
    try {
      const { requests } = await get("/requests", signal);
      const own = requests.filter((one) => one.dataset === name)[0];
      fill(standing, own ? el("p", { class: "hint" }, stateWords(own)) : null);
    } catch {
      fill(standing); // what was asked before is not needed to ask
    }
  }

  async function submit(event) {
    event.preventDefault();
    blame(event.target);
    try {
      await post(`/datasets/${encodeURIComponent(name)}/requests`, { more: more.value.trim(), reason: reason.value.trim() });
      fill(said, el("p", { class: "good" }, "Sent. The owner sees it and decides; look here again later."));
      await look();
    } catch (wrong) {
      fill(said, blame(form, wrong) ? null : trouble(wrong.message));
    }
  }

  look();
  const cheaper = real(left) > 0 ? `Choose ${letter(found.notion)} of ${epsilon(found.remaining)} or less, fewer cells or a coarser question; ` : "What is published is still free to explore; ";
  const form = el("form", { class: "more-budget", onsubmit: submit }, el("p", {}, `${cheaper}or ask the owner for more:`),
    el("div", { class: "row level" }, field(`More ${letter(found.notion)}${periods ? ` of each ${periods.per}` : ""}`, more), field("What it is for", reason), el("button", {}, "Ask the owner")), standing, said);
  return form;
}

/** What an allowance is for: "in all", or "of each day". */
export const inAll = ({ per }) => (per ? `of each ${per}` : "in all");

export function stateWords(one) {
  const wanted = `${letter(one.notion)} = ${epsilon(one.wanted)} ${inAll(one)}`;
  const note = one.note ? ` “${one.note}”` : "";
  return { open: `You asked for ${wanted}; the owner has not decided yet.`, granted: `The owner granted ${wanted}.${note}`, declined: `The owner declined.${note}` }[one.state] ?? "";
}

