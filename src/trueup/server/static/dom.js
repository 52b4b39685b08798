// Elements made and filled. Text is always text: nothing that comes from the server is markup.

export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const fill = (element, ...children) =>
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));

let names = 0;
export const newName = (stem) => `${stem}-${(names += 1)}`;

/** A labelled field; the hint is read out with it. */
export function field(label, input, hint = null) {
  input.id ||= newName("field");
  const note = hint && el("small", { id: `${input.id}-hint`, class: "hint" }, hint);
  if (note) input.setAttribute("aria-describedby", note.id);
  return el("div", { class: "field" }, el("label", { for: input.id }, label), input, note);
}

/** Radio buttons that look like one switch. */
export function choice(legend, options, chosen, onchange) {
  const name = newName("choice");
  const buttons = Object.entries(options).map(([value, words]) => {
    const input = el("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value) });
    return el("label", {}, input, el("span", {}, words));
  });
  return el("fieldset", { class: "choice" }, el("legend", {}, legend), el("div", {}, buttons));
}

/** A table in a box that scrolls by itself. A name "#…" is of numbers, "~…" is heard and not seen. */
export function table(caption, headers, rows) {
  const side = (header) => (header.startsWith("#") ? "number" : null);
  const head = headers.map((h) => el("th", { scope: "col", class: side(h) }, h.startsWith("~") ? el("span", { class: "unseen" }, h.slice(1)) : h.replace("#", "")));
  const body = rows.map((row) => el("tr", {}, row.map((cell, i) => el(i ? "td" : "th", { scope: i ? null : "row", class: side(headers[i]) }, cell))));
  const made = el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), el("tbody", {}, body));
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption }, headers.length > WIDE ? stacking(made) : made);
}

const WIDE = 4; // a table of more columns is too wide for a phone
const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };

/** A table whose rows become small cards where the page is narrow: each value beside the name of its column. */
export function stacking(made) {
  const names = [...made.tHead.rows[0].cells].map((head) => (head.querySelector("button, .unseen") ? null : head.textContent));
  for (const part of [made, ...made.querySelectorAll("thead, tbody, tr, th, td")]) {
    const role = part.tagName === "TH" ? (part.scope === "col" ? "columnheader" : "rowheader") : ROLES[part.tagName];
    part.setAttribute("role", role); // said, because a table that is laid out otherwise is none for a screen reader
  }
  for (const row of made.tBodies[0].rows)
    for (const cell of row.querySelectorAll("td"))
      if (names[cell.cellIndex]) cell.dataset.label = names[cell.cellIndex];
  made.className = "stacks";
  return made;
}

/** A cell of a table with a quiet second line. */
export const twoLines = (first, second) => el("span", {}, first, el("small", { class: "hint" }, second));

/** Names, such as dates, none of which is broken at the end of a line; as many of them as `most`. */
export function unbroken(names, most = names.length) {
  const shown = names.slice(0, most).flatMap((name, i) => [i ? ", " : null, el("span", { class: "unbroken" }, name)]);
  return names.length > most ? [...shown, ` and ${(names.length - most).toLocaleString("en")} more`] : shown;
}

/** That only a sample of the units is counted, where that is so: nobody should take it for all. */
export const ofSample = (words) => (words ? el("p", { class: "sample" }, el("strong", {}, `${words[0].toUpperCase()}${words.slice(1)}.`)) : null);

/** What went wrong, in the words it came in. */
export const trouble = (words, ...more) => el("div", { class: "trouble", role: "alert" }, el("p", {}, words), more);

/** Says what is wrong beside the field that the server names ("/range"); whether there is one. Without words, takes them back. */
export function blame(root, wrong = null) {
  for (const input of root.querySelectorAll("[aria-errormessage]")) {
    document.getElementById(input.getAttribute("aria-errormessage"))?.remove();
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-errormessage");
  }
  const names = (wrong?.pointer ?? "").split("/").slice(1);
  while (names.length) {
    const input = root.querySelector(`[data-at~="${CSS.escape(names.join("/"))}"]`);
    if (input) {
      const note = el("p", { id: newName("wrong"), class: "wrong", role: "alert" }, wrong.message);
      input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-errormessage", note.id);
      (input.closest("details") ?? {}).open = true;
      (input.closest(".field") ?? input).append(note);
      return true;
    }
    names.pop();
  }
  return false;
}

/** Says something to those who hear the page instead of seeing it. */
export function announce(words) {
  document.getElementById("announcer").textContent = words;
}

/** Signals for loads of which only the newest counts: each stops the one before it, so that no late answer is shown. */
export function newest(outer) {
  let last = new AbortController();
  return () => {
    last.abort();
    last = new AbortController();
    return outer ? AbortSignal.any([outer, last.signal]) : last.signal;
  };
}

/** The function, run once its calls have paused. */
export function paused(milliseconds, run) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...given), milliseconds);
  };
}
