// Which view is shown: the address after # says so, and reopens the same view.

import { subjectOf } from "./address.js";
import { get, session, Unreachable } from "./api.js";
import { el, fill, trouble } from "./dom.js";
import { pending } from "./pending.js";
import { price } from "./numbers.js";
import { ask } from "./views/ask.js";
import { askKeys } from "./views/askkeys.js";
import { charges } from "./views/charges.js";
import { datasets } from "./views/datasets.js";
import { explore } from "./views/explore.js";
import { owner } from "./views/owner.js";
import { series } from "./views/series.js";
import { signIn } from "./views/signin.js";

const VIEWS = { "": datasets, ask, release: explore, public: explore, series, keys: askKeys, charges, owner };
const main = document.getElementById("main");
let leaving = new AbortController();
let me = null;
let shown = null;

/** The view, its subject and its parameters: #/release/ID?version=whole. */
function address() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...subject] = path.split("/");
  return { view, subject: decoded(subject.join("/")), query: new URLSearchParams(query) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a link that was cut inside a letter
  }
}

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const { view, subject, query } = address();
  const page = el("div", { class: `view view-${view || "datasets"}` }, el("p", { class: "waiting" }, "Loading …"));
  const isSame = ["release", "public", "series"].includes(view) && shown === `${view}/${subject}`; // a step back in the same view: it changes in its place
  shown = `${view}/${subject}`;
  const place = () => page.isConnected || fill(main, page);
  if (!isSame) place();
  try {
    if (!me && view !== "public" && !(await session.get(signal)).signed_in) return showSignIn();
    if (view !== "public") me = await get("/me", signal);
    head(view);
    await (VIEWS[view] ?? lost)(page, { view, subject, query, me: view === "public" ? null : me, signal });
    place();
  } catch (wrong) {
    if (signal.aborted || wrong.status === 401) return undefined;
    place();
    fill(page, el("h1", {}, "This did not work"), trouble(wrong.message, el("button", { type: "button", onclick: show }, "Try again"), " ", el("a", { href: "#/" }, "Datasets")));
    if (!(wrong instanceof Unreachable) && !wrong.status) throw wrong;
  }
  return isSame ? undefined : settled(page);
}

function settled(page) {
  const heading = page.querySelector("h1");
  if (!heading) return;
  document.title = `${heading.textContent} · trueup`;
  if (page.contains(document.activeElement)) return; // someone has begun to type
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function lost(page) {
  fill(page, el("h1", {}, "There is no such view"), el("p", {}, "The address after # is not one of ours. ", el("a", { href: "#/" }, "Go to the datasets"), "."));
}

function showSignIn(why = null) {
  me = shown = null;
  head("");
  const page = el("div", { class: "view view-signin" });
  fill(main, page);
  signIn(page, why, show);
  settled(page);
  page.querySelector("input").focus();
}

function head(view) {
  const own = { owner: [["owner", "Owner"]], analyst: [["charges", "My charges"]] };
  const links = me ? [["", "Datasets"], ...(own[me.role] ?? [])] : [];
  fill(document.getElementById("nav"), links.map(([name, words]) => el("a", { href: `#/${name}`, "aria-current": name === view ? "page" : null }, words)));
  fill(document.getElementById("who"), me && el("span", { class: "quiet" }, `${me.name}, ${me.role}`), me && el("button", { type: "button", class: "plain", onclick: signOut }, "Sign out"));
  banner();
}

/** What holds on every view: no connection, or a measurement that awaits its answer. */
function banner() {
  const waiting = me && pending(me.name);
  const words = [];
  if (!navigator.onLine) words.push(el("p", {}, "You are offline. What is on screen stays; new answers wait for the connection."));
  if (waiting && !["ask", "keys"].some((one) => location.hash.startsWith(`#/${one}/${encodeURIComponent(waiting.dataset)}`))) {
    words.push(el("p", {}, `A measurement of ${subjectOf(waiting.body)} (${price(waiting.body)}) was sent and its answer has not arrived. `,
      el("a", { href: `#/ask/${encodeURIComponent(waiting.dataset)}` }, "Fetch the answer"), ": it is charged once, however often it is asked for."));
  }
  fill(document.getElementById("banner"), words);
}

async function signOut() {
  leaving.abort();
  try {
    await session.end();
  } catch (wrong) {
    fill(document.getElementById("banner"), el("p", {}, `You are still signed in. ${wrong.message}`));
    return;
  }
  me = null;
  location.hash = "#/";
  show();
}

addEventListener("signed-out", (event) => {
  if (!me) return;
  leaving.abort();
  showSignIn(`You are signed out. ${event.detail}`);
});
addEventListener("hashchange", show);
addEventListener("online", banner);
addEventListener("offline", banner);
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
show();
