// What a picture of a release shows, in words and as a table.

import * as axes from "../axis.js";
import { el, table } from "../dom.js";
import { count, percent, to } from "../numbers.js";
import { isPooled } from "./versions.js";

/** The sentence under a picture. */
export const words = (release, view, state) => (release.kind === "sorted" ? sortedWords(release, view, state) : histogramWords(release, view, state));

function histogramWords(release, view, state) {
  const { axis, cells } = release;
  const shown = `${axes.between(axis, view.edges[0], view.edges.at(-1))}: ${count(view.cells.at(-1) - view.cells[0])} of ${count(cells)} cells`;
  if (state.show === "cdf") return [`${shown}. The line is the share of the total below each value; the band holds each true share ${percent(state.level)} of the time.`];
  const step = view.cells_per_point;
  const bars = `${step === 1 ? "1 cell" : `${count(step)} cells`} a bar`;
  if (state.show === "table") return [`${shown}, ${bars}.`];
  const whose = state.version === "whole" && !isPooled(release) ? " of the unbiased counts" : "";
  return [`${shown}, ${bars}. `, el("b", { class: "orange" }, "Orange"), `: ${percent(state.level)} intervals${whose}. `,
    ...(state.other ? [el("b", { class: "purple" }, "Purple line"), ": the release it is compared with. "] : []),
    ...(state.raw && !view.raw ? ["The cells themselves were not asked, so there are no raw answers to show."] : []),
    ...(view.raw ? [el("b", { class: "purple" }, "Purple diamonds"), ": the noisy answers as they were measured, added up. Making all answers agree turned them into the bars, which are nearer the truth."] : [])];
}

function sortedWords(release, view, state) {
  return [`${count(release.cells)} groups by their counts, largest first. The band holds the whole true sequence ${percent(state.level)} of the time. `,
    ...(view.raw ? [el("b", { class: "purple" }, "Purple diamonds"), ": the noisy answers as measured. The order that true counts must have removes most of their noise."] : [])];
}

/** What the picture shows, as a table. */
export function numbers(release, view, level) {
  const raw = view.raw ? ["#as measured"] : [];
  const ends = `#${percent(level)} interval`;
  if (release.kind === "sorted") {
    return table("Counts, largest first", ["#rank", "#count", ends, ...raw],
      view.ranks.map((rank, i) => [count(rank), count(view.counts[i]), to(view.low[i], view.high[i]), ...(view.raw ? [count(view.raw[i])] : [])]));
  }
  return table(`Counts of ${release.column}, as far as they are zoomed`, [release.column, "#count", ends, ...raw],
    view.counts.map((value, i) => [axes.between(release.axis, view.edges[i], view.edges[i + 1]), count(value), to(view.low[i], view.high[i]), ...(view.raw ? [count(view.raw[i])] : [])]));
}
