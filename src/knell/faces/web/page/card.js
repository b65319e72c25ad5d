// One agent, live or ended: as a card, or as a row of the table.

import { fill, h, say, set } from "./dom.js";
import { chooser } from "./selection.js";
import { deedButtons } from "./question.js";
import { ribbon, wantLine } from "./ribbon.js";
import { fullName, isOld, pendingWords, seenWords } from "./fleet.js";
import { ago, counted, endedBy, memory, span } from "./words.js";
import { quiet, state, tone } from "./store.js";

/** @param {any} row */
export const addressOf = (row) => `#/agent/${encodeURIComponent(fullName(row))}`;

/** @param {any} row */
export function verdictWord(row) {
  if (row.order) return `${row.order.verb} pending`;
  if (row.state === "ended") return row.outcome || "ended";
  if (isOld(state.fleet, row)) return row.activity && row.activity !== "unknown"
    ? `was ${row.activity}` : "unknown";
  const ending = row.far ? null : state.endings.find((one) => one.agent === row.name);
  if (ending) {
    /** @type {Record<string, string>} */
    const rungs = { exit_keys: "asked", term: "TERM", kill: "KILL" };
    const gone = ending.total ? `, ${ending.gone} of ${ending.total} gone` : "";
    return `ending: ${rungs[ending.rung] ?? "begins"}${gone}`;
  }
  return tone(row);
}

/** @param {any} row */
export function place(row) {
  return [row.place, row.server, row.pane].filter(Boolean).join(" ");
}

/** @param {any} row */
function facts(row) {
  return [
    row.cpu_percent == null ? "" : `${Math.round(row.cpu_percent)} % CPU`,
    memory(row.memory_mb),
    row.processes == null ? "" : counted(row.processes, "process", "processes"),
    place(row),
  ].filter(Boolean);
}

/** @param {any} row */
export function chips(row) {
  const found = [["team", state.fleet ? row.team : ""], ["tag", row.tag], ["role", row.role], ["task", row.task], ["worktree", row.worktree]];
  return found.filter(([, text]) => text).map(([word, text]) =>
    h("span", { class: `chip ${word}${word === "worktree" && text.includes("*") ? " dirty" : ""}`,
      title: word === "worktree" && text.includes("*") ? "files with uncommitted work" : word }, text));
}

/** A card; of an agent that has ended: how, and the way back. @param {any} first */
export function card(first) {
  let row = first;
  const over = first.state === "ended";
  const box = chooser(first);
  const name = h("a", { class: "name" });
  const kind = h("span", { class: "kind" });
  const word = h("span", { class: "verdict" });
  const age = h("span", { class: "age", "data-ticks": true });
  const why = h("p", { class: "why" });
  const drawing = h("div", { class: "history" });
  const facing = h("p", { class: "facts" });
  const tags = h("p", { class: "chips" });
  const note = h("p", { class: "note" });
  const receipt = first.far ? addressOf(first) : `#/receipts/${encodeURIComponent(first.run)}`;
  const buttons = h("div", { class: "deeds" },
    deedButtons(() => row, over ? ["resume", "cleanup"] : ["stop", "kill"]),
    over ? h("a", { class: "ghost button", href: receipt }, "Receipt") : null);
  const node = h("article", {}, h("header", {}, box, h("i", { class: "dot" }), name, kind, word, age),
    why, note, drawing, facing, tags, buttons);
  const tick = () => {
    const silent = quiet(row);
    if (over) say(age, ago(row.ended_at));
    else if (row.far) say(age, seenWords(state.fleet?.hosts.get(row.host)));
    else say(age, silent == null || silent < 5 ? "" : `quiet ${span(silent)}`);
  };
  Object.assign(age, { tick });
  drawing.hidden = Boolean(first.far); // its history stays on its host
  if (!first.far) seen(node, () => wantLine(row.run, (line) =>
    fill(drawing, line, () => [ribbon(line, { endedAt: over ? row.ended_at : "" })])));
  return Object.assign(node, { update: (/** @type {any} */ now) => {
    row = now;
    set(node, { class: `card is-${tone(row)}` });
    box.update(row);
    set(name, { href: addressOf(row) });
    say(name, over ? fullName(row) : row.name);
    say(kind, row.kind);
    say(word, verdictWord(row));
    say(why, over ? pendingWords(row) || endedBy(row) : row.why);
    tick();
    if (over) { // its receipt can be read all the same; an empty paragraph is not shown
      for (const one of buttons.querySelectorAll("button")) set(one, { hidden: state.readonly });
      return;
    }
    set(buttons, { hidden: state.readonly || !row.run });
    say(note, pendingWords(row) || row.note);
    fill(facing, facts(row), () => facts(row).map((text) => h("span", {}, text)));
    fill(tags, [row.tag, row.role, row.task, row.worktree, row.team], () => chips(row));
  } });
}

/** @param {any} first */
export function tableRow(first) {
  let row = first;
  const box = chooser(first);
  const name = h("a", { class: "name" });
  const word = h("span", { class: "verdict" });
  const age = h("td", { class: "number", "data-ticks": true });
  const cells = [h("td", { class: "number" }), h("td", { class: "number" }), h("td"), h("td"), h("td")];
  const host = h("td", { "data-ticks": true });
  const buttons = h("td", { class: "deeds" }, deedButtons(() => row, ["stop", "kill"]));
  const node = h("tr", {}, h("td", {}, box), state.fleet ? host : null, h("th", { scope: "row" }, name),
    h("td", {}, h("i", { class: "dot" }), word), age, cells, buttons);
  const tick = () => say(age, span(quiet(row)));
  Object.assign(age, { tick });
  const tickHost = () => say(host, row.far
    ? `${row.host}, ${seenWords(state.fleet?.hosts.get(row.host))}` : state.fleet?.host ?? "");
  Object.assign(host, { tick: tickHost });
  return Object.assign(node, { update: (/** @type {any} */ now) => {
    row = now;
    set(node, { class: `is-${tone(row)}` });
    box.update(row);
    set(name, { href: addressOf(row) });
    say(name, row.name);
    say(word, verdictWord(row));
    set(word, { title: pendingWords(row) || row.why });
    tickHost();
    const texts = [row.cpu_percent == null ? "" : `${Math.round(row.cpu_percent)} %`,
      memory(row.memory_mb), place(row), row.task, row.worktree];
    texts.forEach((text, at) => say(cells[at], text ?? ""));
    set(buttons, { hidden: state.readonly });
    tick();
  } });
}

const watcher = new IntersectionObserver((found) => {
  for (const one of found) if (one.isIntersecting) /** @type {any} */ (one.target).onSeen();
}, { rootMargin: "200px" });
/** @type {Set<any>} */
const watched = new Set();
setInterval(() => {
  for (const node of watched) {
    if (!node.isConnected) { watcher.unobserve(node); watched.delete(node); }
    else if (node.getBoundingClientRect().top < innerHeight) node.onSeen();
  }
}, 60_000);

/**
 * Draws what costs a request only for cards that are seen, and again each minute.
 * @param {any} node
 * @param {() => void} draw
 */
function seen(node, draw) {
  node.onSeen = draw;
  watched.add(node);
  watcher.observe(node);
}
