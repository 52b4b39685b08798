// Taking it away: files, and the address that reopens the view.

import { download, keep, withParameters } from "../api.js";
import { announce, el, field, fill, trouble } from "../dom.js";
import { size } from "../numbers.js";
import { fileOf, pngOf } from "../svg.js";

/** What may be saved; `csv` gives the path of the one file that a series has. */
export function downloads(address, release, state, drawn = null, csv = null) {
  const formats = release.formats ?? ["parquet", "csv", "json", "arrow"];
  const format = el("select", {}, formats.map((name) => el("option", { value: name }, name)));
  const link = el("input", { readonly: true, onfocus: () => link.select() });
  const said = el("div", { role: "status" });

  async function save(path, otherwise) {
    try {
      fill(said, el("p", { class: "good" }, `Saved as ${await download(path, otherwise)}.`));
    } catch (wrong) {
      fill(said, trouble(wrong.message));
    }
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(link.value);
      fill(said, el("p", { class: "good" }, "The link is copied."));
    } catch {
      link.select(); // browsers give the clipboard to pages served over TLS or from this machine
      announce("Press Control and C to copy the link.");
      fill(said, el("p", {}, "Press Ctrl + C to copy the link."));
    }
  }

  const counts = () => save(withParameters(`${address}/file`, { version: state.version, format: format.value }), `${release.id}.${format.value}`);
  const noisy = () => save(withParameters(`${address}/measurement`, { format: format.value }), `${release.id}-measurement.${format.value}`);
  const isFolder = Boolean(release.folder_bytes);
  const isTabled = ["histogram", "grid"].includes(release.kind) && !release.margin && !isFolder;
  const rows = () => save(withParameters(`${address}/rows`, { format: format.value }), `${release.id}-rows.${format.value}`);
  async function image(kind) {
    const picture = drawn();
    if (!picture) {
      fill(said, el("p", {}, "There is no picture now: choose the histogram first."));
      return;
    }
    const blob = kind === "png" ? await pngOf(picture, document.title) : new Blob([fileOf(picture, document.title)], { type: "image/svg+xml" });
    fill(said, el("p", { class: "good" }, `Saved as ${keep(blob, `${release.id}.${kind}`)}.`));
  }
  const images = drawn ? ["png", "svg"].map((kind) => el("button", { type: "button", onclick: () => image(kind) }, `Picture as ${kind.toUpperCase()}`)) : [];

  // A folder may be larger than memory: the browser saves it as it comes.
  const folder = () => el("a", { class: "button", href: `api/v1${address}/file?format=tar`, download: `${release.id}.tar` }, `Download the folder, ${size(release.folder_bytes)}`);
  const parts = el("section", { class: "card", "aria-label": "Download" }, el("h2", {}, "Download"),
    isFolder ? el("div", { class: "row level" }, folder(), images) : csv ? el("div", { class: "row level" }, el("button", { type: "button", onclick: () => save(csv(), `${release.id}.csv`) }, "Download as CSV"), images)
      : el("div", { class: "row level" }, field("Format", format), el("button", { type: "button", onclick: counts }, "Download the counts"), el("button", { type: "button", onclick: noisy }, "Download the measurement"), isTabled ? el("button", { type: "button", onclick: rows }, "Download synthetic rows") : null, images),
    isTabled ? el("p", { class: "hint" }, "Synthetic rows are a table for your own tools: no row is a person, and counting them gives the non-negative whole counts. As json, a report of what was measured and what was invented.") : null,
    el("p", { class: "hint" }, isFolder ? "One tar file. In it are the counts as Parquet, which any tool reads, and the noisy answers. Unpacked, it opens with trueup.load." : csv ? "One line for each period that is chosen, with its interval. The counts and the measurement of one period are with that period." : "The measurement holds the raw noisy answers. Anyone can make these counts from it with trueup.infer, or others, at no further cost."),
    el("div", { class: "row level" }, field("Link to this view", link), el("button", { type: "button", onclick: copy }, "Copy the link")), said);
  return { parts, refresh: () => (link.value = location.href) };
}
