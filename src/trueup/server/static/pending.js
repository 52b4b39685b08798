// A measurement that has been sent. Its key is kept before it leaves, so that after a lost connection
// or a reload it is asked for again under the same key: the same answer, charged once.

import { get, measure, Refused, Unreachable } from "./api.js";

const KEPT = "trueup.pending";

/** The measurement that this person sent and that is not answered yet, if there is one. */
export function pending(by) {
  const kept = JSON.parse(sessionStorage.getItem(KEPT));
  return kept?.by === by ? kept : null; // a key is its holder's: under another name it would be charged again
}

export function prepare(by, dataset, body) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const key = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const request = { key, by, dataset, body };
  sessionStorage.setItem(KEPT, JSON.stringify(request));
  return request;
}

const wait = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("stopped", "AbortError"));
    });
  });

/** Whether waiting helps: the way was broken, or the server or something before it was busy. */
const mayPass = (wrong) => wrong instanceof Unreachable || ["busy", "slow", "unanswered"].includes(wrong.code);

/** Whether the server will never answer this one. A token can be renewed, a fault repaired. */
const FINAL = new Set(["budget", "bad_request", "key_conflict", "not_allowed", "not_found", "too_large"]);
const isFinal = (wrong) => FINAL.has(wrong.code) && wrong.status !== 401;

/**
 * The release that a prepared measurement leads to, however often the connection breaks.
 * `told` hears each step ({step, of, words}) and each break ({lost: words}).
 */
export async function settle(request, told, signal) {
  let pause = 500;
  for (;;) {
    try {
      const release = await once(request, told, signal);
      sessionStorage.removeItem(KEPT);
      return release;
    } catch (wrong) {
      if (!mayPass(wrong)) {
        if (isFinal(wrong)) sessionStorage.removeItem(KEPT);
        throw wrong;
      }
      told({ lost: wrong.message });
      await wait(pause, signal);
      pause = Math.min(2 * pause, 8000);
    }
  }
}

async function once(request, told, signal) {
  const answer = await measure(request.dataset, request.body, request.key, signal);
  if (answer.release) return answer.release;
  for (;;) {
    let job;
    try {
      job = await get(`/jobs/${answer.job}`, signal);
    } catch (wrong) {
      // A server that was restarted does not know the job; under its key it still knows the charge.
      if (wrong instanceof Refused && wrong.status === 404) throw new Unreachable();
      throw wrong;
    }
    if (job.state === "done") return job.release;
    if (job.state === "failed") throw new Refused(409, job.error?.code ?? "internal", job.error?.detail ?? String(job.error));
    told(job);
    await wait(400, signal);
  }
}
