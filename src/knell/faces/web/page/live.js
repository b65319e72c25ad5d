// The live stream: one for all tabs. A browser opens at most six connections to a server, so that
// the seventh tab with a stream of its own would hang.

import { addEvents, apply, changed, quiet, startAfresh, state } from "./store.js";
import { get } from "./api.js";
import { wholeFleet } from "./fleet.js";

const FIRST_EVENTS = 300;
const LONGEST_WAIT = 5000;
const SLEPT = 90_000; // milliseconds without a turn; a hidden tab gets one a minute at worst
const channel = new BroadcastChannel("knell");
let leads = false;

/** Begins to follow; this tab leads as soon as no other does. */
export function follow() {
  channel.onmessage = (message) => heard(message.data);
  channel.postMessage({ kind: "hello" });
  navigator.locks.request("knell-stream", lead);
  loadEvents();
}

/** @param {any} told */
function heard(told) {
  if (told.kind === "hello" && leads && state.loaded) {
    channel.postMessage({ kind: "change", told: picture() });
    channel.postMessage({ kind: "link", link: state.link });
  } else if (told.kind === "change" && !leads) take(told.told);
  else if (told.kind === "resync" && !leads) beginAgain();
  else if (told.kind === "link" && !leads) setLink(told.link);
  else if (told.kind === "entered") wake();
}

/** What a tab needs that has just been opened. */
function picture() {
  return {
    full: true, agents: [...state.agents.values()].map((row) => ({ ...row, quiet_s: quiet(row) })),
    ended: state.ended, orphans: state.orphans, watch: state.watch, runs_bytes: state.runsBytes,
    last_event: state.lastEvent, trouble: state.trouble, ...(state.fleet ? { fleet: wholeFleet(state.fleet) } : {}),
  };
}

/** @param {any} told */
function take(told) {
  if (state.link !== "live") setLink("live");
  apply(told);
}

/** @param {string} link */
function setLink(link) {
  if (state.link === link) return;
  state.link = link;
  if (leads) channel.postMessage({ kind: "link", link });
  changed();
}

function beginAgain() {
  startAfresh();
  loadEvents();
}

/** The events before those that the stream brings. */
async function loadEvents() {
  try {
    addEvents((await get("/api/events", { limit: FIRST_EVENTS })).events);
  } catch {
    // the stream says what is wrong
  }
}

/** @type {() => void} */
let wake = () => {};

/** Tells other tabs that there is a session again. */
export function tellEntered() {
  channel.postMessage({ kind: "entered" });
}

/** Holds the lock for as long as this tab lives. */
async function lead() {
  leads = true;
  let wait = 500;
  for (;;) {
    const opened = await listen();
    wait = opened ? 500 : Math.min(LONGEST_WAIT, wait * 2);
    setLink(await reason());
    await new Promise((next) => {
      const timer = setTimeout(next, wait);
      wake = () => { clearTimeout(timer); next(undefined); };
    });
  }
}

/** Why there is no stream: the server is away, or this browser has no session. */
async function reason() {
  try {
    await get("/api/server");
    return "away"; // it answers again: the next try will do
  } catch (error) {
    return /** @type {any} */ (error).status === 401 ? "closed" : "away";
  }
}

/**
 * Calls back when this machine has slept: a connection that was cut meanwhile does not say so.
 * @param {() => void} woken
 */
function afterSleep(woken) {
  let seen = Date.now();
  const timer = setInterval(() => {
    const slept = Date.now() - seen > SLEPT;
    seen = Date.now();
    if (slept) woken();
  }, 2000);
  window.addEventListener("online", woken);
  return () => {
    clearInterval(timer);
    window.removeEventListener("online", woken);
  };
}

/**
 * Listens until the stream ends; whether it had begun.
 * @returns {Promise<boolean>}
 */
function listen() {
  return new Promise((done) => {
    const source = new EventSource(`/api/changes?after=${state.lastEvent}`);
    let opened = false;
    const end = () => { forget(); source.close(); done(opened); };
    const forget = afterSleep(end);
    source.addEventListener("open", () => { opened = true; });
    source.addEventListener("change", (message) => {
      const told = JSON.parse(message.data);
      take(told);
      channel.postMessage({ kind: "change", told });
    });
    source.addEventListener("resync", () => {
      beginAgain();
      channel.postMessage({ kind: "resync" });
    });
    source.addEventListener("error", end);
  });
}
