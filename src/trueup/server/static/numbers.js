// Numbers as people write them, and ε as exact fractions.

function divisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
}

/** An exact fraction from "1/10", "0.1" or "2"; null if the text is none. */
export function exact(text) {
  const found = /^\s*(\d+)(?:\.(\d+))?\s*(?:\/\s*(\d+))?\s*$/.exec(String(text));
  if (!found) return null;
  const [, whole, part = "", under = "1"] = found;
  const scale = 10n ** BigInt(part.length);
  return reduced(BigInt(whole + part), scale * BigInt(under));
}

function reduced(top, bottom) {
  if (bottom === 0n) return null;
  const common = divisor(top, bottom) || 1n;
  return { top: top / common, bottom: bottom / common };
}

export const minus = (a, b) => reduced(a.top * b.bottom - b.top * a.bottom, a.bottom * b.bottom);
export const plus = (a, b) => reduced(a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom);
export const isLess = (a, b) => a.top * b.bottom < b.top * a.bottom;
export const real = (a) => Number(a.top) / Number(a.bottom);

/** The fraction as a decimal where that is exact and short, as a fraction otherwise. */
export function written(fraction) {
  const { top, bottom } = fraction;
  const scaled = top * 1_000_000n;
  if (scaled % bottom) return `${top}/${bottom}`;
  return String(Number(scaled / bottom) / 1e6);
}

/** Exact ε or ρ as given by the server, in its shortest exact form. */
export const epsilon = (text) => (exact(text) ? written(exact(text)) : String(text));

/** The letter of what a ledger counts. */
export const letter = (notion) => (notion === "rho" ? "ρ" : "ε");

/** What something was asked with: "ε = 0.1" or "ρ = 0.005". */
export const price = ({ epsilon: given, rho }) => (given ? `ε = ${epsilon(given)}` : `ρ = ${epsilon(rho)}`);

/** What a charge took from its ledger, as text. */
export const charged = ({ epsilon: given, rho }) => rho ?? given;

/** What ρ means as (ε, δ), in words; nothing for ε, and for nothing spent. */
export const meant = (shown) => (shown && shown.delta > 0 ? `as (ε, δ): ε = ${shown.epsilon}, δ = ${String(shown.delta).replace("e-0", "e-")}` : "");

/** A positive number as text of three figures, rounded up. */
export function upTo3(value) {
  const power = Math.floor(Math.log10(value)) - 2;
  const figures = Math.ceil(value / 10 ** power - 1e-9);
  return power < 0 ? (figures * 10 ** power).toFixed(Math.min(-power, 15)).replace(/0+$/, "").replace(/\.$/, "") : String(figures * 10 ** power);
}

const signed = (words) => words.replace("-", "−");

/** A count: thousands apart, three figures if it is small. */
export function count(value) {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return signed((Math.round(value) + 0).toLocaleString("en"));
  return signed(Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }));
}

/** The number that `count` writes. */
const asShown = (value) => (Number.isInteger(value) || Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)));

/** How much a count is above another, signed: as a reader finds it who subtracts the two that are shown. */
export function above(value, other) {
  const by = Number((asShown(value) - asShown(other)).toFixed(6)) + 0;
  return `${by > 0 ? "+" : ""}${signed(by.toLocaleString("en", { maximumFractionDigits: 6 }))}`;
}

/** The two ends of an interval, rounded outward so that they hold what they held. */
function ends(low, high) {
  const step = Math.max(Math.abs(low), Math.abs(high)) >= 100 ? 1 : 0.1;
  const tidy = (value) => signed((Number((value * step).toFixed(1)) + 0).toLocaleString("en"));
  return [tidy(Math.floor(low / step)), tidy(Math.ceil(high / step))];
}

/** Half the width of an interval, rounded up: what a ± says. */
export function half(low, high) {
  const reach = (high - low) / 2;
  return reach >= 100 ? count(Math.ceil(reach)) : count(Math.ceil(10 * reach - 1e-9) / 10);
}

export const between = (low, high) => ends(low, high).join(" and ");
export const to = (low, high) => ends(low, high).join(" to ");

export const percent = (share) => `${Number((100 * share).toPrecision(4))}\u00a0%`;

const shown = (text, style) => new Date(text).toLocaleString("en-GB", { ...style, timeZone: "UTC" });
export const day = (text) => (text ? shown(text, { dateStyle: "medium" }) : "never");
export const time = (text) => `${shown(text, { timeStyle: "short" })} UTC`;

/** A number of bytes: "26 GB". */
export function size(bytes) {
  const power = Math.max(0, Math.min(4, Math.floor(Math.log10(bytes) / 3)));
  return `${Number((bytes / 1000 ** power).toPrecision(2))} ${["bytes", "kB", "MB", "GB", "TB"][power]}`;
}
