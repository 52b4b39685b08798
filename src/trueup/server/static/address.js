// Addresses of views, so that any view can link to another as it was left.

import { withParameters } from "./api.js";

/** What a question is about, in words. */
export const subjectOf = ({ column, columns, keys }) => (keys ? `the keys of ${keys}` : columns ? columns.map((each) => each.column).join(" × ") : column ?? "the graph");

/** The address that opens a question as it was asked, ready to change. */
export function askAddress(dataset, { range, columns, ...asked }) {
  if (asked.keys) return withParameters(`#/keys/${encodeURIComponent(dataset)}`, asked);
  const [first, second] = columns ?? [{ range, column: asked.column, cells: asked.cells }];
  const said = { ...asked, column: first.column, cells: first.cells, from: first.range?.[0], to: first.range?.[1], by: second?.column, by_cells: second?.cells };
  if (said.strategy === "best") delete said.strategy;
  return withParameters(`#/ask/${encodeURIComponent(dataset)}`, said);
}
