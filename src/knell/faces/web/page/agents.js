// The page of all agents: cards or a table, by team; those that need somebody come first.

import { fill, h, keyed, say } from "./dom.js";
import { onSelection, selectionBar } from "./selection.js";
import { card, endedCard, tableRow } from "./card.js";
import { counted, size } from "./words.js";
import { ordered, over, state } from "./store.js";
import { legend } from "./ribbon.js";

let words = ""; // never remembered: a remembered filter hides agents

/** @param {any} row */
function matches(row) {
  const text = [row.name, row.kind, row.state, row.activity, row.outcome, row.place, row.tag,
    row.team, row.task, row.worktree, row.cwd, row.why].join(" ").toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** @param {any[]} rows */
function byTeam(rows) {
  /** @type {Map<string, any[]>} */
  const teams = new Map();
  for (const row of rows) {
    if (!teams.has(row.team)) teams.set(row.team, []);
    teams.get(row.team)?.push(row);
  }
  return [...teams].map(([team, members]) => ({ team, members }));
}

export function agentsPage() {
  const head = h("p", { class: "headline" });
  const filter = h("input", { type: "search", placeholder: "Filter: words that an agent must have",
    "aria-label": "Filter agents", value: words, oninput: () => {
      words = /** @type {HTMLInputElement} */ (filter).value;
      update();
    } });
  const cards = switchButton("cards", "Cards");
  const table = switchButton("table", "Table");
  const groups = h("div", { class: "groups" });
  const none = h("p", { class: "quiet" });
  const ended = h("div", { class: "cards" });
  const endedSection = h("section", { "aria-label": "Ended agents" }, h("h2", {}, "Ended"), ended);
  const bar = selectionBar();
  const node = h("div", { class: "page agents" }, h("h1", { class: "hidden" }, "Agents"),
    h("div", { class: "bar" }, head, filter,
      h("div", { class: "switch", role: "group", "aria-label": "Cards or table" }, cards, table)),
    groups, none, endedSection, legend(), bar);

  /** @param {string} way @param {string} title */
  function switchButton(way, title) {
    return h("button", { type: "button", onclick: () => {
      localStorage.setItem("agents", way);
      update();
    } }, title);
  }

  function update() {
    const way = localStorage.getItem("agents") === "table" ? "table" : "cards";
    cards.setAttribute("aria-pressed", String(way === "cards"));
    table.setAttribute("aria-pressed", String(way === "table"));
    const live = ordered();
    const rows = live.filter(matches);
    say(head, headline(live, rows.length));
    const teams = byTeam(rows);
    keyed(groups, teams, (one) => `${way} ${one.team}`, (one) => group(one, way));
    none.hidden = rows.length > 0;
    fill(none, [state.loaded, live.length], () => nobody(live.length));
    const past = over().filter(matches);
    endedSection.hidden = !past.length;
    keyed(ended, past, (row) => row.run, (row) => endedCard(row));
    bar.update();
  }

  /** @param {number} live */
  function nobody(live) {
    if (!state.loaded) return ["Looking …"];
    if (live) return [`None of ${counted(live, "agent")} has all of these words.`];
    return ["No agent runs. Start one: ", h("code", {}, "knell spawn claude")];
  }

  const stop = onSelection(update);
  return { node, update, leave: stop, tick: () => tick(node) };
}

/** Ages grow between two looks. @param {Element} node */
function tick(node) {
  for (const one of node.querySelectorAll("[data-ticks]")) /** @type {any} */ (one).tick();
}

/** @param {any[]} live @param {number} shown */
function headline(live, shown) {
  const counts = ["stalled", "unresponsive", "waiting", "working", "idle"]
    .map((word) => ({ word, count: live.filter((row) => row.activity === word).length }))
    .filter((one) => one.count).map((one) => `${one.count} ${one.word}`);
  const parts = [counted(live.length, "agent"), counts.join(", ")];
  if (words.trim()) parts.push(`${shown} shown`);
  if (state.orphans.length) parts.push(counted(state.orphans.length, "orphan"));
  if (state.runsBytes) parts.push(`${size(state.runsBytes)} on disk`);
  return parts.filter(Boolean).join("  ·  ");
}

/** @param {{team: string, members: any[]}} first @param {string} way */
function group(first, way) {
  const title = h("h2", {}, first.team ? `Team ${first.team}` : "");
  title.hidden = !first.team;
  const list = way === "cards" ? h("div", { class: "cards" }) : h("tbody");
  const body = way === "cards" ? list : h("div", { class: "scroll", tabindex: 0, role: "region",
    "aria-label": "Agents" }, h("table", { class: "agents" },
    h("thead", {}, h("tr", {}, ["", "Name", "Activity", "Quiet", "CPU", "Memory", "Place", "Task",
      "Worktree", ""].map((word) => h("th", { scope: "col" }, word)))), list));
  const node = h("section", { "aria-label": first.team ? `Team ${first.team}` : "Agents" }, title, body);
  return Object.assign(node, { update: (/** @type {any} */ now) =>
    keyed(list, now.members, (row) => row.run || row.name, way === "cards" ? card : tableRow) });
}
