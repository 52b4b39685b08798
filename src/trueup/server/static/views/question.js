// The question's fields: what to count, over which part of its axis, in how many cells, for which rows.

import * as axes from "../axis.js";
import { subjectOf } from "../address.js";
import { choice, el, field, fill } from "../dom.js";
import { graphWords } from "./datasets.js";
import { filterFields } from "./filter.js";

const SORTED = "How large the groups are, not which is which: one sequence, largest first.";

/** The fields of a dataset's question, what they say, and the same in words. */
export function questionFields(dataset, query, changed) {
  return dataset.graph ? graphFields(dataset.graph) : columnFields(dataset, query, changed);
}

function graphFields(graph) {
  return {
    parts: el("p", {}, `The degrees ${graphWords(graph)}, largest first.`),
    value: () => ({ column: null, range: null, cells: null, where: null, strategy: "sorted" }),
    words: () => "the degrees",
    offer: () => {},
  };
}

/** A choice among the numbers of cells that are possible. */
function cellChoice(given, at, changed) {
  const select = el("select", { "data-at": at, onchange: changed });
  const offer = (choices) => {
    const value = select.value || given || "";
    fill(select, el("option", { value: "" }, choices.length ? `all ${choices[0].toLocaleString("en")}` : "all"), choices.slice(1).map((number) => el("option", { value: number }, number.toLocaleString("en"))));
    if (value && !choices.includes(Number(value))) select.append(el("option", { value }, Number(value).toLocaleString("en")));
    select.value = value;
  };
  offer([]);
  return { select, offer, value: () => (select.value ? Number(select.value) : null), clear: () => { given = ""; select.value = ""; } };
}

function columnFields(dataset, query, changed) {
  const state = { kind: query.get("strategy") === "sorted" ? "sorted" : "cells" };
  const titled = (c) => `${c.title && c.title !== c.column ? `${c.title} (${c.column})` : c.column} – ${c.describes}`;
  const column = el("select", { "data-at": "column columns/0/column", onchange: () => { low.value = high.value = ""; cells.clear(); refresh(); changed(); } },
    dataset.columns.map((c) => el("option", { value: c.column }, titled(c))));
  if (dataset.columns.some((c) => c.column === query.get("column"))) column.value = query.get("column");
  const second = el("select", { "data-at": "columns columns/1", onchange: () => { by.clear(); refresh(); changed(); } });
  const low = el("input", { "data-at": "range columns/0/range", oninput: changed, autocomplete: "off", value: query.get("from") ?? "" });
  const high = el("input", { "data-at": "range/1 columns/0/range/1", oninput: changed, autocomplete: "off", value: query.get("to") ?? "" });
  const cells = cellChoice(query.get("cells"), "cells columns/0/cells", changed);
  const by = cellChoice(query.get("by_cells"), "columns/1/cells", changed);
  const narrowing = el("div", { class: "row" });
  const crossing = el("div", { class: "row" });
  const about = el("p", { class: "hint" });
  const declared = () => dataset.columns.find((c) => c.column === column.value);
  const isSorted = () => state.kind === "sorted";
  const filters = dataset.filters?.length ? filterFields(dataset.filters, query.get("where") ?? "", changed) : null;

  function refresh() {
    const { axis, description, units } = declared();
    fill(about, [description, units ? `In ${units}.` : null].filter(Boolean).join(" "));
    [low.placeholder, high.placeholder] = endsOf(axis);
    const others = dataset.columns.filter((c) => c.column !== column.value);
    const kept = second.value || query.get("by") || "";
    fill(second, el("option", { value: "" }, "nothing else"), others.map((c) => el("option", { value: c.column }, titled(c))));
    second.value = others.some((c) => c.column === kept) ? kept : "";
    query.delete("by");
    if (isSorted()) {
      fill(narrowing, el("p", { class: "hint" }, SORTED));
      fill(crossing);
      return;
    }
    const plain = axes.isNumeric(axis) || axes.isDates(axis);
    fill(narrowing, plain ? field("From", low, "Empty: the start.") : null, plain ? field("Up to", high, "Not counted itself.") : null,
      ["categories", "edges"].includes(axis.kind) ? null : field("Cells", cells.select, "Fewer are coarser."));
    const other = dataset.columns.find((c) => c.column === second.value);
    fill(crossing, others.length ? field("And by", second, "A second column makes a grid.") : null, other && !["categories", "edges"].includes(other.axis.kind) ? field("Cells of the second", by.select) : null);
  }

  refresh();
  const kind = choice("As", { cells: "a histogram", sorted: "sorted counts" }, state.kind, (value) => {
    state.kind = value;
    refresh();
    changed();
  });

  return {
    parts: [field("Column", column), about, kind, narrowing, crossing, filters?.parts ?? null],
    value() {
      const { axis } = declared();
      const ends = [axes.typed(axis, low.value), axes.typed(axis, high.value)];
      const range = isSorted() || ends.every((end) => end === null) ? null : ends;
      const where = filters?.value() ?? null;
      if (isSorted()) return { column: column.value, range: null, cells: null, where, strategy: "sorted" };
      const first = { column: column.value, range, cells: cells.value() };
      return second.value ? { columns: [first, { column: second.value, cells: by.value() }], where } : { ...first, where };
    },
    words() {
      const asked = this.value();
      const { axis } = declared();
      const range = asked.columns ? asked.columns[0].range : asked.range;
      const part = range ? ` from ${axes.between(axis, ...range).replace(" – ", " up to ")}` : "";
      return `${subjectOf(asked)}${part}${asked.where ? ` where ${asked.where}` : ""}${isSorted() ? ", sorted," : ""}`;
    },
    /** Takes the numbers of cells that the server offers, column by column. */
    offer(choices) {
      if (choices?.[0]) cells.offer(choices[0]);
      if (choices?.[1]) by.offer(choices[1]);
    },
  };
}

/** The two ends of an axis, as examples of what to type. */
function endsOf(axis) {
  if (axis.kind === "regular") return [axis.low, axis.high];
  if (axis.kind === "integers") return [axis.first, axis.last + 1];
  if (axis.kind === "edges") return [axis.edges[0], axis.edges.at(-1)].map((edge) => (Math.abs(edge) === Number.MAX_VALUE ? "" : edge));
  return axis.kind === "dates" ? [axis.first, axes.example(axis)] : ["", ""];
}
