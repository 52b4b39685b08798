// The way to the server: one error for what it refuses, one for when it cannot be reached.
// Who asks is told by a cookie that no script can read.

/** The server understood and said no; `message` is in its own words. */
export class Refused extends Error {
  constructor(status, code, message, pointer = null) {
    super(message);
    Object.assign(this, { status, code, pointer }); // pointer: the field that is wrong, "/epsilon"
  }
}

/** No answer came: the server is down, or the connection is. */
export class Unreachable extends Error {
  constructor() {
    super("The server cannot be reached. Check your connection; if it is fine, the server may be restarting.");
  }
}

async function send(method, path, { body, key, signal } = {}) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  let response;
  try {
    response = await fetch(`api/v1${path}`, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (wrong) {
    if (wrong.name === "AbortError") throw wrong;
    throw new Unreachable();
  }
  if (response.ok) return response;
  const refused = await refusal(response);
  if (refused.status === 401 && path !== "/session") dispatchEvent(new CustomEvent("signed-out", { detail: refused.message }));
  throw refused;
}

async function refusal(response) {
  let error = {};
  try {
    error = (await response.json()) ?? {};
  } catch {
    // A proxy's page, or half an answer: the status is all there is.
  }
  const words = error.detail ?? `The server answered ${response.status} and gave no reason. Try again; tell the owner if it stays so.`;
  return new Refused(response.status, error.code ?? (response.status >= 500 ? "unanswered" : "internal"), words, error.pointer ?? null);
}

async function read(response) {
  try {
    return response.status === 204 ? null : await response.json();
  } catch (wrong) {
    if (wrong.name === "AbortError") throw wrong;
    throw new Unreachable(); // the connection broke inside the answer
  }
}

export const get = async (path, signal) => read(await send("GET", path, { signal }));
/** Whether this browser is signed in; signing in with a token, and out. */
export const session = {
  get: async (signal) => read(await send("GET", "/session", { signal })),
  begin: async (token) => read(await send("POST", "/session", { body: { token } })),
  end: async () => read(await send("DELETE", "/session")),
};
export const post = async (path, body, signal) => read(await send("POST", path, { body, signal }));
export const put = async (path, body) => read(await send("PUT", path, { body }));
export const remove = async (path) => read(await send("DELETE", path));
export const measure = async (dataset, body, key, signal) =>
  read(await send("POST", `/datasets/${encodeURIComponent(dataset)}/measure`, { body, key, signal }));

/** The path with these parameters; those without a value are left out. */
export function withParameters(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** Saves what is at a path as a file, under the name that the server gives it. */
export async function download(path, otherwise) {
  const response = await send("GET", path);
  const named = /filename="?([^";]+)/.exec(response.headers.get("Content-Disposition") ?? "");
  return keep(await response.blob(), named ? named[1] : otherwise);
}

/** Saves bytes as a file. */
export function keep(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  return name;
}
