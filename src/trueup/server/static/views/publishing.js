// The owner makes a release public: whoever has the link reads it, without a token.

import { put, remove } from "../api.js";
import { confirmed } from "../dialog.js";
import { el, field, fill, trouble } from "../dom.js";

export function publishing(release) {
  const address = `/releases/${encodeURIComponent(release.id)}/public`;
  const body = el("div", {});
  const said = el("div", { role: "status" });

  async function change(send) {
    try {
      draw((await send()).link);
      fill(said);
    } catch (wrong) {
      fill(said, trouble(wrong.message));
    }
  }

  async function publish() {
    const yes = await confirmed("Make this release public?", "Whoever has the link can read this release without a token. It costs no budget: the noise protects everyone whoever reads it. You can take the link back; what was read with it stays read.", "Make it public");
    if (yes) await change(() => put(address, {}));
  }

  function draw(link) {
    if (!link) {
      fill(body, el("p", { class: "quiet" }, "Only people with a token can see this release."), el("button", { type: "button", onclick: publish }, "Make it public"));
      return;
    }
    const shown = el("input", { readonly: true, value: `${location.href.split("#")[0]}#/public/${link}`, onfocus: () => shown.select() });
    fill(body, el("div", { class: "row level" }, field("Public link", shown, "Opens without a token."), el("button", { type: "button", onclick: () => change(() => remove(address)) }, "Take it back")));
  }

  draw(release.link);
  return el("section", { class: "card", "aria-label": "Public link" }, el("h2", {}, "Public link"), body, said);
}
