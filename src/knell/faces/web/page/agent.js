// One agent: its verdict with the evidence, its day, its screen, its processes, and what can be done.

import { command, factList, fill, h, say } from "./dom.js";
import { ApiError, get } from "./api.js";
import { chips, place, verdictWord } from "./card.js";
import { deedButtons } from "./question.js";
import { eventItem } from "./events.js";
import { graph, legend, ribbon, wantLine } from "./ribbon.js";
import { ago, endedBy, memory, span, time } from "./words.js";
import { quiet, state, tone } from "./store.js";

const AGAIN = 3; // seconds between two looks
const EVENTS = 12;

/** What stands at the top of an agent's page, and `draw`, which says it. @param {string} name */
export function headOf(name) {
  const word = h("span", { class: "verdict" });
  const age = h("span", { class: "age" });
  const why = h("p", { class: "why" });
  const note = h("p", { class: "note" }); // not shown while it is empty
  const tags = h("p", { class: "chips" });
  const deeds = h("div", { class: "deeds" });
  const head = h("header", {}, h("i", { class: "dot" }), h("h1", {}, name), word, age);
  const top = h("section", { class: "card large" }, head, why, note, tags, deeds);
  return { top, age, why, note, deeds, draw: (/** @type {any} */ now) => {
    top.className = `card large is-${tone(now)}`;
    say(word, verdictWord(now));
    say(why, now.state === "ended" ? endedBy(now) : now.why);
    fill(tags, [now.tag, now.role, now.task, now.worktree, now.team], () => chips(now));
  } };
}

/** @param {Element} top @param {Element} body */
export function pageOf(top, body) {
  return h("div", { class: "page agent" },
    h("p", {}, h("a", { href: "#/agents", class: "back" }, "← All agents")), top, body);
}

/** @param {string} name */
export function agentPage(name) {
  /** @type {any} */
  let story = null;
  let asked = 0;
  let over = false;
  const { top, age, why, deeds, draw: drawHead } = headOf(name);
  const day = h("section", { class: "card", "aria-label": "The last 24 hours" });
  const evidence = h("section", { class: "card", "aria-label": "Evidence" });
  const screen = h("section", { class: "card", "aria-label": "Last screen" });
  const tree = h("section", { class: "card", "aria-label": "Processes" });
  const facts = h("section", { class: "card", "aria-label": "Facts" });
  const news = h("section", { class: "card", "aria-label": "Events" });
  const body = h("div", { class: "columns" }, h("div", {}, day, screen, news),
    h("div", {}, evidence, tree, facts));
  const node = pageOf(top, body);

  async function look() {
    asked = performance.now();
    try {
      story = await get("/api/agent", { name });
      if (!over) draw();
    } catch (error) {
      if (!story && error instanceof ApiError) {
        say(why, error.message);
        body.hidden = true;
      }
    }
  }

  function row() {
    return state.agents.get(name) ?? state.ended.find((one) => one.name === name) ?? story;
  }

  function draw() {
    const now = row();
    if (!now) return;
    body.hidden = !story;
    drawHead(now);
    const ended = now.state === "ended";
    const wanted = state.readonly || !now.run ? []
      : ended ? ["resume", "restart", "cleanup"] : ["stop", "kill", "ask", "restart"];
    fill(deeds, [wanted, now.run], () => [...deedButtons(row, wanted), ended
      ? h("a", { class: "ghost button", href: `#/receipts/${encodeURIComponent(now.run)}` }, "Receipt")
      : null]);
    tick();
    if (story) drawParts(now);
  }

  /** @param {any} now */
  function drawParts(now) {
    wantLine(now.run, (line) => fill(day, [line, now.ended_at], () => [h("h2", {}, "Last 24 hours"),
      ribbon(line, { endedAt: now.ended_at }), legend(), graph(line, "cpu_percent"),
      graph(line, "memory_mb")]));
    const verdict = story.verdict ?? {};
    evidence.hidden = !verdict.evidence && !verdict.error;
    fill(evidence, [verdict.evidence, verdict.error], () => [h("h2", {}, "Why"),
      verdict.error ? h("p", {}, verdict.error.message)
        : h("ul", { class: "evidence" }, verdict.evidence.map((/** @type {any} */ one) =>
          h("li", { class: one.speaks }, h("span", {}, sign(one.speaks)), one.what)))]);
    const shown = story.screen ?? {};
    const lines = shown.error ? [shown.error.message] : shown.lines ?? [];
    fill(screen, lines, () => [h("h2", {}, now.state === "ended" ? "Last screen" : "Screen"),
      h("pre", { tabindex: 0, class: "screen" }, lines.slice(-40).join("\n") || "Nothing is shown.")]);
    tree.hidden = !story.processes.length;
    fill(tree, story.processes, () => [h("h2", {}, "Processes"), treeOf(story.processes)]);
    fill(facts, factsOf(now).map((one) => one.map(String)), () => [h("h2", {}, "Facts"),
      factList(factsOf(now)),
      story.resume ? command(story.resume) : null]);
    const own = state.events.filter((one) => one.agent === name).slice(-EVENTS).reverse();
    news.hidden = !own.length;
    fill(news, own.map((one) => one.id), () => [h("h2", {}, "Events"),
      h("ol", { class: "events" }, own.map(eventItem))]);
  }

  /** @param {any} now @returns {[string, any][]} */
  function factsOf(now) {
    return [["Kind", now.kind], ["Directory", now.cwd], ["Place", place(now)],
      ["PID", now.pid ?? ""], ["CPU", now.cpu_percent == null ? "" : `${Math.round(now.cpu_percent)} %`],
      ["Memory", memory(now.memory_mb)], ["Team", now.team], ["Started", time(now.started_at)],
      ["Ended", time(now.ended_at)], ["Conversation", story.conversation],
      ["Resume", story.resume ? "" : story.why_not_resumable], ["Runs", story.runs.length],
      ["Note", now.note]];
  }

  function tick() {
    const now = row();
    if (!now) return;
    const silent = now.seenAt ? quiet(now) : null;
    say(age, now.state === "ended" ? ago(now.ended_at)
      : silent == null || silent < 5 ? "" : `quiet ${span(silent)}`);
    if (performance.now() - asked > AGAIN * 1000 && !document.hidden) look();
  }

  look();
  return { node, update: draw, tick, leave: () => { over = true; } };
}

/** @param {string} speaks */
function sign(speaks) {
  return { for: "alive", against: "stalled", unseen: "not seen" }[speaks] ?? speaks;
}

/** @param {any[]} processes */
function treeOf(processes) {
  const pids = new Set(processes.map((one) => one.pid));
  /** @param {any} one @returns {Element} */
  const branch = (one) => {
    const below = processes.filter((other) => other.parent === one.pid);
    return h("li", {}, h("span", { class: "pid" }, one.pid),
      h("span", { class: `via state-${one.state}` }, one.state === "T" ? "stopped" : one.via),
      h("code", {}, one.command), below.length ? h("ul", {}, below.map(branch)) : null);
  };
  return h("ul", { class: "tree" },
    processes.filter((one) => !pids.has(one.parent)).map(branch));
}
