// Sign in: a token, for which the server gives the browser a session.

import { session } from "../api.js";
import { blame, el, field, fill, trouble } from "../dom.js";

export function signIn(page, why, done) {
  const said = el("div", {}, why && trouble(why));
  const input = el("input", { type: "password", "data-at": "token", autocomplete: "current-password", required: true, spellcheck: "false", autocapitalize: "off" });
  const button = el("button", { class: "main" }, "Sign in");
  const shown = el("input", { type: "checkbox", onchange: () => (input.type = shown.checked ? "text" : "password") });

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    blame(event.target);
    try {
      await session.begin(input.value.trim());
      done();
    } catch (wrong) {
      fill(said, blame(event.target, { message: wrong.message, pointer: wrong.status ? "/token" : null }) ? null : trouble(wrong.message));
      button.disabled = false;
      input.focus();
    }
  }

  fill(page, el("form", { class: "card narrow", onsubmit: submit },
    el("h1", {}, "Sign in"),
    el("p", {}, "Counts of sensitive tables that protect everyone in them, and always add up."),
    said,
    field("Token", input, "The owner of the data gives you one. The page does not keep it; you stay signed in for some hours, in every tab."),
    el("label", { class: "check" }, shown, "Show the token"),
    button));
}
