// A series: one question published again in every period. Over time first; a brush chooses periods,
// whose sum is the answer; their picture, and how they differ from others, below.

import * as axes from "../axis.js";
import { get, post, withParameters } from "../api.js";
import { announce, blame, choice, el, field, fill, newest, ofSample, table, trouble, unbroken } from "../dom.js";
import { dragging } from "../drag.js";
import { above, count, epsilon, letter, percent, to } from "../numbers.js";
import { drawHistogram } from "../plot.js";
import { drawTimeline, edgesOf } from "../timeline.js";
import { downloads } from "./downloads.js";
import { large, rangeInputs } from "./ranges.js";
import { versionChoice } from "./versions.js";

const FEW_LINKS = 60; // periods of a series that cannot be added up, newest first

export async function series(page, { subject, query, signal }) {
  const address = `/series/${encodeURIComponent(subject)}`;
  const found = await get(address, signal);
  if (!found.published) {
    fill(page, ...heading(found), el("p", {}, "Nothing is published yet."));
    return;
  }
  if (found.kind === "sorted") {
    await listed(page, address, found, signal);
    return;
  }
  const about = found.about.length === 1 ? found.about[0] : null; // of a grid the total is shown
  const axis = about?.axis ?? null;
  const state = restored(query, axis);
  const [picture, small] = [el("div", { class: "picture", role: "img" }), el("div", { class: "picture", role: "img" })];
  const figure = el("div", { class: "figure" }, picture);
  const [answer, note, said, tabled, drawn, compared, wrong] = [el("p", { class: "answer" }), el("p", { class: "hint note" }), el("div", {}), el("div", { class: "figures" }), el("div", {}), el("div", {}), el("div", {})];
  const begun = newest(signal);
  let points = [];
  let isStale = true;
  let did = false;

  const words = () => (state.range ? `${about.title} ${axes.between(axis, ...state.range)}` : about ? `all of ${about.title}` : "all cells");
  const ranged = () => (state.range ? { low: state.range[0], high: state.range[1] } : {});
  const place = (period) => points.findIndex((point) => point.period === period);
  /** The first of the latest points that can be added up at once, missing periods counted. */
  const latest = () => {
    let start = Math.max(0, points.length - found.at_once);
    while (points.length - start + found.gaps.filter((gap) => gap > points[start].period).length > found.at_once && start < points.length - 1) start += 1;
    return start;
  };
  const chosen = () => [place(state.first) < 0 ? latest() : place(state.first), place(state.through) < 0 ? points.length - 1 : place(state.through)];
  const stretch = () => chosen().map((i) => points[i].period);
  const named = ([first, last]) => (first === last ? first : `${first} to ${last}`);

  /** Every point, page after page: drawn when all are here. */
  async function fetchPoints(own) {
    const every = [];
    let start = 0;
    while (start !== null) {
      const asked = { ...ranged(), version: state.version, level: state.level, start };
      const part = await get(withParameters(`${address}/over`, asked), own);
      every.push(...part.points);
      start = part.next;
    }
    points = every;
    isStale = false;
  }

  async function load({ again = true } = {}) {
    const own = begun();
    isStale ||= again; // a load that is stopped leaves it so
    figure.setAttribute("aria-busy", "true");
    if (!points.length) fill(answer, el("span", { class: "of" }, `Reading ${count(found.published)} ${found.per}s …`));
    try {
      if (isStale) await fetchPoints(own);
      draw();
      await Promise.all([sum(own), histogram(own), compare(own)]);
      fill(said);
    } catch (failed) {
      if (failed.name === "AbortError" || failed.status === 401) return;
      fill(said, trouble(failed.message));
    }
    figure.removeAttribute("aria-busy");
  }

  async function sum(own) {
    const [first, through] = stretch();
    const got = await post(`${address}/sum`, { first, through, ranges: [state.range ?? [null, null]], level: state.level, version: state.version }, own);
    const number = got.periods === 1 ? got.first : `${named([got.first, got.last])} (${count(got.periods)} ${found.per}s)`;
    fill(answer, ...large(`${words()}, ${number}`, got.answers[0], state));
    fill(note, `A point is the count of one ${found.per}, with its ${percent(state.level)} interval. Drag across the picture to add up ${found.per}s: their noise is independent, so the interval of the sum is exact.`,
      got.missing.length ? el("strong", {}, ` Not published, and not in the sum: ${got.missing.slice(0, 5).join(", ")}${got.missing.length > 5 ? ` and ${got.missing.length - 5} more` : ""}.`) : null);
    announce(answer.textContent);
  }

  async function histogram(own) {
    if (!about) return;
    const [first, through] = stretch();
    const view = await get(withParameters(`${address}/view`, { first, through, version: state.version, level: state.level, points: innerWidth < 640 ? 40 : 100 }), own);
    const marked = state.range ? [{ letter: "", colour: "range-0", at: axes.places(axis, state.range) }] : [];
    const one = first === through ? points[place(first)].release : null;
    fill(drawn, el("h2", {}, `${about.title}, ${named([first, through])}`), small,
      one ? el("p", {}, el("a", { href: `#/release/${encodeURIComponent(one)}` }, `Explore ${first} by itself`)) : el("p", { class: "hint" }, `The sum of the ${found.per}s that are chosen. Choose one ${found.per} to explore it by itself.`));
    small.setAttribute("aria-label", `${about.title} of ${named([first, through])}; download the counts to read them`);
    drawHistogram(small, axis, view, marked, about.units ? `${about.title} (${about.units})` : about.title);
  }

  /** The periods that the chosen ones are compared with: as many before them, or the same a year earlier. */
  function others() {
    const [a, b] = chosen();
    if (state.with === "before") return a - (b - a + 1) < 0 ? null : [points[a - (b - a + 1)].period, points[a - 1].period];
    if (state.with === "year") return stretch().map((period) => yearBefore(period));
    return state.with ? state.with.split("..") : null;
  }

  async function compare(own) {
    const theirs = others();
    blame(withForm);
    if (!theirs) {
      fill(compared, state.with ? el("p", {}, `There are not enough ${found.per}s before.`) : null);
      return;
    }
    try {
      const got = await post(`${address}/compare`, { periods: stretch(), others: theirs, ranges: [state.range ?? [null, null]], level: state.level, version: state.version }, own);
      const [{ first, second, difference }] = got.answers;
      const none = difference.low <= 0 && difference.high >= 0 ? "; may be none" : "";
      const lacking = [...got.periods.missing, ...got.others.missing];
      const row = (name, one, value = count(one.count), after = "") => [name, el("strong", {}, value), `${to(one.low, one.high)}${after}`];
      const ends = ([a, b]) => el("span", {}, a === b ? unbroken([a]) : [unbroken([a]), " to ", unbroken([b])].flat());
      fill(compared, table(words(), ["periods", "#count", `#${percent(state.level)} interval`], [row(ends(stretch()), first), row(ends(theirs), second), row("difference", difference, above(first.count, second.count), none)]),
      lacking.length ? el("p", {}, `Not published, and in neither count: ${lacking.slice(0, 5).join(", ")}${lacking.length > 5 ? " …" : ""}.`) : null,
      got.periods.periods === got.others.periods ? null : el("p", {}, `${count(got.periods.periods)} ${found.per}s are compared with ${count(got.others.periods)}.`));
    } catch (failed) {
      if (failed.name === "AbortError") throw failed;
      fill(compared, blame(withForm, failed) ? null : trouble(failed.message));
    }
  }

  function draw() {
    remember();
    if (!points.length) return;
    const [a, b] = chosen();
    const now = stretch();
    [from, until].forEach((input, i) => {
      if (input.value === wrote[i]) input.value = now[i]; // what somebody types meanwhile stays
    });
    wrote = now;
    const theirs = others()?.map(place);
    const shades = [{ first: a, last: b, colour: "range-0", words: "chosen" }];
    if (theirs?.every((i) => i >= 0)) shades.push({ first: theirs[0], last: theirs[1], colour: "range-1", words: "other" });
    picture.setAttribute("aria-label", `${words()} over time, ${points.length} ${found.per}s from ${points[0].period} to ${points.at(-1).period}. Choose Table to read the numbers.`);
    figure.hidden = state.show === "table";
    fill(tabled, state.show === "table" ? table(`${words()}, ${found.per} by ${found.per}`, [found.per, "#count", `#${percent(state.level)} interval`],
      points.slice(a, b + 1).map((point) => [el("a", { href: `#/release/${encodeURIComponent(point.release)}` }, point.period), count(point.count), to(point.low, point.high)])) : null);
    if (!figure.hidden) drawTimeline(picture, points, found.gaps, a === 0 && b === points.length - 1 && shades.length === 1 ? [] : shades, `count a ${found.per}`);
  }

  function remember() {
    const kept = new URLSearchParams();
    for (const word of ["first", "through", "with"]) if (state[word]) kept.set(word, state[word]);
    if (state.range) kept.set("range", JSON.stringify(state.range));
    if (state.version !== "unbiased") kept.set("version", state.version);
    if (state.show !== "picture") kept.set("show", state.show);
    if (state.level !== 0.95) kept.set("level", state.level);
    const asked = kept.toString();
    const link = `#/series/${encodeURIComponent(subject)}${asked ? `?${asked}` : ""}`;
    if (link !== location.hash) history[did ? "pushState" : "replaceState"](null, "", link);
    did = false;
    saved.refresh();
  }

  const step = (more = {}) => {
    did = true;
    return load(more);
  };
  function choose(first, last) {
    const whole = first === latest() && last === points.length - 1;
    [state.first, state.through] = whole ? [null, null] : [points[first].period, points[last].period];
    [from.value, until.value] = wrote;
    step({ again: false });
  }

  dragging(figure, () => (points.length ? edgesOf(points) : null), (first, last) => choose(first, last - 1));
  let wrote = ["", ""]; // what the page itself put into the two fields
  const from = el("input", { autocomplete: "off", class: "short", "data-at": "first" });
  const until = el("input", { autocomplete: "off", class: "short", "data-at": "through" });
  async function typed(event) {
    event.preventDefault();
    const [first, through] = [from.value.trim(), until.value.trim()];
    blame(event.target);
    fill(wrong);
    try {
      const body = { first: first || undefined, through: through || undefined, ranges: [[null, null]] };
      const got = await post(`${address}/sum`, body, signal); // the server says which periods there are
      if (points.length) return choose(place(got.first), place(got.last));
      [state.first, state.through] = [got.first, got.last]; // typed before the periods were read
      [from.value, until.value] = wrote;
      step();
    } catch (failed) {
      if (failed.name !== "AbortError" && !blame(event.target, failed)) fill(wrong, trouble(failed.message));
    }
  }
  const last = (number) => el("button", { type: "button", onclick: () => choose(Math.max(0, points.length - number), points.length - 1) }, number === 1 ? `Last ${found.per}` : `Last ${number}`);
  const periods = el("form", { class: "count-form", onsubmit: typed }, el("div", { class: "row level" }, field(`From ${found.per}`, from), field(`Through ${found.per}`, until), el("button", { class: "main" }, "Choose"),
    el("button", { type: "button", onclick: () => choose(latest(), points.length - 1) }, found.published > found.at_once ? "As many as can be added up" : "All"), last(1), points.length > 7 || found.published > 7 ? last(7) : null, found.published > 30 ? last(30) : null));

  const inputs = axis ? rangeInputs(axis) : null;
  const counted = axis ? el("form", { class: "count-form", onsubmit: async (event) => {
    event.preventDefault();
    const before = state.range;
    const value = inputs.value();
    blame(event.target);
    state.range = value[0] === null && value[1] === null ? null : value;
    try {
      await get(withParameters(`${address}/over`, { ...ranged(), limit: 1 }), signal);
      step();
    } catch (failed) {
      state.range = before;
      if (failed.name !== "AbortError") blame(event.target, { message: failed.message, pointer: "/range" }) || fill(wrong, trouble(failed.message));
    }
  } }, el("div", { class: "row level" }, inputs.parts, el("button", { class: "main" }, "Count"), el("button", { type: "button", onclick: () => { state.range = null; step(); } }, "All of it"))) : null;

  const custom = el("input", { autocomplete: "off", class: "short", placeholder: `${found.first}..${found.last}`, "data-at": "others" });
  const withWhat = el("select", { onchange: () => {
    custom.closest(".field").hidden = withWhat.value !== "other";
    if (withWhat.value === "other") custom.focus();
    else {
      state.with = withWhat.value || null;
      step({ again: false });
    }
  } }, [["", "nothing"], ["before", `as many ${found.per}s before`], ["year", "the same a year before"], ["other", `other ${found.per}s`]].map(([value, name]) => el("option", { value }, name)));
  const withForm = el("form", { class: "count-form", onsubmit: (event) => {
    event.preventDefault();
    const ends = custom.value.split(/\.\.|\s+to\s+/).map((part) => part.trim()).filter(Boolean);
    state.with = ends.length ? `${ends[0]}..${ends.at(-1)}` : null;
    step({ again: false });
  } }, el("div", { class: "row level" }, field("Compare with", withWhat), field("First and last", custom, `Such as ${found.first}..${found.last}.`)));
  withWhat.value = state.with?.includes("..") ? "other" : state.with ?? "";
  custom.value = state.with?.includes("..") ? state.with : "";
  custom.closest(".field").hidden = withWhat.value !== "other";

  const versions = versionChoice({ kind: found.kind, versions: ["unbiased", "whole"] }, state, () => step());
  const levels = choice("Certainty", { 0.9: "90 %", 0.95: "95 %", 0.99: "99 %" }, String(state.level), (value) => { state.level = Number(value); step(); });
  const shows = choice("Show", { picture: "Picture", table: "Table" }, state.show, (value) => { state.show = value; did = true; draw(); });
  const saved = downloads(address, { id: found.name }, state, () => picture.querySelector("svg.chart"), () => withParameters(`${address}/file`, { ...ranged(), ...Object.fromEntries(points.length ? [["first", stretch()[0]], ["through", stretch()[1]]] : []), version: state.version, level: state.level }));
  fill(page, ...heading(found),
    el("section", { class: "card first", "aria-label": "Over time" }, answer, el("div", { class: "toolbar", role: "group", "aria-label": "View" }, shows, versions.choice, levels), said, figure, tabled, note, el("div", { class: "more" }, versions.words)),
    el("section", { class: "card", "aria-label": "Periods" }, el("h2", {}, `Which ${found.per}s`), periods, wrong, counted ? [el("h2", {}, `Which ${about.title}`), counted] : null),
    about ? el("section", { class: "card", "aria-label": "Picture of the chosen periods" }, drawn) : gridLinks(found),
    el("section", { class: "card", "aria-label": "Compare" }, el("h2", {}, "Compare"), withForm, compared),
    saved.parts);
  await load();
}

const gridLinks = (found) => el("section", { class: "card", "aria-label": "Single periods" }, el("h2", {}, found.columns.join(" × ")), el("p", {}, `The line is the total of the grid. Explore the grid of one ${found.per}: `, el("a", { href: `#/release/${encodeURIComponent(`${found.name}@${found.last}`)}` }, found.last), ", or choose Table above for the others."));

/** A series whose counts have no sum over periods: its periods, to be explored one by one. */
async function listed(page, address, found, signal) {
  const start = Math.max(0, found.published - FEW_LINKS);
  const { periods } = await get(withParameters(`${address}/periods`, { start }), signal);
  fill(page, ...heading(found), el("section", { class: "card", "aria-label": "Single periods" }, el("h2", {}, `Each ${found.per}`),
    el("p", {}, "These are counts by rank, which do not add up over time. Explore one at a time:"),
    el("ul", { class: "columns" }, periods.toReversed().map((one) => el("li", {}, el("a", { href: `#/release/${encodeURIComponent(one.release)}` }, one.period))))));
}

/** The same period a year earlier, by its name; the last day of February for a day that is not there. */
function yearBefore(period) {
  const year = Number(period.slice(0, 4)) - 1;
  const rest = period.slice(4);
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  if (rest.startsWith("-02-29") && !isLeap) return `${year}-02-28${rest.slice(6)}`;
  return rest === "-W53" ? `${year}-W52` : `${year}${rest}`;
}

function restored(query, axis) {
  const level = Number(query.get("level"));
  let range = null;
  try {
    range = JSON.parse(query.get("range"));
  } catch {
    range = null; // a link that was cut: the rest of it still opens
  }
  return {
    version: query.get("version") === "whole" ? "whole" : "unbiased",
    show: query.get("show") === "table" ? "table" : "picture",
    level: [0.9, 0.95, 0.99].includes(level) ? level : 0.95,
    first: query.get("first"),
    through: query.get("through"),
    with: query.get("with"),
    range: axis && range?.length === 2 && range.every((end) => axes.isEnd(axis, end)) ? range : null,
  };
}

function heading(found) {
  const cost = `${letter(found.notion)} = ${epsilon(found.cost)} a ${found.per}`;
  return [
    el("p", { class: "path" }, el("a", { href: "#/" }, "Datasets"), " / ", found.dataset_title),
    el("div", { class: "beside" }, el("h1", {}, found.title),
      el("details", { class: "about" }, el("summary", {}, `${cost}, ${count(found.published)} ${found.per}${found.published === 1 ? "" : "s"}`),
        found.description ? el("p", {}, found.description) : null,
        el("p", { class: "quiet" }, `${found.caption} ${found.loses[0].toUpperCase()}${found.loses.slice(1)}.${found.where ? ` Where ${found.where}.` : ""} Time zone ${found.zone}.`))),
    ofSample(found.sample),
  ];
}
