// A chart: its frame, its ticks, what is said of the place under the pointer, and drawing it again
// when its width changes.

import { el, fill, paused } from "./dom.js";
import { cut, scale, svg, wide } from "./svg.js";

const drawn = new Map(); // each picture on screen and how it is made: its width may change

addEventListener("resize", paused(100, () => {
  for (const [target, make] of drawn) {
    if (target.isConnected) draw(target, make);
    else drawn.delete(target);
  }
}));

/** Draws what `make(width)` gives, now and whenever the width changes. */
export function draw(target, make) {
  drawn.set(target, make);
  if (!target.clientWidth) return; // hidden behind its table
  const { picture, tells } = make(target.clientWidth);
  fill(target, picture, tip(picture, tells));
}

/** The picture that is drawn in an element. */
export const pictureIn = (target) => target.querySelector("svg.chart");

/**
 * The frame of a chart, and its two scales. x: {kind, domain, title, words}, where words are labels
 * under the middles of bands; y: {kind, domain, title, percent}.
 */
export function frame(width, height, x, y, room = {}) {
  const size = width < 560 ? 12 : 13;
  const top = room.top ?? 26;
  const named = x.words ? labelled(x, width, size) : null;
  const bottom = (named ? named.height : size + 10) + (x.title ? size + 8 : 2);
  const plain = scale(y.words ? "none" : y.kind, y.domain, [height - bottom, top], 44);
  const down = y.words ? { ...plain, ticks: bands(y, Math.abs(plain.at(y.domain[0]) - plain.at(y.domain[1])), size, width / 4) } : plain;
  const sayY = y.percent ? (tick) => `${Math.round(100 * tick.value)} %` : (tick) => tick.words;
  const left = Math.ceil(Math.max(16, ...down.ticks.map((tick) => wide(sayY(tick), size)))) + 10;
  const right = width - (room.right ?? 12);
  const across = scale(x.words ? "none" : x.kind, x.domain, [left, right], x.kind === "time" ? 70 : width < 560 ? 55 : 80);
  const words = (attributes, text) => svg("text", { "font-size": size, fill: "var(--quiet)", ...attributes }, text);
  const inner = { class: "area", x: left, y: top, width: right - left, height: height - bottom - top, fill: "transparent" };
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "system-ui, sans-serif", "aria-hidden": "true" },
    svg("g", { class: "grid", stroke: "var(--line)" }, (y.words ? [] : down.ticks).map((tick) => svg("line", { x1: left, x2: right, y1: down.at(tick.value), y2: down.at(tick.value) }))),
    svg("g", { class: "yticks" }, down.ticks.map((tick) => svg("g", { class: "ytick" }, words({ x: left - 7, y: down.at(tick.value) + size / 3, "text-anchor": "end" }, sayY(tick))))),
    svg("g", { class: "xticks" }, (named ? named.ticks(across, height - bottom, words) : across.ticks.map((tick) => svg("g", { class: "xtick" },
      svg("line", { x1: across.at(tick.value), x2: across.at(tick.value), y1: height - bottom, y2: height - bottom + 4, stroke: "var(--edge)" }),
      words({ x: Math.min(across.at(tick.value), right - wide(tick.words, size) / 2 + 10), y: height - bottom + size + 6, "text-anchor": "middle" }, tick.words))))),
    words({ x: 2, y: size + 1, class: "ytitle" }, cut(y.title, size, width - 4)),
    x.title ? words({ x: (left + right) / 2, y: height - 5, "text-anchor": "middle", class: "xtitle" }, cut(x.title, size, right - left)) : null,
    svg("g", { class: "marks" }), svg("g", { class: "drawn" }),
    svg("line", { x1: left, x2: right, y1: height - bottom, y2: height - bottom, stroke: "var(--edge)" }),
    svg("line", { class: "guide", y1: top, y2: height - bottom, stroke: "var(--edge)", "stroke-dasharray": "3 3", visibility: "hidden" }),
    svg("rect", inner));
  return { picture, x: across, y: down, left, right, top, bottom: height - bottom, marks: picture.querySelector(".marks"), drawn: picture.querySelector(".drawn") };
}

/** Labels beside the middles of bands, as many as fit. */
function bands({ words, domain }, tall, size, most) {
  const step = Math.max(1, Math.ceil((size + 4) / (tall / words.length)));
  const broad = (domain[1] - domain[0]) / words.length;
  return words.map((label, i) => ({ value: domain[0] + (i + 0.5) * broad, words: cut(label, size, most) })).filter((_, i) => i % step === 0);
}

/** Labels under the middles of bands: level if they fit, slanted if not, fewer if even that is too many. */
function labelled({ words, domain }, width, size) {
  const all = words.map((label) => (label.length > 24 ? `${label.slice(0, 23)}…` : label));
  const room = (width - 80) / all.length;
  const widest = Math.max(...all.map((label) => wide(label, size)));
  const level = widest + 10 <= room;
  const step = level ? 1 : Math.max(1, Math.ceil((size + 8) / room));
  const shown = all.map((_, i) => i).filter((i) => i % step === 0);
  const broad = (domain[1] - domain[0]) / all.length;
  return {
    height: level ? size + 10 : Math.min(widest, 160) * 0.64 + size + 6,
    ticks: (across, floor, write) => shown.map((i) => {
      const x = across.at(domain[0] + (i + 0.5) * broad);
      return svg("g", { class: "xtick" }, level
        ? write({ x, y: floor + size + 6, "text-anchor": "middle" }, all[i])
        : write({ x: x + 4, y: floor + size + 1, "text-anchor": "end", transform: `rotate(-40 ${x + 4} ${floor + size + 1})` }, all[i]));
    }),
  };
}

/** What is said of the place under the pointer: `tells(x, y)` gives {x, lines} or nothing. */
function tip(picture, tells) {
  const box = el("div", { class: "tip", hidden: true });
  if (!tells) return box;
  const guide = picture.querySelector(".guide");
  const hide = () => {
    box.hidden = true;
    guide.setAttribute("visibility", "hidden");
  };
  picture.addEventListener("pointermove", (event) => {
    const corner = picture.getBoundingClientRect();
    const found = tells(event.clientX - corner.left, event.clientY - corner.top);
    if (!found) return hide();
    fill(box, found.lines.map((line, i) => el(i === 1 ? "b" : "div", {}, line)));
    box.hidden = false;
    const left = found.x + 14 + box.offsetWidth > corner.width ? found.x - 14 - box.offsetWidth : found.x + 14;
    box.style.left = `${Math.max(0, left)}px`;
    box.style.top = `${Math.max(0, event.clientY - corner.top - 20 - box.offsetHeight / 2)}px`;
    for (const side of ["x1", "x2"]) guide.setAttribute(side, found.x);
    guide.setAttribute("visibility", "visible");
    return undefined;
  });
  picture.addEventListener("pointerleave", hide);
  return box;
}

/** The number of the value nearest to a pixel, among rising pixels. */
export function nearest(pixels, x) {
  let [low, high] = [0, pixels.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (pixels[middle] <= x) low = middle;
    else high = middle;
  }
  return x - pixels[low] <= pixels[high] - x ? low : high;
}
