// Only some of the rows: conditions built from declared columns, and the same as text.

import { el, field, fill } from "../dom.js";

const SIGNS = { "=": "is", "!=": "is not", "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least", in: "is one of", between: "is from … to" };

/** The filter's fields, and the condition as text; `changed` is called when it changes. */
export function filterFields(columns, given, changed) {
  const known = columns.map((each) => (typeof each === "string" ? { column: each, title: each, type: "text", comparisons: ["=", "!=", "in"], labels: null } : each));
  const rows = el("div", { class: "conditions" });
  const where = el("input", { "data-at": "where", value: given, autocomplete: "off", oninput: () => { conditions = read(known, where.value) ?? []; draw(); changed(); } });
  let conditions = read(known, given) ?? [];

  function set() {
    where.value = conditions.map((one) => written(one, known.find((each) => each.column === one.column))).filter(Boolean).join(" and ");
    changed();
  }

  function draw() {
    fill(rows, conditions.map((one, i) => row(one, i)));
  }

  function row(one, i) {
    const about = known.find((each) => each.column === one.column);
    const column = el("select", { "aria-label": `Column of condition ${i + 1}`, onchange: () => { conditions[i] = fresh(known.find((each) => each.column === column.value)); draw(); set(); } },
      known.map((each) => el("option", { value: each.column, selected: each.column === one.column }, each.title)));
    const sign = el("select", { "aria-label": `Comparison of condition ${i + 1}`, onchange: () => { conditions[i] = { ...one, sign: sign.value, values: [] }; draw(); set(); } },
      about.comparisons.map((each) => el("option", { value: each, selected: each === one.sign }, SIGNS[each])));
    const remove = el("button", { type: "button", class: "plain", "aria-label": `Remove condition ${i + 1}`, onclick: () => { conditions.splice(i, 1); draw(); set(); } }, "Remove");
    return el("div", { class: "condition" }, column, sign, values(one, about, i), remove);
  }

  function values(one, about, i) {
    const name = `Value of condition ${i + 1}`;
    const choices = about.type === "boolean" ? ["true", "false"] : about.labels;
    const put = (place, value) => { one.values[place] = value; set(); };
    if (choices && one.sign === "in") {
      return el("fieldset", { class: "several" }, el("legend", { class: "unseen" }, name), choices.map((label) => el("label", { class: "check" },
        el("input", { type: "checkbox", checked: one.values.includes(String(label)), onchange: (event) => { one.values = event.target.checked ? [...one.values, String(label)] : one.values.filter((other) => other !== String(label)); set(); } }), String(label))));
    }
    if (choices) {
      const select = el("select", { "aria-label": name, onchange: () => put(0, select.value) }, el("option", { value: "" }, "choose …"), choices.map((label) => el("option", { value: label, selected: String(label) === one.values[0] }, String(label))));
      return select;
    }
    const box = (place, label) => el("input", { "aria-label": label, autocomplete: "off", inputmode: about.type === "integer" || about.type === "number" ? "decimal" : null, placeholder: about.type === "time" ? "2013-01-31" : null, value: one.values[place] ?? "", oninput: (event) => put(place, event.target.value) });
    if (one.sign === "between") return el("span", { class: "row" }, box(0, name), box(1, `${name}, last`));
    if (one.sign === "in") return el("input", { "aria-label": name, autocomplete: "off", placeholder: "a, b, c", value: one.values.join(", "), oninput: (event) => { one.values = event.target.value.split(",").map((text) => text.trim()); set(); } });
    return box(0, name);
  }

  draw();
  const add = el("button", { type: "button", onclick: () => { conditions.push(fresh(known[0])); draw(); set(); rows.lastElementChild.querySelector("select").focus(); } }, "Add a condition");
  return {
    parts: el("details", { open: Boolean(given) }, el("summary", {}, "Only some of the rows"), rows, add,
      field("Where", where, `The same as text. Columns: ${known.map((each) => each.column).join(", ")}; and, or, not, in, between.`)),
    value: () => where.value.trim() || null,
  };
}

const fresh = (about) => ({ column: about.column, sign: about.comparisons[0], values: [] });

/** A condition as the server reads it; nothing while it lacks a value. */
function written({ column, sign, values }, { type }) {
  const said = values.filter((value) => value !== undefined && value !== "");
  if (!said.length || (sign === "between" && said.length < 2)) return "";
  const plain = type === "integer" || type === "number" || type === "boolean";
  const value = (text) => (plain ? text.trim().replaceAll(",", "") : `'${text.replaceAll("'", "''")}'`);
  const name = /^[A-Za-z_]\w*$/.test(column) ? column : `"${column.replaceAll('"', '""')}"`;
  if (sign === "in") return `${name} in (${said.map(value).join(", ")})`;
  return sign === "between" ? `${name} between ${value(said[0])} and ${value(said[1])}` : `${name} ${sign} ${value(said[0])}`;
}

const VALUE = String.raw`(?:'(?:[^']|'')*'|[-+]?[\d.]+|true|false)`;
const ONE = new RegExp(String.raw`^\s*(?:(\w+)|"((?:[^"]|"")+)")\s*(?:(=|!=|<=|>=|<|>)\s*(${VALUE})|in\s*\(\s*(${VALUE}(?:\s*,\s*${VALUE})*)\s*\)|between\s+(${VALUE})\s+and\s+(${VALUE}))\s*(?:and\s+(?=\S)|$)`, "i");

/** The conditions that a text spells, if they are all of the plain kind; else nothing. */
function read(known, text) {
  const found = [];
  const bare = (value) => (value.startsWith("'") ? value.slice(1, -1).replaceAll("''", "'") : value);
  let rest = text;
  while (rest.trim()) {
    const one = ONE.exec(rest);
    const column = one && (one[1] ?? one[2].replaceAll('""', '"'));
    const about = known.find((each) => each.column === column);
    const sign = one && (one[3] ?? (one[5] === undefined ? "between" : "in"));
    if (!about?.comparisons.includes(sign)) return null;
    const values = one[3] ? [one[4]] : one[5] === undefined ? [one[6], one[7]] : one[5].match(new RegExp(VALUE, "gi"));
    found.push({ column, sign, values: values.map(bare) });
    rest = rest.slice(one[0].length);
  }
  return found;
}
