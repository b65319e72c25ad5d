// The audit trail, live: filtered by words, by agent and by subject.

import { h, keyed, say } from "./dom.js";
import { time } from "./words.js";
import { state } from "./store.js";

const SHOWN = 400;
const FACTS = ["by", "reason", "outcome", "death", "activity", "was", "now", "why", "policy", "rung",
  "detail", "pid", "attempt", "task", "team", "path", "branch"];
const SUBJECTS = ["", "life", "watch", "restart", "task", "team", "shutdown"];

/** @param {import("./store.js").KnellEvent} event */
export function eventWords(event) {
  return FACTS.map((key) => {
    const value = event.data[key];
    const text = key === "death" && value && typeof value === "object" ? value.sentence : value;
    return text == null || text === "" || typeof text === "object" ? "" : `${key} ${text}`;
  }).filter(Boolean).join(", ");
}

/** @param {import("./store.js").KnellEvent} event */
function toneOf(event) {
  const { type, data } = event;
  if (type === "watch.verdict") return data.activity;
  if (type === "life.spared" || type.endsWith("refused")) return "stalled";
  if (type.startsWith("life.stop")) return "ended";
  return type.startsWith("life.") ? "working" : "idle";
}

/** @param {import("./store.js").KnellEvent} event */
export function eventItem(event) {
  return h("li", { class: "event" },
    h("time", { datetime: event.at, title: event.at }, time(event.at)),
    h("i", { class: `dot tone-${toneOf(event)}` }),
    h("span", { class: "type" }, event.type),
    event.agent ? h("a", { href: `#/agent/${encodeURIComponent(event.agent)}` }, event.agent) : h("span"),
    h("span", { class: "told" }, eventWords(event)));
}

export function eventsPage() {
  const words = h("input", { type: "search", placeholder: "Filter: words that an event must have",
    "aria-label": "Filter events", oninput: update });
  const subject = h("select", { "aria-label": "Subject", onchange: update },
    SUBJECTS.map((one) => h("option", { value: one }, one || "every subject")));
  const count = h("p", { class: "headline" });
  const list = h("ol", { class: "events card", "aria-label": "Events, the newest first" });
  const none = h("p", { class: "quiet" }, "Nothing has happened yet.");
  const node = h("div", { class: "page" }, h("h1", {}, "Events"),
    h("div", { class: "bar" }, count, words, subject), none, list);

  function update() {
    const wanted = /** @type {HTMLInputElement} */ (words).value.toLowerCase().split(/\s+/);
    const about = /** @type {HTMLSelectElement} */ (subject).value;
    const found = state.events.filter((event) => {
      if (about && !event.type.startsWith(`${about}.`)) return false;
      const text = `${event.type} ${event.agent} ${eventWords(event)}`.toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    const shown = found.slice(-SHOWN).reverse();
    say(count, `${found.length} of ${state.events.length} events`);
    none.hidden = state.events.length > 0;
    list.hidden = !shown.length;
    keyed(list, shown, (event) => String(event.id), eventItem);
  }

  return { node, update };
}
