// Asks the server. An error carries the sentence that people read.

export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {any} body
   */
  constructor(status, body) {
    const told = body?.error ?? {};
    super([told.message || `the server answered ${status}`, told.hint].filter(Boolean).join(": "));
    this.status = status;
    this.code = told.code ?? "";
    this.body = body;
  }
}

/**
 * @param {string} path
 * @param {Record<string, string | number>} [query]
 */
export async function get(path, query = {}) {
  const text = String(new URLSearchParams(/** @type {any} */ (query)));
  return answer(await fetch(text ? `${path}?${text}` : path));
}

/**
 * @param {string} path
 * @param {object} body
 */
export async function post(path, body) {
  return answer(await fetch(path, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }));
}

/**
 * What a page does after each change: it asks again where something is new. What fails is not said
 * here: the banner says that the server is away.
 * @param {() => unknown} newest
 * @param {() => Promise<void>} load
 */
export function asking(newest, load) {
  /** @type {unknown} */
  let seen;
  return () => {
    const now = newest();
    if (now !== seen) load().catch(() => {});
    seen = now;
  };
}

/** @param {Response} response */
async function answer(response) {
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, body);
  return body;
}
