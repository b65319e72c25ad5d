// Short words about what was done; they leave by themselves.

import { h } from "./dom.js";

const SECONDS = 8;

/**
 * @param {string[]} lines
 * @param {string} [tone]
 */
export function toast(lines, tone = "good") {
  const note = h("div", { class: `toast ${tone}` },
    h("div", {}, lines.map((line) => h("p", {}, line))),
    h("button", { type: "button", class: "plain", "aria-label": "Close",
      onclick: () => note.remove() }, "×"));
  document.getElementById("toasts")?.append(note);
  setTimeout(() => note.remove(), SECONDS * 1000);
}
