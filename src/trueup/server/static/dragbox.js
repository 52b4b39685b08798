// Dragging a box over a grid, snapped to the edges that are drawn.

import { el } from "./dom.js";

/** Calls `chosen([first, last], [first, last])` with the numbers of the edges of the box, side by side. */
export function draggingBox(figure, placesOfEdges, chosen) {
  const shade = el("div", { class: "shade", hidden: true });
  figure.append(shade);
  let from = null;

  function places() {
    const sides = placesOfEdges();
    const box = figure.querySelector("svg.chart .area")?.getBoundingClientRect();
    if (!sides || !box) return null;
    const [across, down] = sides;
    const x = (place) => box.left + ((place - across[0]) / (across.at(-1) - across[0])) * box.width;
    const y = (place) => box.bottom - ((place - down[0]) / (down.at(-1) - down[0])) * box.height;
    return { box, at: [across.map(x), down.map(y)] };
  }

  const cellAt = (point, edges, sign) => {
    let cell = 0;
    while (cell < edges.length - 2 && sign * edges[cell + 1] <= sign * point) cell += 1;
    return cell;
  };

  function show(event) {
    const { at } = places();
    const to = [cellAt(event.clientX, at[0], 1), cellAt(event.clientY, at[1], -1)];
    const found = to.map((cell, side) => [Math.min(from[side], cell), Math.max(from[side], cell) + 1]);
    const corner = figure.getBoundingClientRect();
    const [[a, b], [c, d]] = [found[0].map((edge) => at[0][edge]), found[1].map((edge) => at[1][edge])];
    Object.assign(shade.style, { left: `${a - corner.left}px`, width: `${b - a}px`, top: `${d - corner.top}px`, height: `${c - d}px` });
    shade.hidden = false;
    return found;
  }

  const stop = () => {
    from = null;
    shade.hidden = true;
  };

  figure.addEventListener("pointerdown", (event) => {
    const found = places();
    if (!found || event.button !== 0) return;
    const { box, at } = found;
    if (event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom) return;
    from = [cellAt(event.clientX, at[0], 1), cellAt(event.clientY, at[1], -1)];
    figure.setPointerCapture(event.pointerId);
    show(event);
  }, true);
  figure.addEventListener("pointermove", (event) => from !== null && show(event), true);
  figure.addEventListener("pointerup", (event) => {
    if (from === null) return;
    const found = show(event);
    stop();
    chosen(...found);
  }, true);
  figure.addEventListener("pointercancel", stop, true);
}
