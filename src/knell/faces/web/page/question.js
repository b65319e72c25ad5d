// The question before a deed: what it would do. The answer is bound to exactly that plan.

import { h } from "./dom.js";
import { ApiError, post } from "./api.js";
import { toast } from "./toast.js";

const TYPED_ABOVE = 5;
const DANGER = ["kill", "stop", "cleanup", "restart"];

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("question"));

/**
 * Asks for the dry run, shows it, and does it after a yes.
 * @param {string} deed
 * @param {string[]} runs
 */
export async function askFirst(deed, runs) {
  try {
    const plan = await post("/api/plan", { deed, runs });
    if (!plan.agents.length) toast([`Nothing to do: none of these can be asked to ${plan.word}.`,
      ...plan.lines], "warn");
    else show(plan, "");
  } catch (error) {
    toast([/** @type {Error} */ (error).message], "bad");
  }
}

/**
 * @param {any} plan
 * @param {string} notice
 */
function show(plan, notice) {
  const many = plan.agents.length > TYPED_ABOVE;
  const who = plan.agents.length === 1 ? `“${plan.agents[0].name}”`
    : `${plan.agents.length} agents`;
  const word = plan.word[0].toUpperCase() + plan.word.slice(1);
  const yes = h("button", { type: "submit", class: DANGER.includes(plan.deed) ? "danger" : "primary",
    disabled: many }, word);
  const cancel = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const typed = h("input", { type: "text", inputmode: "numeric", id: "how-many", autocomplete: "off",
    oninput: () => {
      yes.toggleAttribute("disabled",
        /** @type {HTMLInputElement} */ (typed).value.trim() !== String(plan.agents.length));
    } });
  const form = h("form", { onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    carryOut(plan, yes, cancel);
  } },
  h("h2", { id: "question-title" }, `${word} ${who}?`),
  notice ? h("p", { class: "notice" }, notice) : null,
  h("ul", { class: "plan" }, plan.lines.map((/** @type {string} */ line) =>
    h("li", { class: line.startsWith(" ") ? "detail" : "" }, line.trim()))),
  many ? h("p", {}, h("label", { for: "how-many" },
    `Type ${plan.agents.length} to ${plan.word} them all `), typed) : null,
  h("div", { class: "answers" }, cancel, yes));
  dialog.replaceChildren(form);
  if (!dialog.open) dialog.showModal();
  (many ? typed : cancel).focus();
}

/**
 * @param {any} plan
 * @param {HTMLElement} yes
 * @param {HTMLElement} cancel
 */
async function carryOut(plan, yes, cancel) {
  yes.toggleAttribute("disabled", true);
  yes.textContent = "Working …";
  cancel.textContent = "Close";
  const body = { deed: plan.deed, plan: plan.plan,
    runs: plan.agents.map((/** @type {any} */ one) => one.run) };
  try {
    const done = await post("/api/act", body);
    dialog.close();
    toast(done.lines.map((/** @type {string} */ line) => line.trim()), done.pending ? "warn" : "good");
  } catch (error) {
    if (error instanceof ApiError && error.code === "plan_changed") {
      if (error.body.agents.length) {
        show(error.body, "It is no longer as you were shown. Nothing was done. This is how it is now:");
        return;
      }
      toast(["It is no longer as you were shown: nothing was done, and nothing is left to do."], "warn");
    } else toast([/** @type {Error} */ (error).message], "bad");
    dialog.close();
  }
}

/** @type {Record<string, {word: string, to: "live" | "ended" | "all"}>} */
export const DEEDS = {
  stop: { word: "Stop", to: "live" },
  kill: { word: "Kill", to: "live" },
  ask: { word: "Ask to leave", to: "live" },
  resume: { word: "Resume", to: "ended" },
  restart: { word: "Restart", to: "all" },
  cleanup: { word: "Clean up", to: "ended" },
};

/**
 * The buttons of what can be done to a row.
 * @param {() => any} row
 * @param {string[]} deeds
 */
export function deedButtons(row, deeds) {
  return deeds.map((deed) => h("button", { type: "button", "data-deed": deed,
    class: deed === "kill" ? "danger ghost" : "ghost",
    onclick: () => askFirst(deed, [row().run]) }, DEEDS[deed].word));
}
