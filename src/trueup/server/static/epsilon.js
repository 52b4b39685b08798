// ε or ρ by slider or by number: steps of 1, 2, 5, and last of all what is left.

import { el, field } from "./dom.js";
import { exact, isLess, letter, real, written } from "./numbers.js";

// ρ goes as the square of ε, so that its steps begin further down.
const POWERS = { epsilon: [-3, -2, -1, 0, 1], rho: [-6, -5, -4, -3, -2, -1, 0] };
const FIRST = { epsilon: "0.1", rho: "0.005" };
const stepsOf = (powers) => powers.flatMap((power) => [1, 2, 5].map((digit) => (power < 0 ? (digit / 10 ** -power).toFixed(-power) : String(digit * 10 ** power))));

/** The fields, and the ε or ρ they say as text. `changed` is called when it changes. */
export function epsilonFields(left, given, changed, notion = "epsilon") {
  const name = letter(notion);
  const upTo = (most) => [...stepsOf(POWERS[notion]).filter((step) => isLess(exact(step), most)), ...(most.top > 0n ? [written(most)] : [])];
  let steps = upTo(left);
  const nearest = (text) => {
    const wanted = exact(text);
    return wanted ? Math.max(0, steps.findLastIndex((step) => !isLess(wanted, exact(step)))) : 0;
  };
  const start = given ?? steps[Math.min(nearest(FIRST[notion]), Math.max(0, steps.length - 2))] ?? FIRST[notion];
  const number = el("input", { "data-at": notion, value: start, autocomplete: "off", size: "8", class: "short" });
  const slider = el("input", { type: "range", min: "0", max: String(Math.max(0, steps.length - 1)), step: "1", value: String(nearest(start)), disabled: steps.length < 2 });

  const spoken = () => slider.setAttribute("aria-valuetext", `${name} = ${number.value}`);
  slider.addEventListener("input", () => {
    number.value = steps[Number(slider.value)];
    spoken();
    changed();
  });
  number.addEventListener("input", () => {
    slider.value = String(nearest(number.value));
    spoken();
    changed();
  });
  spoken();

  const leftWords = () => (steps.length ? `all that is left: ${steps.at(-1)}` : "");
  const all = el("span", {}, leftWords());
  const scale = el("div", { class: "scale", "aria-hidden": "true" }, el("span", {}, "more privacy, less accuracy"), all);
  return {
    slider: el("div", { class: "epsilon" }, field(`${name}, the price`, slider), scale),
    exactly: field(`${name} exactly`, number, notion === "rho" ? "As 0.005 or 1/200." : "As 0.1 or 1/10."),
    set(text) {
      number.value = text;
      slider.value = String(nearest(text));
      spoken();
    },
    /** Takes what is left now: of another period it may be more, or less. */
    leave(most) {
      steps = upTo(most);
      Object.assign(slider, { max: String(Math.max(0, steps.length - 1)), disabled: steps.length < 2 });
      slider.value = String(nearest(number.value));
      all.textContent = leftWords();
    },
    value: () => number.value.trim(),
    isValid: () => exact(number.value) !== null && real(exact(number.value)) > 0,
  };
}
