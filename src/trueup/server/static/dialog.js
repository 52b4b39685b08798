// Asking before something is done that cannot be undone.

import { el } from "./dom.js";

/** Whether the person agreed, asked in a dialog that keyboard and screen reader stay inside of. */
export function confirmed(title, words, yes) {
  return new Promise((resolve) => {
    const dialog = el("dialog", { "aria-labelledby": "dialog-title", onclose: () => { resolve(dialog.returnValue === "yes"); dialog.remove(); } },
      el("form", { method: "dialog" },
        el("h2", { id: "dialog-title" }, title), [words].flat().map((line) => el("p", {}, line)),
        el("div", { class: "row end" }, el("button", { value: "no", formnovalidate: true }, "Cancel"), el("button", { value: "yes", class: "main" }, yes))));
    document.body.append(dialog);
    dialog.showModal();
  });
}
