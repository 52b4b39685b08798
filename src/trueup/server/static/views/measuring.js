// Measuring: a question that was sent, on its way to its answer.

import { askAddress, subjectOf } from "../address.js";
import { announce, el, fill, trouble } from "../dom.js";
import { price } from "../numbers.js";
import { pending, settle } from "../pending.js";

/** Opens a question again as it was asked. */
function change(request) {
  history.replaceState(null, "", askAddress(request.dataset, request.body));
  dispatchEvent(new HashChangeEvent("hashchange")); // the address may be the one that is shown
}

export async function measuring(page, title, request, signal) {
  const bar = el("progress", { "aria-label": "Progress" });
  const words = el("p", {}, "Sending …");
  const lost = el("div", {});
  fill(page,
    el("h1", { tabindex: "-1" }, `Measuring ${subjectOf(request.body)} of ${title}`),
    el("section", { class: "card narrow", "aria-label": "Progress" }, bar, words, lost,
      el("p", { class: "quiet" }, `It costs ${price(request.body)}, once. If the connection breaks or you reload this page, the page asks again under the same key: you get the same answer, and nothing more is charged.`)));
  page.querySelector("h1").focus({ preventScroll: true });

  const told = (news) => {
    if (news.lost) {
      fill(lost, trouble(`${news.lost} The page keeps trying, under the same key: you are charged once.`));
      return;
    }
    fill(lost);
    if (news.of) Object.assign(bar, { max: news.of, value: news.step });
    if (words.textContent !== news.words) announce(news.words);
    fill(words, news.words);
  };

  try {
    const release = await settle(request, told, signal);
    announce("The answer is there.");
    location.replace(`#/release/${encodeURIComponent(release)}`);
  } catch (wrong) {
    if (wrong.name === "AbortError" || wrong.status === 401) return;
    bar.remove();
    const kept = pending(request.by) !== null;
    const paid = "The owner has declared the dataset anew since the question was sent. What was charged for it stays charged; its answer is among the releases, and stands in your charges."; // the words mean another question now
    fill(words, kept ? "The request is kept. Trying again costs nothing more." : wrong.code === "key_conflict" ? paid : "The question was refused and nothing was charged.");
    fill(lost, trouble(wrong.message, kept ? el("button", { type: "button", onclick: () => measuring(page, title, request, signal) }, "Try again") : el("button", { type: "button", onclick: () => change(request) }, "Change the question")));
  }
}
