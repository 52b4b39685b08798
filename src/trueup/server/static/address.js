// Addresses of views, so that any view can link to another as it was left.

import { withParameters } from "./api.js";

/** The address that opens a question as it was asked, ready to change. */
export function askAddress(dataset, { range, ...asked }) {
  const said = { ...asked, from: range?.[0], to: range?.[1] };
  if (said.strategy === "best") delete said.strategy;
  return withParameters(`#/ask/${encodeURIComponent(dataset)}`, said);
}
