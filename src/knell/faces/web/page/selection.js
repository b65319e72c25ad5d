// Agents that are chosen together, and the bar that acts on them.

import { h, say, set } from "./dom.js";
import { askFirst, DEEDS } from "./question.js";
import { counted } from "./words.js";
import { fullName } from "./fleet.js";
import { changed, ordered, over, state } from "./store.js";

/** @type {Set<string>} */
const chosen = new Set();

/**
 * The box by which an agent is chosen.
 * @param {any} row
 */
export function chooser(row) {
  const box = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", class: "choose",
    "aria-label": `Choose ${fullName(row)}`, onchange: () => {
      if (box.checked) chosen.add(box.value);
      else chosen.delete(box.value);
      changed();
    } }));
  return Object.assign(box, { update: (/** @type {any} */ now) => {
    if (box.value !== now.run) box.value = now.run;
    box.checked = chosen.has(now.run);
    set(box, { hidden: state.readonly || !now.run });
  } });
}

export function selectionBar() {
  const count = h("span");
  const buttons = Object.entries(DEEDS).map(([deed, { word, to }]) => ({ to, node: h("button",
    { type: "button", class: deed === "kill" ? "danger" : "", onclick: () =>
      askFirst(deed, [...chosen]) }, word) }));
  const bar = h("div", { class: "selection", role: "toolbar", "aria-label": "Chosen agents" }, count,
    buttons.map((one) => one.node),
    h("button", { type: "button", class: "plain", onclick: () => { chosen.clear(); changed(); } },
      "Choose none"));
  const update = () => {
    const live = new Set(ordered().map((row) => row.run));
    const ended = new Set(over().map((row) => row.run));
    for (const run of chosen) if (!live.has(run) && !ended.has(run)) chosen.delete(run);
    bar.hidden = !chosen.size;
    say(count, counted(chosen.size, "agent"));
    const any = { live: [...chosen].some((run) => live.has(run)),
      ended: [...chosen].some((run) => ended.has(run)), all: true };
    for (const one of buttons) one.node.hidden = !any[one.to];
  };
  update();
  return Object.assign(bar, { update });
}
