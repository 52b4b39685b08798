// Moving over an axis without dragging.

import { el } from "./dom.js";

/** Buttons that move over the axis, cell by whole cell. */
export function zoomButtons(size, current, move) {
  const to = (start, width) => {
    const wide = Math.max(1, Math.min(size, Math.round(width)));
    const from = Math.max(0, Math.min(size - wide, Math.round(start)));
    move(from, from + wide);
  };
  const button = (label, sign, step) => el("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick() {
    const [start, stop] = current();
    if (this.getAttribute("aria-disabled") !== "true") step(start, stop - start);
  } }, sign);
  const closer = button("Zoom in", "+", (start, width) => to(start + width / 4, width / 2));
  const further = button("Zoom out", "−", (start, width) => to(start - width / 2, 2 * width));
  const left = button("Move left", "←", (start, width) => to(start - width / 2, width));
  const right = button("Move right", "→", (start, width) => to(start + width / 2, width));
  const whole = el("button", { type: "button", "aria-label": "Whole axis", title: "Whole axis", onclick: () => move(0, size) }, "All");
  return {
    parts: el("div", { class: "zoom", role: "group", "aria-label": "Zoom" }, closer, further, left, right, whole),
    refresh() {
      const [start, stop] = current();
      const all = start === 0 && stop === size;
      // Not "disabled": a button that is disabled while it has the focus loses it.
      for (const [one, off] of [[closer, stop - start <= 1], [further, all], [whole, all], [left, start === 0], [right, stop === size]]) one.setAttribute("aria-disabled", off);
    },
  };
}
