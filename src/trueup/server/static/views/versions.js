// The versions of a release, and what each is for.

import { announce, choice, el, fill } from "../dom.js";

const VERSIONS = {
  unbiased: ["Unbiased", "Right on average: compute with these. Sums and differences stay right; a count may be negative or a fraction. Each is shown rounded, so that a sum may seem off by one; whole counts add up as shown."],
  whole: ["Non-negative whole", "Whole numbers that are never negative, for people to read and for programs that need counts. They still add up, but nearly empty cells come out a little high. The intervals are those of the unbiased counts, cut to whole numbers from 0 and stretched to hold the count."],
};

const POOLED_VERSIONS = {
  unbiased: ["As inferred", "Before counts are made non-negative. Cells that were counted together share their count evenly, which the truth need not: the intervals allow for that, so read those. A count may be negative or a fraction."],
  whole: ["Non-negative whole", "Whole numbers that are never negative, nearest to the truth where many cells are empty. They add up as shown. Each interval holds the true count at least as often as it says."],
};

const SORTED_VERSIONS = {
  unbiased: ["As inferred", "The nearest sequence that is in order; counts may be fractions."],
  whole: ["Non-negative whole", "The same in whole numbers, still in order, for people to read and for programs that need counts."],
};

/** Whether small neighbours were counted together, as noise had it. */
export const isPooled = (release) => String(release.strategy).startsWith("adaptive");

/** The version that is shown first: of pooled counts the one that errs least. */
export const firstVersion = (release) => (isPooled(release) && release.versions.includes("whole") ? "whole" : "unbiased");

const meanings = (release) => {
  if (release.kind !== "sorted") return isPooled(release) ? POOLED_VERSIONS : VERSIONS;
  return release.fractions ? SORTED_VERSIONS : { ...SORTED_VERSIONS, unbiased: ["As inferred", "The nearest sequence that is in order, in whole numbers."] };
};

/** The switch between versions, and the sentence that goes with the one chosen. */
export function versionChoice(release, state, changed) {
  const meaning = meanings(release);
  const words = el("p", { class: "hint" }, meaning[state.version][1]);
  const options = Object.fromEntries(release.versions.map((version) => [version, meaning[version][0]]));
  const parts = choice("Counts", options, state.version, (value) => {
    state.version = value;
    fill(words, meaning[value][1]);
    announce(meaning[value][1]);
    changed();
  });
  return { choice: parts, words };
}
