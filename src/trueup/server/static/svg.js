// SVG made, scales and their ticks: all that the pictures of this page need of a chart library.

const SPACE = "http://www.w3.org/2000/svg";
const FONT = "system-ui, sans-serif";

/** An SVG element. Text is always text. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(name, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const pen = document.createElement("canvas").getContext("2d");

/** How wide words are, in pixels. */
export function wide(words, size) {
  pen.font = `${size}px ${FONT}`;
  return pen.measureText(words).width;
}

/** Words cut to a width, with a sign that they were cut. */
export function cut(words, size, most) {
  if (wide(words, size) <= most) return words;
  let length = words.length;
  while (length > 1 && wide(`${words.slice(0, length)}…`, size) > most) length -= 1;
  return `${words.slice(0, length)}…`;
}

const rounded = (value) => Math.round(10 * value) / 10;

/** A path through points; where `steps`, flat until the next one. */
export function through(xs, ys, steps = false) {
  let path = "";
  xs.forEach((x, i) => {
    if (i === 0) path += `M${rounded(x)},${rounded(ys[i])}`;
    else path += steps ? `H${rounded(x)}V${rounded(ys[i])}` : `L${rounded(x)},${rounded(ys[i])}`;
  });
  return path;
}

/** The area between two lines. */
export function area(xs, low, high, steps = false) {
  const back = steps
    ? xs.map((_, i) => xs.length - 1 - i).map((i, turn) => (turn === 0 ? `L${rounded(xs[i])},${rounded(low[i])}` : `V${rounded(low[i])}H${rounded(xs[i])}`)).join("")
    : [...xs].reverse().map((x, turn) => `L${rounded(x)},${rounded(low[xs.length - 1 - turn])}`).join("");
  return `${through(xs, high, steps)}${back}Z`;
}

/** A scale: where values of its domain lie between two pixels, and its ticks about so far apart. */
export function scale(kind, domain, pixels, apart) {
  const [low, high] = kind === "log" ? domain.map(Math.log10) : domain;
  const span = high - low || 1;
  const value = kind === "log" ? Math.log10 : (x) => x;
  const at = (x) => pixels[0] + ((value(x) - low) / span) * (pixels[1] - pixels[0]);
  const most = Math.max(2, Math.floor(Math.abs(pixels[1] - pixels[0]) / apart));
  return { at, domain, ticks: TICKS[kind](domain, most) };
}

const TICKS = { linear, log, time, none: () => [] };

function linear([low, high], most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => (high - low) / size <= most) ?? 10 * power;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) {
    const value = Number((i * step).toFixed(Math.min(digits, 20)));
    ticks.push({ value, words: number(value, step) });
  }
  return ticks;
}

function number(value, step) {
  const grouped = Math.abs(value) >= 10_000 && step >= 1;
  return (value + 0).toLocaleString("en", { maximumFractionDigits: 12, useGrouping: grouped }).replace("-", "−");
}

function log([low, high], most) {
  const [first, last] = [Math.floor(Math.log10(low) + 1e-9), Math.ceil(Math.log10(high) - 1e-9)];
  const decades = last - first + 1;
  const digits = decades * 3 <= most ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((decades * digits.length) / (most + 1)));
  const ticks = [];
  for (let power = first; power <= last; power += every) {
    for (const digit of digits) {
      const value = digit * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push({ value, words: value.toLocaleString("en", { maximumSignificantDigits: 3 }) });
    }
  }
  return ticks;
}

const [SECOND, MINUTE, HOUR, DAY] = [1e3, 6e4, 36e5, 864e5];
const EVEN = [[SECOND, 1], [SECOND, 15], [MINUTE, 1], [MINUTE, 5], [MINUTE, 15], [MINUTE, 30], [HOUR, 1], [HOUR, 3], [HOUR, 6], [HOUR, 12], [DAY, 1], [DAY, 2], [DAY, 7], [DAY, 14]];

function time([low, high], most) {
  const even = EVEN.find(([unit, times]) => (high - low) / (unit * times) <= most);
  if (even) {
    const step = even[0] * even[1];
    const ticks = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push({ value: at, words: moment(at, step) });
    return ticks;
  }
  const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 12_000].find((size) => (high - low) / (size * 30.4 * DAY) <= most) ?? 120_000;
  const ticks = [];
  const begin = new Date(low);
  for (let month = Math.floor((begin.getUTCFullYear() * 12 + begin.getUTCMonth()) / months) * months; ; month += months) {
    const at = new Date(0).setUTCFullYear(Math.floor(month / 12), ((month % 12) + 12) % 12, 1);
    if (at > high) return ticks;
    if (at >= low) ticks.push({ value: at, words: months >= 12 ? String(new Date(at).getUTCFullYear()) : written(at, { month: "short", ...(ticks.length === 0 || month % 12 === 0 ? { year: "numeric" } : {}) }) });
  }
}

const written = (at, style) => new Date(at).toLocaleString("en-GB", { ...style, timeZone: "UTC" });
const moment = (at, step) => (step >= DAY || at % DAY === 0 ? written(at, { day: "numeric", month: "short" }) : written(at, { timeStyle: step < MINUTE ? "medium" : "short" }));

const resolved = (text) => {
  const style = getComputedStyle(document.documentElement);
  return text.replaceAll(/var\(--([\w-]+)\)/g, (_, name) => style.getPropertyValue(`--${name}`).trim());
};

/** A picture as the text of an SVG file: its colours written out, on its own paper. */
export function fileOf(picture, title) {
  const copy = picture.cloneNode(true);
  const [, , width, height] = picture.getAttribute("viewBox").split(" ");
  copy.querySelectorAll(".area, .guide").forEach((one) => one.remove());
  copy.setAttribute("xmlns", SPACE);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.prepend(svg("title", {}, title), svg("rect", { width, height, fill: "var(--card)" }));
  return resolved(new XMLSerializer().serializeToString(copy));
}

/** The same as a PNG, twice as fine as the screen. */
export async function pngOf(picture, title) {
  const text = fileOf(picture, title);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
