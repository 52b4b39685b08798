// The same numbers elsewhere: Python, curl and the command line for exactly this view, and a citation.

import { announce, choice, el, fill } from "../dom.js";
import { day, price } from "../numbers.js";

const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const forPython = (edge) => (edge === null ? "None" : JSON.stringify(edge));

/** The section, and the function that follows the view. */
export function elsewhere(address, release, state, isPublic) {
  const shown = el("pre", { class: "code", tabindex: "0" });
  const said = el("span", { role: "status" });
  let kind = isPublic ? "curl" : "python";
  const base = location.href.split(/[#?]/)[0].replace(/\/$/, "");
  const key = isPublic ? "" : ' -H "Authorization: Bearer $TRUEUP_TOKEN"';

  const makers = {
    python() {
      const wish = state.version === "whole" ? ", nonnegative=True, integers=True" : "";
      const pairs = state.ranges.map(([low, high]) => `(${forPython(low)}, ${forPython(high)})`);
      const asked = pairs.length ? `[${pairs.join(", ")}]` : "[(None, None)]";
      return `import os
import trueup as tu

server = tu.connect(${JSON.stringify(base)}, token=os.environ["TRUEUP_TOKEN"])
release = server.${release.folder_bytes ? `download(${JSON.stringify(release.id)}, to=${JSON.stringify(release.id)})` : `release(${JSON.stringify(release.id)}${wish})`}${release.margin ? `.margin(${JSON.stringify(release.margin)})` : ""}
for low, high in ${asked}:
    count = release.range(low, high)
    print(low, high, count.value, count.interval(${state.level}))`;
    },
    curl() {
      const ranges = state.ranges.length ? state.ranges : [[null, null]];
      const body = JSON.stringify({ ranges, level: state.level, version: state.version, column: release.margin });
      return `curl -s${key} -H "Content-Type: application/json" \\
  -d ${quoted(body)} \\
  ${quoted(`${base}/api/v1${address}/ranges`)}`;
    },
    shell() {
      const end = (edge) => (edge === null ? "" : String(edge));
      const plain = (range) => range.every((edge) => edge === null || typeof edge === "number");
      const ranges = (state.ranges.length ? state.ranges : [[null, null]]).map((range) => quoted(range.map(end).join(plain(range) ? ":" : "..")));
      if (release.folder_bytes) return `curl -s${key} ${quoted(`${base}/api/v1${address}/file?format=tar`)} | tar -x
trueup query ${quoted(release.id)} --level ${state.level} -- ${ranges.join(" ")}`;
      return `curl -s${key} -o ${quoted(`${release.id}.parquet`)} ${quoted(`${base}/api/v1${address}/measurement`)}
trueup query ${quoted(`${release.id}.parquet`)} --level ${state.level}${state.version === "whole" ? " --nonnegative" : ""} -- ${ranges.join(" ")}`;
    },
    cite() {
      const what = `${release.title ?? "Degrees"}${release.where ? ` where ${release.where}` : ""}`;
      return `${release.dataset_title || release.dataset}: ${what}. Differentially private counts, ${price(release)} (${release.neighbours}, protecting one ${release.unit}), measured ${day(release.created)}. Release ${release.id}, made with trueup. ${location.href}`;
    },
  };
  const names = { ...(isPublic ? {} : { python: "Python" }), curl: "curl", ...(release.margin ? {} : { shell: "Command line" }), cite: "Citation" };

  function refresh() {
    fill(shown, makers[kind]());
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(shown.textContent);
      fill(said, " Copied.");
    } catch {
      getSelection().selectAllChildren(shown);
      fill(said, " Press Ctrl + C to copy.");
    }
    announce(said.textContent.trim());
  }

  const parts = el("section", { class: "card", "aria-label": "Elsewhere" }, el("h2", {}, "Elsewhere"), el("p", { class: "hint" }, `Exactly this view, for programs${isPublic ? "" : "; they need a token in $TRUEUP_TOKEN"}.`),
    choice("As", names, kind, (value) => { kind = value; fill(said); refresh(); }), shown, el("button", { type: "button", onclick: copy }, "Copy"), said);
  return { parts, refresh };
}
