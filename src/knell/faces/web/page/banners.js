// What everybody should know before reading on: no session, no server, no watch, a broken store.

import { command, h } from "./dom.js";
import { state } from "./store.js";
import { time } from "./words.js";

/** @returns {{key: string, make: () => Element}[]} */
export function banners() {
  const found = [];
  if (state.link === "closed") found.push(banner("closed", "bad", "This browser has no session.",
    "A link works once, and a server that was started again has new ones. Open the address that"
    + " knell web printed, here or in another tab: this page then goes on by itself."));
  else if (state.link === "away") found.push(banner("away", "warn", "The server does not answer.",
    state.loaded ? "What is below may be old. This page goes on as soon as it is back."
      : "This page goes on as soon as it is there."));
  if (state.trouble) found.push(banner(`trouble ${state.trouble}`, "bad", "Cannot look:",
    `${state.trouble}. What is below may be old.`));
  if (state.fleet?.trouble && state.link === "live") found.push(banner(
    `fleet ${state.fleet.trouble}`, "warn",
    `The fleet does not answer since ${time(state.fleet.since * 1000)}.`,
    `${state.fleet.trouble}. This machine's own agents are live;`
    + " what is told of other hosts is as old as it says."));
  if (state.loaded && !state.watch && state.link === "live") found.push(banner("watch", "warn",
    "The watch is off.",
    "No stall is noticed, no agent is restarted, and ribbons get no new history.",
    command("knell watch")));
  return found;
}

/**
 * @param {string} key
 * @param {string} tone
 * @param {string} head
 * @param {string} text
 * @param {Node | null} [more]
 */
function banner(key, tone, head, text, more = null) {
  return { key, make: () => h("div", { class: `banner ${tone}` },
    h("p", {}, h("strong", {}, head), " ", text), more) };
}
