// An axis as the server describes it: where its edges lie in a picture and how they are called.

const LABELS = new Set(["categories", "hierarchy"]);
const NUMBERS = new Set(["integers", "regular", "edges"]);

export const isNumeric = (axis) => NUMBERS.has(axis.kind);
/** Whether the edges of an axis are numbers on a line: a bin without an end has no place on it. */
export const isScaled = (axis) => isNumeric(axis) && !(axis.kind === "edges" && [axis.edges[0], axis.edges.at(-1)].some((edge) => Math.abs(edge) === Number.MAX_VALUE));
export const isDates = (axis) => axis.kind === "dates";
export const hasLabels = (axis) => LABELS.has(axis.kind);

const known = new WeakMap(); // the labels of an axis and their places, worked out once: there may be many

function labelled(axis) {
  if (!known.has(axis)) {
    const all = axis.kind === "categories" ? axis.labels : axis.paths.map((path) => path.join("/"));
    known.set(axis, { all, at: new Map(all.map((label, i) => [String(label), i])) });
  }
  return known.get(axis);
}

/** Every label of an axis of labels, in order. */
export const labels = (axis) => labelled(axis).all;

/** The two ends of the range from one label through another; what is no label stays as it was typed. */
export function through(axis, first, last) {
  const { all, at } = labelled(axis);
  const [a, b] = [at.get(first), at.get(last)];
  if (a === undefined || b === undefined) return [first, last];
  return [all[Math.min(a, b)], all[Math.max(a, b) + 1] ?? null];
}

/** The groups of a hierarchy below a path, at a depth: each with its words, its range and whether it has parts. */
export function groups(axis, path, depth) {
  const { all } = labelled(axis);
  if (axis.kind === "categories") return all.map((label, i) => ({ words: String(label), path: [label], range: [label, all[i + 1] ?? null], hasParts: false }));
  const found = [];
  axis.paths.forEach((leaf, i) => {
    if (path.some((part, level) => leaf[level] !== part)) return;
    const own = leaf.slice(0, depth);
    const last = found.at(-1);
    if (last && last.path.length === own.length && own.every((part, level) => last.path[level] === part)) {
      last.range[1] = all[i + 1] ?? null;
      last.hasParts ||= leaf.length > depth;
    } else found.push({ words: own.slice(path.length).join(" / ") || own.at(-1), path: own, range: [all[i], all[i + 1] ?? null], hasParts: leaf.length > depth });
  });
  return found;
}

/** Whether a value can be an end of a range of the axis; null is the end of the axis. */
export function isEnd(axis, value) {
  if (value === null) return true;
  if (isNumeric(axis)) return typeof value === "number";
  if (hasLabels(axis)) return labelled(axis).at.has(String(value));
  return typeof value === "string" && (isDates(axis) ? /^\d{4}/ : /^\d+\.\d+\.\d+\.\d+$/).test(value);
}

/** An ISO date of any precision as milliseconds since 1970, in UTC. */
export function milliseconds(text) {
  const [year, month = 1, day = 1, hour = 0, minute = 0, second = 0] = text.split(/[-T:. ]/).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Where an edge lies in a picture: its value, its time, or its cell's number. */
export function place(axis, edge, cell) {
  if (isScaled(axis)) return edge;
  return isDates(axis) ? milliseconds(edge) : cell;
}

/** What an edge is called. */
export function name(axis, edge) {
  if (edge === null || edge === undefined) return "the end";
  if (typeof edge === "number" && isNumeric(axis)) return Number(edge.toPrecision(9)).toLocaleString("en", { maximumFractionDigits: 9, useGrouping: Math.abs(edge) >= 10_000 }).replace("-", "−");
  return String(edge);
}

/** The end of the cell of a date, as the server writes it. */
function following(axis, date) {
  const end = new Date(milliseconds(date));
  const step = { year: "FullYear", month: "Month", day: "Date", hour: "Hours", minute: "Minutes", second: "Seconds" }[axis.unit];
  end[`setUTC${step}`](end[`getUTC${step}`]() + 1);
  return end.getTime();
}

/** What lies between two edges, in words. Of labels and whole numbers the last one is included. */
export function between(axis, low, high) {
  if (low === null && high === null) return "all";
  if (hasLabels(axis)) {
    const { all, at } = labelled(axis);
    const first = low === null ? 0 : at.get(String(low));
    const last = (high === null ? all.length : at.get(String(high))) - 1;
    return first >= last ? String(all[first]) : `${all[first]} … ${all[last]}`;
  }
  if (axis.kind === "integers") {
    const [first, last] = [low ?? axis.first, (high ?? axis.last + 1) - 1];
    return first === last ? name(axis, first) : `${name(axis, first)} to ${name(axis, last)}`;
  }
  if (isDates(axis) && low !== null && high !== null && following(axis, low) === milliseconds(high)) return String(low);
  if (isNumeric(axis) && !isScaled(axis) && (low === null || high === null)) return low === null ? `below ${name(axis, high)}` : `${name(axis, low)} and more`;
  return `${low === null ? "the start" : name(axis, low)} – ${name(axis, high)}`;
}

/** What was typed into a field, as the server takes it: nothing is the end of the axis. */
export function typed(axis, text) {
  const trimmed = text.trim();
  if (!trimmed) return null;
  const plain = trimmed.replaceAll(",", "");
  const number = Number(plain);
  if (!isNumeric(axis) || !Number.isFinite(number)) return trimmed;
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? plain : number; // the server reads text exactly
}

/** The end of a range whose last value was typed: of whole numbers that value is counted. */
export function typedEnd(axis, text) {
  const value = typed(axis, text);
  return axis.kind === "integers" && Number.isSafeInteger(value) ? value + 1 : value;
}

/** What a person may type, by example. */
export function example(axis) {
  if (isDates(axis)) return { hour: "2013-01-31T09", minute: "2013-01-31T09:30", month: "2013-01", year: "2013" }[axis.unit] ?? "2013-01-31";
  return axis.kind === "ipv4" ? "10.1.0.0" : null;
}

/** The number of cells before an edge of an axis without numbers or dates. */
function cellOf(axis, edge) {
  if (hasLabels(axis)) return labelled(axis).at.get(String(edge));
  if (axis.kind === "edges") return axis.edges.indexOf(edge);
  const address = (text) => text.split(".").reduce((sum, part) => 256 * sum + Number(part), 0);
  return (address(edge) - address(axis.network.split("/")[0])) / 2 ** (32 - axis.length);
}

/** Where a range lies in a picture; null is the end of the axis. */
export const places = (axis, range) =>
  range.map((edge) => (edge === null ? null : place(axis, edge, isScaled(axis) || isDates(axis) ? 0 : cellOf(axis, edge))));
