// The question's fields: what to count, over which part of its axis, in how many cells.

import * as axes from "../axis.js";
import { choice, el, field, fill } from "../dom.js";
import { graphWords } from "./datasets.js";

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
  };
}

function columnFields(dataset, query, changed) {
  const state = { kind: query.get("strategy") === "sorted" ? "sorted" : "cells" };
  const column = el("select", { onchange: () => { refresh(); changed(); } },
    dataset.columns.map((c) => el("option", { value: c.column }, `${c.column}: ${c.describes}`)));
  if (dataset.columns.some((c) => c.column === query.get("column"))) column.value = query.get("column");
  const low = el("input", { oninput: changed, autocomplete: "off" });
  const high = el("input", { oninput: changed, autocomplete: "off" });
  const cells = el("input", { type: "number", min: "1", step: "1", oninput: changed });
  const where = el("input", { oninput: changed, autocomplete: "off" });
  const narrowing = el("div", { class: "row" });
  const declared = () => dataset.columns.find((c) => c.column === column.value);
  const isSorted = () => state.kind === "sorted";

  function refresh() {
    const { axis, cells: size } = declared();
    [low.value, high.value, cells.value] = ["", "", ""];
    [low.placeholder, high.placeholder] = endsOf(axis);
    cells.placeholder = String(size);
    if (isSorted()) {
      fill(narrowing, el("p", { class: "hint" }, SORTED));
      return;
    }
    const plain = axes.isNumeric(axis) || axes.isDates(axis);
    fill(narrowing, plain ? field("From", low, "Empty: the start.") : null, plain ? field("Up to", high, "Not counted itself.") : null,
      ["categories", "edges"].includes(axis.kind) ? null : field("Cells", cells, "Fewer are coarser."));
  }

  refresh();
  [low.value, high.value, cells.value, where.value] = ["from", "to", "cells", "where"].map((name) => query.get(name) ?? "");
  const kind = choice("As", { cells: "a histogram", sorted: "sorted counts" }, state.kind, (value) => {
    state.kind = value;
    refresh();
    changed();
  });
  const filters = dataset.filters?.length
    ? el("details", { open: Boolean(where.value) }, el("summary", {}, "Only some of the rows"), field("Where", where, `A condition on ${dataset.filters.map((each) => each.column).join(", ")}.`))
    : null;

  return {
    parts: [field("Column", column), kind, narrowing, filters],
    value() {
      const { axis } = declared();
      const ends = [axes.typed(axis, low.value), axes.typed(axis, high.value)];
      return {
        column: column.value,
        range: ends.every((end) => end === null) ? null : ends,
        cells: cells.value ? Number(cells.value) : null,
        where: where.value.trim() || null,
        ...(isSorted() ? { strategy: "sorted" } : {}),
      };
    },
    words() {
      const { axis } = declared();
      const { range } = this.value();
      const part = range ? ` from ${axes.between(axis, ...range).replace(" – ", " up to ")}` : "";
      const rows = where.value.trim() ? ` where ${where.value.trim()}` : "";
      return `${column.value}${part}${rows}${isSorted() ? ", sorted," : ""}`;
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
