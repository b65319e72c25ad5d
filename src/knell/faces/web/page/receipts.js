// Receipts: found by words, each with its proof, its rungs as a timeline, and the way back.

import { command, h, keyed, say } from "./dom.js";
import { get } from "./api.js";
import { toast } from "./toast.js";
import { counted, endedBy, memory, time } from "./words.js";
import { state } from "./store.js";

const PAGE = 50;
/** @type {Record<string, string>} */
const PROOFS = { proven: "proven gone", none_found: "none found any more", survivors: "not all gone" };
/** @type {Record<string, string>} */
const RUNGS = { exit_keys: "its own exit", hangup: "hangup", term: "TERM", kill: "KILL" };

/** @param {string} rest */
export function receiptsPage(rest) {
  const words = h("input", { type: "search", placeholder: "Search: name, reason, outcome, directory …",
    "aria-label": "Search receipts", value: rest, oninput: () => later() });
  const count = h("p", { class: "headline" });
  const list = h("div", { class: "receipts" });
  const more = h("button", { type: "button", onclick: () => load(next) }, "Older ones");
  const node = h("div", { class: "page" }, h("h1", {}, "Receipts"),
    h("div", { class: "bar" }, count, words), list, more);
  /** @type {any[]} */
  let found = [];
  let next = 0;
  let asked = 0;
  let timer = 0;
  let ended = "";

  function later() {
    clearTimeout(timer);
    timer = window.setTimeout(() => load(0), 80);
  }

  /** @param {number} before */
  async function load(before) {
    asked += 1;
    const mine = asked;
    const text = /** @type {HTMLInputElement} */ (words).value;
    try {
      const page = await get("/api/receipts", { text, limit: PAGE, before });
      if (mine !== asked) return; // a later search was faster
      found = before ? [...found, ...page.receipts] : page.receipts;
      next = page.more;
      draw();
    } catch (error) {
      if (mine === asked) toast([/** @type {Error} */ (error).message], "bad");
    }
  }

  function draw() {
    more.hidden = !next;
    say(count, found.length ? next ? `${found.length}+ receipts, the newest first`
      : `${counted(found.length, "receipt")}, the newest first`
      : "No receipt has these words.");
    keyed(list, found, (one) => String(one.id), (one) => receiptCard(one, found.length === 1));
  }

  load(0);
  return { node, update: () => {
    const newest = state.ended[0]?.run ?? "";
    if (newest !== ended && ended && !next) later();
    ended = newest;
  } };
}

/** @param {any} one */
function outcome(one) {
  const word = one.result === "survivors" ? "survivors" : one.proof ?? "none_found";
  return h("span", { class: `badge ${word}` }, PROOFS[word] ?? word);
}

/** @param {any} one @param {boolean} open */
export function receiptCard(one, open) {
  const details = h("details", { class: "card receipt", open }, h("summary", {},
    h("span", { class: "name" }, one.agent), h("span", { class: "kind" }, one.kind),
    h("span", { class: "outcome" }, one.outcome), outcome(one),
    h("span", { class: "told" }, endedBy(one)),
    h("time", { datetime: one.at, title: one.at }, time(one.at))));
  let filled = false;
  const fillOnce = () => {
    if (filled || !(/** @type {HTMLDetailsElement} */ (details).open)) return;
    filled = true;
    details.append(...inside(one));
  };
  details.addEventListener("toggle", fillOnce);
  fillOnce();
  return details;
}

/** @param {any} one @returns {Element[]} */
function inside(one) {
  const parts = [h("p", { class: "death" }, one.death?.sentence || one.detail || ""), timeline(one)];
  const lists = [["Ended", one.processes, (/** @type {any} */ p) => `${p.pid} ${p.command} (${p.ended_by})`],
    ["Still there", one.survivors, (/** @type {any} */ p) => `${p.pid} ${p.command}: ${p.state}, ${p.why}`],
    ["Left alone", one.kept, (/** @type {any} */ p) => `${p.pid} ${p.command}: ${p.why}`],
    ["Evidence", one.death?.evidence, String],
    ["Tasks", one.tasks, (/** @type {any} */ t) => `${t.id}: ${t.was} → ${t.now}`],
    ["Warnings", one.warnings, (/** @type {any} */ w) => w.text]];
  for (const [title, items, text] of lists) {
    if (items?.length) parts.push(h("h3", {}, title), h("ul", { class: "lines" },
      items.map((/** @type {any} */ item) => h("li", {}, text(item)))));
  }
  const use = [one.death?.run_max_rss_kb && `${memory(one.death.run_max_rss_kb / 1024)} at most`,
    one.death?.run_cpu_seconds != null && `${one.death.run_cpu_seconds.toFixed(1)} s of processor`];
  if (use.some(Boolean)) parts.push(h("p", { class: "quiet" }, use.filter(Boolean).join(", ")));
  if (one.cleaning?.worktree) parts.push(h("p", {},
    `Worktree ${one.cleaning.worktree}: ${one.cleaning.state}, ${one.cleaning.why}`));
  if (one.cleaning?.rescue) {
    parts.push(command(`git worktree add --detach ../${one.agent}-back ${one.cleaning.rescue}`));
  }
  if (one.conversation?.resume) parts.push(h("h3", {}, "The way back"), command(one.conversation.resume));
  else parts.push(h("p", { class: "quiet" }, one.conversation?.why ?? ""));
  if (one.screen) parts.push(h("h3", {}, "Last screen"),
    h("pre", { class: "screen", tabindex: 0 }, one.screen));
  parts.push(h("p", { class: "quiet" }, `run ${one.run}, ${one.duration_ms} ms, `
    + counted(one.processes.length, "process", "processes")));
  return parts;
}

/** The rungs of the ladder over the time that the ending took. @param {any} one */
function timeline(one) {
  const whole = Math.max(1, one.duration_ms);
  const taken = one.rungs.filter((/** @type {any} */ rung) => rung.reached);
  const spared = one.rungs.filter((/** @type {any} */ rung) => !rung.reached);
  const bar = h("div", { class: "track", "aria-hidden": true }, taken.map((/** @type {any} */ rung) => {
    const mark = h("i", { class: `mark ${rung.rung}` });
    mark.style.left = `${Math.min(100, (rung.at_ms / whole) * 100)}%`;
    return mark;
  }));
  return h("div", { class: "timeline" }, bar, h("ol", {},
    taken.map((/** @type {any} */ rung) => step(`${rung.at_ms} ms`, RUNGS[rung.rung] ?? rung.rung)),
    step(`${one.duration_ms} ms`, PROOFS[one.proof] ?? one.result),
    spared.map((/** @type {any} */ rung) => h("li", { class: "missed" },
      `${RUNGS[rung.rung] ?? rung.rung} was not needed`))));
}

/** @param {string} at @param {string} what */
function step(at, what) {
  return h("li", {}, h("span", { class: "at" }, at), what);
}
