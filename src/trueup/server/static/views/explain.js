// What ε or ρ means, in one minute, on a made-up class of pupils: nothing here touches anybody's data.

import { draw, frame } from "../chart.js";
import { el, fill } from "../dom.js";
import { count, exact, percent, real } from "../numbers.js";
import { svg } from "../svg.js";

const SCHOOL = { walk: 42, bike: 31, bus: 27, car: 14, train: 6 };
const NAMES = Object.keys(SCHOOL);

/** A number with the law of the noise: Laplace of scale 1, before ε divides it. */
const noise = () => {
  const share = Math.random() - 0.5;
  return -Math.sign(share) * Math.log(1 - 2 * Math.abs(share));
};

/** The same of Gaussian noise: of variance 1/2, before ρ divides it. */
const bell = () => Math.sqrt(-Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());

/** The explanation, and the function that moves it to another ε, or to a ρ and what it means. */
export function explanation() {
  const picture = el("div", { class: "picture", role: "img", "aria-label": "Made-up counts of how 120 pupils come to school, true and with noise; the words beside it say the same" });
  const words = el("div", {});
  let draws = NAMES.map(noise);
  let price = 0.1;
  let meaning = null; // of a ρ: its (ε, δ)

  function show() {
    const scale = meaning ? 1 / Math.sqrt(price) : 1 / price;
    const reach = (meaning ? 1.386 : Math.log(20)) * scale; // 95 % of the noise lies within
    const sure = Math.exp(meaning ? meaning.epsilon : price);
    const most = Number.isFinite(sure) ? sure / (1 + sure) : 1;
    const name = meaning ? "ρ" : "ε";
    fill(words,
      el("p", {}, `With ${name} = ${Number(price.toPrecision(3))}, each published count is off by up to `, el("b", {}, `±${count(Math.max(1, Math.round(reach)))}`), ` (19 times out of 20). A smaller ${name} hides more and errs more.`),
      el("p", {}, "Suppose somebody knows everybody in the table but you, and thinks it as likely as not that you are in it. After seeing the answer they can be at most ", el("b", {}, `${percent(Number(most.toPrecision(3)))} sure`), meaning ? `, but for a chance of about ${meaning.delta}` : "", most > 0.88 ? `. That is nearly certain: this ${name} protects little.` : "."),
      el("p", { class: "quiet" }, "Every answer adds up: two questions at 0.1 ", meaning ? "spend as much as" : "protect you like", " one at 0.2. That is why there is a budget, and why what is spent cannot come back."));
    if (!details.open) return;
    draw(picture, (width) => {
      const noisy = NAMES.map((name, i) => SCHOOL[name] + draws[i] * scale);
      const top = Math.max(60, ...noisy) * 1.05;
      const chart = frame(width, 200, { domain: [0, NAMES.length], words: NAMES }, { kind: "linear", domain: [Math.min(0, ...noisy), top], title: "pupils" });
      const zero = chart.y.at(0);
      NAMES.forEach((name, i) => {
        const [a, b, y] = [chart.x.at(i + 0.15), chart.x.at(i + 0.85), chart.y.at(noisy[i])];
        chart.drawn.append(svg("rect", { x: a, width: b - a, y: Math.min(y, zero), height: Math.abs(zero - y), fill: "var(--blue)", "fill-opacity": 0.75 }),
          svg("line", { x1: a - 5, x2: b + 5, y1: chart.y.at(SCHOOL[name]), y2: chart.y.at(SCHOOL[name]), stroke: "var(--text)", "stroke-width": 2 }));
      });
      return { picture: chart.picture };
    });
  }

  const again = el("button", { type: "button", onclick: () => { draws = NAMES.map(meaning ? bell : noise); show(); } }, "Draw the noise again");
  const summary = el("summary", {}, "What does ε mean? One minute");
  const details = el("details", { class: "explain", ontoggle: () => show() }, summary,
    el("p", {}, "A made-up class of 120 pupils, and how they come to school. The black lines are the true counts; the bars are what would be published."), picture, again, words);
  return {
    parts: details,
    move(text, shown = null) {
      const given = exact(text);
      if (!given || real(given) <= 0) return;
      if (shown && !meaning) {
        draws = NAMES.map(bell);
        summary.textContent = "What does ρ mean? One minute";
      }
      [price, meaning] = [real(given), shown];
      show();
    },
  };
}
