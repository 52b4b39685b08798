// Dragging across a picture: from bar to bar, snapped to the edges that are drawn.

import { el } from "./dom.js";

/** Calls `chosen(first, last)` with the numbers of the two edges between which was dragged. */
export function dragging(figure, placesOfEdges, chosen) {
  const shade = el("div", { class: "shade", hidden: true });
  figure.append(shade);
  let from = null;

  const area = () => figure.querySelector("svg.chart .area")?.getBoundingClientRect();

  function places() {
    const at = placesOfEdges();
    const box = area();
    if (!at || !box) return null;
    const scale = box.width / (at.at(-1) - at[0]);
    return { box, at: at.map((place) => box.left + (place - at[0]) * scale) };
  }

  /** The bar under a point, as the number of its left edge. */
  function barAt(x, at) {
    let bar = 0;
    while (bar < at.length - 2 && at[bar + 1] <= x) bar += 1;
    return bar;
  }

  function show(event) {
    const { box, at } = places();
    const to = barAt(event.clientX, at);
    const [first, last] = [Math.min(from, to), Math.max(from, to) + 1];
    const corner = figure.getBoundingClientRect();
    Object.assign(shade.style, {
      left: `${at[first] - corner.left}px`, width: `${at[last] - at[first]}px`,
      top: `${box.top - corner.top}px`, height: `${box.height}px`,
    });
    shade.hidden = false;
    return [first, last];
  }

  function stop() {
    from = null;
    shade.hidden = true;
  }

  figure.addEventListener("pointerdown", (event) => {
    const found = places();
    if (!found || event.button !== 0) return;
    const { box, at } = found;
    if (event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom) return;
    from = barAt(event.clientX, at);
    figure.setPointerCapture(event.pointerId);
    show(event);
  }, true);
  figure.addEventListener("pointermove", (event) => from !== null && show(event), true);
  figure.addEventListener("pointerup", (event) => {
    if (from === null) return;
    const [first, last] = show(event);
    stop();
    chosen(first, last);
  }, true);
  figure.addEventListener("pointercancel", stop, true); // the page was scrolled instead
}
