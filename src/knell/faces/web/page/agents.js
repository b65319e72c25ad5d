// The page of all agents: cards or a table, by team; those that a person should look at come first.

import { fill, h, keyed, say } from "./dom.js";
import { selectionBar } from "./selection.js";
import { card, tableRow } from "./card.js";
import { counted, size } from "./words.js";
import { byHost, seenWords } from "./fleet.js";
import { doing, ordered, over, state } from "./store.js";
import { legend } from "./ribbon.js";

let words = ""; // never remembered: a remembered filter hides agents

/** @param {any} row */
function matches(row) {
  const host = row.far ? row.host : state.fleet?.host ?? "";
  const text = [host, row.name, row.kind, row.state, row.activity, row.outcome, row.place, row.tag,
    row.team, row.task, row.worktree, row.cwd, row.why].join(" ").toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** @param {any[]} rows */
function byTeam(rows) {
  return [...Map.groupBy(rows, (row) => row.team)].map(([team, members]) => ({ key: `team ${team}`, title: team && `Team ${team}`,
    label: team ? `Team ${team}` : "Agents", host: "", members }));
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
    const found = state.fleet ? byHost(state.fleet, rows, !words.trim()) : byTeam(rows);
    keyed(groups, found, (one) => `${way} ${one.key}`, (one) => group(one, way));
    none.hidden = rows.length > 0;
    fill(none, [state.loaded, live.length], () => nobody(live.length));
    const past = over().filter(matches);
    endedSection.hidden = !past.length;
    keyed(ended, past, (row) => row.run, card);
    bar.update();
  }

  /** @param {number} live */
  function nobody(live) {
    if (!state.loaded) return ["Looking …"];
    if (live) return [`None of ${counted(live, "agent")} has all of these words.`];
    return ["No agent runs. Start one: ", h("code", {}, "knell spawn claude")];
  }

  /** Ages grow between two looks. */
  function tick() {
    for (const one of node.querySelectorAll("[data-ticks]")) /** @type {any} */ (one).tick();
  }

  return { node, update, tick };
}

/** @param {any[]} live @param {number} shown */
function headline(live, shown) {
  const counts = ["stalled", "unresponsive", "waiting", "working", "idle"]
    .map((word) => ({ word, count: live.filter((row) => doing(row) === word).length }))
    .filter((one) => one.count).map((one) => `${one.count} ${one.word}`);
  const parts = [counted(live.length, "agent"), where(), counts.join(", ")];
  if (words.trim()) parts.push(`${shown} shown`);
  if (state.orphans.length) parts.push(counted(state.orphans.length, "orphan"));
  if (state.runsBytes) parts.push(`${size(state.runsBytes)} on disk`);
  return parts.filter(Boolean).join("  ·  ");
}

/** On how many hosts, and how many of them are silent. */
function where() {
  if (!state.fleet) return "";
  if (!state.fleet.looked) return "other hosts: not seen yet";
  const hosts = [...state.fleet.hosts.values()].filter((host) => host.state !== "left");
  const silent = hosts.filter((host) => host.state !== "heard").length;
  return `on ${counted(hosts.length, "host")}${silent ? `, ${silent} silent` : ""}`;
}

/** @typedef {{key: string, title: string, label: string, host: string, members: any[]}} Group */

/** @param {Group} first @param {string} way */
function group(first, way) {
  const age = h("span", { class: "age", "data-ticks": true });
  const title = h("h2", {}, first.title, " ", age);
  title.hidden = !first.title;
  const tick = () => {
    const far = first.host && first.host !== state.fleet?.host;
    say(age, !first.host ? "" : far ? seenWords(state.fleet?.hosts.get(first.host)) : "this machine");
  };
  Object.assign(age, { tick });
  const list = way === "cards" ? h("div", { class: "cards" }) : h("tbody");
  const body = way === "cards" ? list : h("div", { class: "scroll", tabindex: 0, role: "region",
    "aria-label": "Agents" }, h("table", { class: "agents" },
    h("thead", {}, h("tr", {}, ["", ...(state.fleet ? ["Host"] : []), "Name", "Activity", "Quiet", "CPU", "Memory", "Place", "Task",
      "Worktree", ""].map((word) => h("th", { scope: "col" }, word)))), list));
  const none = h("p", { class: "quiet" }, "No agent runs there.");
  const node = h("section", { "aria-label": first.label }, title, body, none);
  return Object.assign(node, { update: (/** @type {Group} */ now) => {
    const old = state.fleet?.hosts.get(now.host)?.state;
    node.className = old && old !== "heard" ? "is-silent" : "";
    none.hidden = !now.host || now.members.length > 0;
    body.hidden = !now.members.length;
    tick();
    keyed(list, now.members, (row) => row.run || row.name, way === "cards" ? card : tableRow);
  } });
}
