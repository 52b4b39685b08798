// Owner: charges over time, limits, tokens, and whether the ledger is whole.

import { get, post, remove, withParameters } from "../api.js";
import { confirmed } from "../dialog.js";
import { announce, el, field, fill, table, trouble, twoLines } from "../dom.js";
import { day, epsilon } from "../numbers.js";
import { chargesOf } from "./charges.js";

export async function owner(page, { me, signal }) {
  if (me.role !== "owner") {
    fill(page, el("h1", {}, "Owner"), el("p", {}, `Only the owner can see this view; you are signed in as ${me.role}.`));
    return;
  }
  const [found, kept] = await Promise.all([get("/datasets", signal), get("/tokens", signal)]);
  const parts = await Promise.all(found.datasets.map((dataset) => chargesOf(dataset, "Budget", dataset, signal)));
  parts.forEach((part, i) => part.section.append(verification(found.datasets[i])));
  fill(page, el("h1", {}, "Owner"), tokens(kept.tokens, me), parts.map((part) => part.section));
  await Promise.all(parts.map((part) => part.draw()));
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

function tokens(list, me) {
  const shown = el("div", {});
  const said = el("div", { role: "status" });
  let all = list;

  function draw() {
    const rows = all.map((entry) => [
      twoLines(entry.name, entry.role),
      limitWords(entry.limits),
      entry.revoked ? "revoked" : day(entry.expires),
      entry.revoked || entry.name === me.name ? "" : el("button", { type: "button", class: "plain", "aria-label": `Revoke the token of ${entry.name}`, onclick: () => revoke(entry) }, "Revoke"),
    ]);
    fill(shown, table("Tokens and their limits", ["name, role", "ε spent, of its limit", "expires", "~revoke"], rows));
  }

  async function revoke(entry) {
    if (!(await confirmed(`Revoke the token of ${entry.name}?`, `It stops working at once and for good. What it has spent stays spent.`, "Revoke"))) return;
    try {
      await remove(withParameters("/tokens", { name: entry.name }));
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
  return el("section", { class: "card", "aria-label": "Tokens" }, el("h2", {}, "Tokens"), shown, said, creation(made));
}

/** What a token's holder has spent of its limit, dataset by dataset. */
function limitWords(limits) {
  const lines = Object.entries(limits ?? {}).map(([name, { limit, spent }]) => el("div", {}, `${name}: ${epsilon(spent)} of ${epsilon(limit)}`));
  return lines.length ? el("div", {}, lines) : "–";
}

function creation(made) {
  const name = el("input", { required: true, maxlength: "100", autocomplete: "off" });
  const role = el("select", {}, el("option", { value: "analyst" }, "analyst: may spend"), el("option", { value: "reader" }, "reader: sees what is published"), el("option", { value: "owner" }, "owner: everything"));
  const limit = el("input", { autocomplete: "off", placeholder: "1/2", required: true });
  const days = el("input", { type: "number", min: "1", max: "3650", value: "90", required: true });
  const said = el("div", { role: "status" });
  const limited = field("Limit of ε", limit, "What may be spent on each dataset.");
  role.addEventListener("change", () => (limited.hidden = !(limit.required = role.value === "analyst")));

  async function submit(event) {
    event.preventDefault();
    try {
      const created = await post("/tokens", { name: name.value.trim(), role: role.value, limit: (role.value === "analyst" && limit.value.trim()) || null, expires: `${Number(days.value)}d` });
      made(created);
      const secret = el("code", { class: "secret" }, created.token);
      const copy = el("button", { type: "button", onclick: async () => { await navigator.clipboard.writeText(created.token); announce("Copied."); copy.textContent = "Copied"; } }, "Copy");
      fill(said, el("div", { class: "good" }, el("p", {}, `The token of ${created.name}. Hand it over now. It is shown only once; the server keeps only its hash.`), secret, " ", copy));
      event.target.reset();
    } catch (wrong) {
      fill(said, trouble(wrong.message));
    }
  }

  return el("form", { onsubmit: submit }, el("h3", {}, "A new token"),
    el("div", { class: "row" }, field("Name", name), field("Role", role), limited, field("Days until it expires", days)),
    el("button", { class: "main" }, "Create the token"), said);
}
