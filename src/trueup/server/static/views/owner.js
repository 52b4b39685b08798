// Owner: charges over time, limits, tokens, and whether the ledger is whole.

import { get, post, put, remove } from "../api.js";
import { confirmed } from "../dialog.js";
import { announce, blame, el, field, fill, table, trouble, twoLines, unbroken } from "../dom.js";
import { day, epsilon, letter, time } from "../numbers.js";
import { chargesOf } from "./charges.js";
import { inAll } from "./more.js";

export async function owner(page, { me, signal }) {
  if (me.role !== "owner") {
    fill(page, el("h1", {}, "Owner"), el("p", {}, `Only the owner can see this view; you are signed in as ${me.role}.`));
    return;
  }
  const [found, kept, asked, standing] = await Promise.all([get("/datasets", signal), get("/tokens", signal), get("/requests", signal), get("/publications", signal)]);
  const parts = await Promise.all(found.datasets.map((dataset) => chargesOf(dataset, "Budget", dataset, signal)));
  const allowed = await Promise.all(found.datasets.map((dataset) => get(`/datasets/${encodeURIComponent(dataset.name)}/allowances`, signal)));
  parts.forEach((part, i) => part.section.append(allowances(found.datasets[i], allowed[i].allowances), verification(found.datasets[i])));
  fill(page, el("h1", {}, "Owner"), requests(asked.requests), standing.publications.length ? publications(standing.publications) : null, tokens(kept.tokens, me, new Set(found.datasets.map((dataset) => dataset.notion))), parts.map((part) => part.section));
  await Promise.all(parts.map((part) => part.draw()));
}

const STATES = { published: "published", due: "due", gap: "a gap" };

/** How far each standing publication is. */
function publications(list) {
  const lacking = (one) => {
    const due = one.missing.filter((each) => !one.gaps.includes(each));
    const lists = [["left out", one.gaps], ["due", due], ["charged, not answered", one.unanswered], ["files to be written", one.unwritten]].filter(([, periods]) => periods.length);
    return lists.length ? el("span", {}, lists.map(([words, periods], i) => [i ? "; " : null, `${words}: `, unbroken(periods, 3)]).flat(2)) : "nothing";
  };
  const rows = list.map((one) => [
    twoLines(el("a", { href: `#/series/${encodeURIComponent(one.series)}` }, one.series), one.dataset),
    el("span", { class: one.status === "published" ? "green" : "orange" }, STATES[one.status]),
    twoLines(`${one.published.toLocaleString("en")} ${one.per}${one.published === 1 ? "" : "s"}`, one.last ? el("span", {}, "the last ", unbroken([one.last])) : "none yet"),
    lacking(one),
  ]);
  return el("section", { class: "card", "aria-label": "Standing publications" }, el("h2", {}, "Standing publications"),
    el("p", { class: "hint" }, "trueup publish --due publishes what is due and mends what was not finished; let cron or a timer run it."),
    table("Series that are published again and again", ["series", "state", "published", "still to do"], rows));
}

/** Requests for more budget that await a decision, and the last that were decided. */
function requests(list) {
  const shown = el("div", {});
  const said = el("div", { role: "status" });
  let all = list;

  function draw() {
    const open = all.filter((one) => one.state === "open");
    const decided = all.filter((one) => one.state !== "open").slice(0, 5);
    fill(shown, open.length ? table("Waiting for you", ["who, of what", "asks for", "to be allowed", "~decide"], open.map(row)) : el("p", { class: "quiet" }, "Nobody asks for more."),
      decided.length ? el("p", { class: "hint" }, `Decided: ${decided.map((one) => `${one.name}, ${one.dataset}: ${one.state}`).join("; ")}.`) : null);
  }

  function row(one) {
    const limit = el("input", { value: epsilon(one.wanted), class: "short", autocomplete: "off", "data-at": "limit", "aria-label": `What ${one.name} may spend ${inAll(one)} on ${one.dataset}` });
    const own = el("div", { class: "field" }, limit);
    const decide = (decision) => async () => {
      blame(own);
      try {
        await post(`/requests/${one.number}`, decision === "grant" ? { decision, limit: limit.value.trim() } : { decision });
        all = (await get("/requests")).requests;
        draw();
        fill(said, el("p", { class: "good" }, decision === "grant" ? `${one.name} may now spend ${letter(one.notion)} = ${limit.value.trim()} ${inAll(one)} on ${one.dataset}.` : `Declined. ${one.name} sees it.`));
      } catch (wrong) {
        fill(said, blame(own, wrong) ? null : trouble(wrong.message));
      }
    };
    const now = one.limit === null ? "has no allowance yet" : `has spent ${epsilon(one.spent)} of ${epsilon(one.limit)}`;
    return [twoLines(one.name, one.dataset), twoLines(`${letter(one.notion)} = ${epsilon(one.wanted)} ${inAll(one)}`, [now, one.reason].filter(Boolean).join("; ")), own,
      el("span", { class: "row" }, el("button", { type: "button", class: "main", onclick: decide("grant") }, "Grant"), el("button", { type: "button", onclick: decide("decline") }, "Decline"))];
  }

  draw();
  return el("section", { class: "card", "aria-label": "Requests for more budget" }, el("h2", {}, "Requests for more budget"), shown, said);
}

/** What each analyst may spend on a dataset, to be changed. */
function allowances(dataset, list) {
  const said = el("div", { role: "status" });
  const rows = list.map((one) => {
    const limit = el("input", { value: one.limit === null ? "" : epsilon(one.limit), class: "short", autocomplete: "off", "data-at": "limit", "aria-label": `Allowance of ${one.name} on ${dataset.name}` });
    const own = el("div", { class: "field" }, limit);
    const set = async () => {
      blame(own);
      try {
        const now = await put(`/datasets/${encodeURIComponent(dataset.name)}/allowances/${encodeURIComponent(one.name)}`, { limit: limit.value.trim() });
        fill(said, el("p", { class: "good" }, `${one.name} may spend ${letter(now.notion)} = ${epsilon(now.limit)} ${inAll(now)}; ${epsilon(now.spent)} is spent${now.per ? ` on the fullest ${now.per}` : ""}.`));
      } catch (wrong) {
        fill(said, blame(own, wrong) ? null : trouble(wrong.message));
      }
    };
    return [one.name, epsilon(one.spent), own, el("button", { type: "button", "aria-label": `Set the allowance of ${one.name} on ${dataset.name}`, onclick: set }, "Set")];
  });
  return el("div", {}, el("h3", {}, "By person"), rows.length ? table(`What each may spend ${inAll(dataset.periods ?? {})}`, ["who", `#${letter(dataset.notion)} spent${dataset.periods ? ` on the fullest ${dataset.periods.per}` : ""}`, "of", "~set"], rows) : el("p", { class: "quiet" }, "No analyst yet."), said);
}

function verification(dataset) {
  const said = el("div", { role: "status" });
  const button = el("button", { type: "button" }, "Verify the ledger");
  button.addEventListener("click", async () => {
    button.disabled = true;
    fill(said, el("p", { class: "waiting" }, "Reading every entry …"));
    try {
      const answer = await post(`/datasets/${encodeURIComponent(dataset.name)}/verify`, {});
      fill(said, el("p", { class: "good" }, answer.sentence));
    } catch (wrong) {
      fill(said, trouble(wrong.message));
    }
    button.disabled = false;
  });
  return el("div", {}, el("h3", {}, "Ledger"),
    el("p", { class: "quiet" }, "Every charge is chained to the one before. Verifying reads all of them and compares the last with the anchor."), button, said);
}

function tokens(list, me, notions) {
  const shown = el("div", {});
  const said = el("div", { role: "status" });
  let all = list;

  function draw() {
    const rows = all.map((entry) => [
      twoLines(entry.name, entry.role),
      limitWords(entry.limits),
      entry.last_used ? twoLines(day(entry.last_used), time(entry.last_used)) : "never",
      entry.revoked ? "revoked" : day(entry.expires),
      entry.revoked || entry.name === me.name ? "" : el("button", { type: "button", class: "plain", "aria-label": `Revoke the token of ${entry.name}`, onclick: () => revoke(entry) }, "Revoke"),
    ]);
    fill(shown, table("Tokens and their limits", ["name, role", "spent, of its limit", "last used", "expires", "~revoke"], rows));
  }

  async function revoke(entry) {
    if (!(await confirmed(`Revoke the token of ${entry.name}?`, "This one token stops working at once and for good; others of the same name stay good. What was spent stays spent.", "Revoke"))) return;
    try {
      await remove(`/tokens/${entry.number}`);
      all = (await get("/tokens")).tokens;
      draw();
      fill(said, el("p", { class: "good" }, `The token of ${entry.name} is revoked.`));
    } catch (wrong) {
      fill(said, trouble(wrong.message));
    }
  }

  draw();
  const made = (created) => {
    all = [...all, created];
    draw();
  };
  return el("section", { class: "card", "aria-label": "Tokens" }, el("h2", {}, "Tokens"), shown, said, creation(made, notions));
}

/** What a token's holder has spent of its limit, dataset by dataset. */
function limitWords(limits) {
  const lines = Object.entries(limits ?? {}).map(([name, { limit, spent, notion, per }]) => el("div", { class: "unbroken" }, `${name}: ${letter(notion)} = ${epsilon(spent)} of ${epsilon(limit)}${per ? ` a ${per}` : ""}`));
  return lines.length ? el("div", {}, lines) : "–";
}

function creation(made, notions) {
  const name = el("input", { "data-at": "name", required: true, maxlength: "100", autocomplete: "off" });
  const role = el("select", {}, el("option", { value: "analyst" }, "analyst: may spend"), el("option", { value: "reader" }, "reader: sees what is published"), el("option", { value: "owner" }, "owner: everything"));
  const limits = [...notions].toSorted().map((notion) => {
    const input = el("input", { "data-at": notion === "rho" ? "rho" : "limit", autocomplete: "off", placeholder: notion === "rho" ? "1/50" : "1/2", required: true });
    return { word: notion === "rho" ? "rho" : "limit", input, field: field(`Limit of ${letter(notion)}`, input, notions.size > 1 ? `On each dataset that counts ${letter(notion)}.` : "What may be spent on each dataset.") };
  });
  const days = el("input", { type: "number", min: "1", max: "3650", value: "90", required: true });
  const said = el("div", { role: "status" });
  role.addEventListener("change", () => {
    for (const each of limits) each.field.hidden = !(each.input.required = role.value === "analyst");
  });

  async function submit(event) {
    event.preventDefault();
    const form = event.target;
    blame(form);
    try {
      const created = await post("/tokens", { name: name.value.trim(), role: role.value, ...Object.fromEntries(limits.map(({ word, input }) => [word, (role.value === "analyst" && input.value.trim()) || null])), expires: `${Number(days.value)}d` });
      made(created);
      const secret = el("code", { class: "secret" }, created.token);
      const copy = el("button", { type: "button", onclick: async () => { await navigator.clipboard.writeText(created.token); announce("Copied."); copy.textContent = "Copied"; } }, "Copy");
      fill(said, el("div", { class: "good" }, el("p", {}, `The token of ${created.name}. Hand it over now. It is shown only once; the server keeps only its hash.`), secret, " ", copy));
      form.reset();
    } catch (wrong) {
      fill(said, blame(form, wrong) ? null : trouble(wrong.message));
    }
  }

  return el("form", { onsubmit: submit }, el("h3", {}, "A new token"),
    el("div", { class: "row" }, field("Name", name), field("Role", role), limits.map((each) => each.field), field("Days until it expires", days)),
    el("button", { class: "main" }, "Create the token"), said);
}
