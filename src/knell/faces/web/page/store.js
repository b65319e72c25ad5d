// What the page knows: one picture of all agents, brought up to date by what the stream tells.

/**
 * @typedef {Record<string, any> & {name: string, run: string, state: string, activity: string}} Row
 * @typedef {{id: number, at: string, type: string, agent: string, run: string,
 *   data: Record<string, any>}} KnellEvent
 */

import { isOld, takenIn } from "./fleet.js";

const EVENTS_KEPT = 2000;

export const state = {
  /** @type {Map<string, Row>} */ agents: new Map(),
  /** @type {Row[]} */ ended: [],
  /** @type {KnellEvent[]} */ events: [],
  /** @type {any[]} */ orphans: [],
  /** @type {any[]} */ endings: [],
  /** @type {any} */ watch: null,
  runsBytes: 0,
  lastEvent: 0,
  loaded: false,
  trouble: "",
  /** "live", "away" (the server does not answer) or "closed" (no session) */ link: "away",
  readonly: false,
  /** Other hosts, with --fleet. @type {import("./fleet.js").Fleet | null} */ fleet: null,
};

/** @type {() => void} */
let redraw = () => {};
let asked = false;

/** Calls back after each change, at most once a picture. @param {() => void} listener */
export function onChange(listener) {
  redraw = listener;
}

export function changed() {
  if (asked) return;
  asked = true;
  // A hidden tab gets no animation frames, and must not fall behind.
  const next = document.hidden ? (/** @type {() => void} */ f) => setTimeout(f, 200)
    : requestAnimationFrame;
  next(() => {
    asked = false;
    redraw();
  });
}

/** @param {any} row */
function received(row) {
  return { ...row, seenAt: performance.now() };
}

/**
 * Takes in one message of the stream.
 * @param {any} told
 */
export function apply(told) {
  if (told.full) {
    state.agents = new Map(told.agents.map((/** @type {any} */ row) => [row.name, received(row)]));
    state.loaded = true;
    state.endings = [];
  }
  for (const row of told.rows ?? []) state.agents.set(row.name, received(row));
  for (const name of told.gone ?? []) state.agents.delete(name);
  for (const [name, quiet] of Object.entries(told.ages ?? {})) {
    const row = state.agents.get(name);
    if (row) state.agents.set(name, { ...row, quiet_s: quiet, seenAt: performance.now() });
  }
  if (told.events) addEvents(told.events);
  if (told.fleet) state.fleet = takenIn(state.fleet, told.fleet);
  for (const name of ["ended", "orphans", "watch", "endings", "trouble"]) {
    if (name in told) Object.assign(state, { [name]: told[name] });
  }
  if ("runs_bytes" in told) state.runsBytes = told.runs_bytes;
  if (told.last_event) state.lastEvent = Math.max(state.lastEvent, told.last_event);
  if (![...state.agents.values()].some((row) => row.state === "stopping")) state.endings = [];
  changed();
}

/**
 * Adds events that are not there yet; a stream that begins again may bring some twice.
 * @param {KnellEvent[]} events
 */
export function addEvents(events) {
  const known = new Set(state.events.map((one) => one.id));
  const fresh = events.filter((one) => !known.has(one.id));
  if (!fresh.length) return;
  state.events = [...state.events, ...fresh].sort((a, b) => a.id - b.id).slice(-EVENTS_KEPT);
  state.lastEvent = Math.max(state.lastEvent, state.events[state.events.length - 1].id);
  changed();
}

/** Forgets the events: so much happened meanwhile that some would be missing between them. */
export function startAfresh() {
  state.events = [];
  state.lastEvent = 0;
  changed();
}

/**
 * Seconds for which an agent has given no sign of life, as of now.
 * @param {Row} row
 */
export function quiet(row) {
  if (row.quiet_s == null) return null;
  return row.quiet_s + (performance.now() - row.seenAt) / 1000;
}

const NEEDS_SOMEBODY = ["stalled", "unresponsive", "waiting"];

/** What it does; nothing where that is only known from before. @param {Row} row */
export function doing(row) {
  return isOld(state.fleet, row) ? "" : row.activity;
}

/** Live agents of all hosts that are shown: those that a person should look at first, then by name. */
export function ordered() {
  const rank = (/** @type {Row} */ row) => {
    const place = NEEDS_SOMEBODY.indexOf(doing(row));
    return place < 0 ? NEEDS_SOMEBODY.length : place;
  };
  const far = [...(state.fleet?.rows.values() ?? [])];
  return [...state.agents.values(), ...far].filter((row) => row.state !== "ended")
    .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

/** Those that ended last and do not run again. */
export function over() {
  const live = new Set(ordered().filter((row) => !row.far).map((row) => row.name));
  const far = [...(state.fleet?.rows.values() ?? [])].filter((row) => row.state === "ended");
  const here = state.ended.filter((row) => !live.has(row.name));
  return far.length ? [...here, ...far].sort((a, b) => b.ended_at.localeCompare(a.ended_at)) : here;
}

/**
 * The word by which a row is coloured.
 * @param {Row} row
 */
export function tone(row) {
  if (row.state === "ended") return "ended";
  if (isOld(state.fleet, row)) return "silent";
  if (row.state === "stopping" || row.state === "spawning") return row.state;
  return row.activity || "unknown";
}
