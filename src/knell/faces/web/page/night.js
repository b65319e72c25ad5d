// While you slept: what happened since a time, by subject.

import { fill, h } from "./dom.js";
import { asking, get } from "./api.js";
import { counted, time } from "./words.js";
import { state } from "./store.js";

/** @type {[string, string, string, string][]} */
const SUBJECTS = [
  ["stalls", "Stalls", "stalled", "Nothing stalled."],
  ["restarts", "Restarts", "working", "Nothing was restarted."],
  ["endings", "Endings", "ended", "Nothing ended."],
  ["survivors", "Could not be ended", "stalled", ""],
  ["tasks", "Tasks handed back", "waiting", "No task was handed back."],
  ["rescued", "Work saved", "idle", "No work had to be saved."],
];

/** Ten o'clock in the evening before this morning. */
function bedtime() {
  const at = new Date();
  if (at.getHours() < 22) at.setDate(at.getDate() - 1);
  at.setHours(22, 0, 0, 0);
  return at;
}

/** @param {Date} at As the field of the browser has it. */
function local(at) {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

export function nightPage() {
  const since = h("input", { type: "datetime-local", id: "since", value: local(bedtime()),
    onchange: () => load().catch(() => {}) });
  const head = h("p", { class: "headline" });
  const list = h("div", { class: "night" });
  const node = h("div", { class: "page" }, h("h1", {}, "While you slept"),
    h("div", { class: "bar" }, head, h("label", { for: "since" }, "Since "), since), list);

  async function load() {
    const at = new Date(/** @type {HTMLInputElement} */ (since).value);
    if (Number.isNaN(at.getTime())) return;
    const found = await get("/api/night", { since: at.toISOString() });
    const told = SUBJECTS.map(([name]) => found[name]);
    fill(head, [found.running, found.complete], () => [`${counted(found.running, "agent")} still`
      + ` ${found.running === 1 ? "runs" : "run"}.`
      + (found.complete ? "" : " So much happened that the beginning is not shown.")]);
    fill(list, told, () => SUBJECTS.map((one, place) => subject(one, told[place])));
  }

  return { node, update: asking(() => state.events.at(-1)?.id ?? 0, load) };
}

/**
 * @param {[string, string, string, string]} about
 * @param {any[]} found
 */
function subject([name, title, tone, none], found) {
  if (!found.length && !none) return null;
  return h("section", { class: "card", id: name, "aria-label": title },
    h("h2", {}, h("i", { class: `dot tone-${tone}` }), title, " ",
      h("span", { class: "count" }, found.length)),
    found.length ? h("ol", { class: "events" }, found.map((one) => h("li", { class: "event" },
      h("time", { datetime: one.at, title: one.at }, time(one.at)),
      h("a", { href: `#/agent/${encodeURIComponent(one.agent)}` }, one.agent),
      h("span", { class: "told" }, one.what)))) : h("p", { class: "quiet" }, none));
}
