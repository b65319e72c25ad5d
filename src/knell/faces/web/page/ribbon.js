// The last 24 hours of a run as a ribbon, and its CPU and memory as lines.

import { get } from "./api.js";
import { h, svg } from "./dom.js";
import { memory, time } from "./words.js";

const AT_ONCE = 40;
const FRESH = 60_000; // milliseconds
/** @type {Map<string, {at: number, line: any}>} */
const known = new Map();
/** @type {Map<string, Set<(line: any) => void>>} */
const wanted = new Map();
let timer = 0;

/**
 * Gives the line of a run, now if it is known and again when it was asked for.
 * @param {string} run
 * @param {(line: any) => void} show
 */
export function wantLine(run, show) {
  const found = known.get(run);
  if (found) show(found.line);
  if (!run || (found && Date.now() - found.at < FRESH)) return;
  if (!wanted.has(run)) wanted.set(run, new Set());
  wanted.get(run)?.add(show);
  if (!timer) timer = window.setTimeout(ask, 50);
}

/** Asks for many runs at once. */
async function ask() {
  timer = 0;
  const runs = [...wanted.keys()].slice(0, AT_ONCE);
  const waiting = runs.map((run) => /** @type {[string, any]} */ ([run, wanted.get(run)]));
  for (const run of runs) wanted.delete(run);
  if (wanted.size) timer = window.setTimeout(ask, 50);
  try {
    const lines = await get("/api/ribbons", { runs: runs.join(",") });
    for (const [run, shows] of waiting) {
      known.set(run, { at: Date.now(), line: lines[run] });
      for (const show of shows) show(lines[run]);
    }
  } catch {
    // the banner says that the server is away; the next look asks again
  }
}

/**
 * Stretches that follow each other with the same activity.
 * @param {string[]} activity
 */
function stretches(activity) {
  const found = [];
  for (let from = 0; from < activity.length;) {
    let to = from + 1;
    while (to < activity.length && activity[to] === activity[from]) to += 1;
    found.push({ from, to, word: activity[from] });
    from = to;
  }
  return found;
}

/**
 * The ribbon: an image with words for those who do not see it.
 * @param {any} line
 * @param {{endedAt?: string}} [options]
 */
export function ribbon(line, options = {}) {
  const count = line.activity.length;
  const parts = stretches(line.activity).filter((part) => part.word);
  const totals = new Map();
  for (const part of parts) {
    totals.set(part.word, (totals.get(part.word) ?? 0) + (part.to - part.from) * line.step);
  }
  const told = [...totals].map(([word, seconds]) => `${word} ${Math.round(seconds / 60)} min`);
  const drawing = svg("svg", { class: "ribbon", viewBox: `0 0 ${count} 10`, role: "img",
    preserveAspectRatio: "none",
    "aria-label": told.length ? `Last 24 hours: ${told.join(", ")}` : "No history yet" });
  drawing.append(svg("rect", { class: "track", x: 0, y: 0, width: count, height: 10 }));
  for (const { from, to, word } of parts) {
    drawing.append(svg("rect", { class: `tone-${word}`, x: from, y: 0, width: to - from,
      height: 10 }, svg("title", {}, `${word}, ${time((line.start + from * line.step) * 1000)}`)));
  }
  const ended = options.endedAt ? (Date.parse(options.endedAt) / 1000 - line.start) / line.step : 0;
  if (ended > 0 && ended < count) {
    drawing.append(svg("rect", { class: "tone-ended", x: ended, y: 0, width: count - ended,
      height: 10 }, svg("title", {}, `ended, ${time(options.endedAt ?? "")}`)));
  }
  return drawing;
}

/**
 * One line over the same 24 hours.
 * @param {any} line
 * @param {"cpu_percent" | "memory_mb"} what
 */
export function graph(line, what) {
  const values = /** @type {(number | null)[]} */ (line[what]);
  const numbers = values.filter((one) => one != null);
  const top = Math.max(what === "cpu_percent" ? 10 : 1, ...numbers.map(Number));
  const count = values.length;
  let path = "";
  /** @type {number | null} */
  let before = null;
  values.forEach((value, at) => {
    if (value != null) path += `${before == null ? "M" : "L"}${at} ${38 - (value / top) * 34}`;
    before = value;
  });
  const say = what === "cpu_percent" ? (/** @type {number} */ n) => `${Math.round(n)} %` : memory;
  const last = numbers.length ? say(Number(numbers[numbers.length - 1])) : "no samples yet";
  const word = what === "cpu_percent" ? "CPU" : "Memory";
  return h("figure", { class: "graph" },
    h("figcaption", {}, h("span", {}, word), h("span", {}, last),
      numbers.length ? h("span", { class: "quiet" }, `most ${say(top)}`) : null),
    svg("svg", { viewBox: `0 0 ${count} 40`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${word} over 24 hours, now ${last}` },
    svg("line", { class: "base", x1: 0, y1: 39, x2: count, y2: 39 }),
    path ? svg("path", { d: path, class: `line ${what}` }) : null));
}

/** Which colour means what. */
export function legend() {
  const words = ["working", "idle", "waiting", "unresponsive", "stalled", "ended"];
  return h("p", { class: "legend" }, words.map((word) =>
    h("span", {}, h("i", { class: `dot tone-${word}` }), word)));
}
