// The tasks of all teams on a board, each with who claimed it when.

import { fill, h } from "./dom.js";
import { asking, get } from "./api.js";
import { time } from "./words.js";
import { state } from "./store.js";

const COLUMNS = [["pending", "Waiting"], ["in_progress", "In progress"], ["completed", "Done"]];

export function tasksPage() {
  const board = h("div", { class: "board" });
  const node = h("div", { class: "page" }, h("h1", {}, "Tasks"), board);

  async function load() {
    const { tasks } = await get("/api/tasks");
    fill(board, tasks, () => (tasks.length ? COLUMNS.map(([status, title]) => column(title,
      tasks.filter((/** @type {any} */ task) => task.status === status)))
      : [h("p", { class: "quiet" }, "No team has a task. ", h("code", {},
        "knell task add --team red \"Mend the roof\""))]));
  }

  return { node, update: asking(() =>
    state.events.filter((one) => /^(task|team|life)\./.test(one.type)).at(-1)?.id ?? 0, load) };
}

/** @param {string} title @param {any[]} tasks */
function column(title, tasks) {
  return h("section", { "aria-label": title }, h("h2", {}, title, " ",
    h("span", { class: "count" }, tasks.length)), tasks.map(taskCard));
}

/** @param {any} task */
function taskCard(task) {
  return h("article", { class: `card task priority-${task.priority}` },
    h("header", {}, h("span", { class: "name" }, task.id), h("span", { class: "kind" }, task.team),
      task.priority === "normal" ? null : h("span", { class: "chip" }, task.priority)),
    h("p", { class: "title" }, task.title),
    task.description ? h("p", { class: "quiet" }, task.description.slice(0, 300)) : null,
    task.owner ? h("p", {}, "with ",
      h("a", { href: `#/agent/${encodeURIComponent(task.owner)}` }, task.owner)) : null,
    task.needs.length ? h("p", { class: "quiet" }, `after ${task.needs.join(", ")}`) : null,
    task.warning ? h("p", { class: "note" }, task.warning) : null,
    task.history.length ? h("details", {}, h("summary", {}, "History"), h("ol", { class: "history-list" },
      task.history.map((/** @type {any} */ step) => h("li", {},
        h("time", { datetime: step.at }, time(step.at)), ` ${step.what}`,
        step.agent ? ` by ${step.agent}` : "")))) : null);
}
