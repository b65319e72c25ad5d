// Other hosts, with --fleet: their rows beside this host's, and how old each of them is.

import { span } from "./words.js";

/**
 * @typedef {{name: string, state: string, seen: number | null, live: number, version: string,
 *   skew: number, toldAt: number}} Host
 * @typedef {{host: string, hosts: Map<string, Host>, rows: Map<string, any>, trouble: string,
 *   since: number, looked: boolean}} Fleet
 */

/**
 * Takes in what the stream tells of other hosts. Their rows are meant by `id`, which deeds take too.
 * @param {Fleet | null} before
 * @param {any} told
 * @returns {Fleet}
 */
export function takenIn(before, told) {
  const fleet = told.full || !before ? { host: "", hosts: new Map(), rows: new Map(), trouble: "",
    since: 0, looked: false } : before;
  fleet.looked ||= Boolean(told.looked || told.hosts || told.rows);
  for (const host of told.hosts ?? []) fleet.hosts.set(host.name, { ...host, toldAt: performance.now() });
  for (const row of told.rows ?? []) {
    fleet.rows.set(row.id, { ...row, run: row.id, far: true, seenAt: performance.now() });
  }
  for (const id of told.gone ?? []) fleet.rows.delete(id);
  if ("host" in told) fleet.host = told.host;
  if ("trouble" in told) { fleet.trouble = told.trouble; fleet.since = told.since; }
  return fleet;
}

/**
 * All of it, for a tab that has just been opened.
 * @param {Fleet} fleet
 */
export function wholeFleet(fleet) {
  const hosts = [...fleet.hosts.values()].map((host) => ({ ...host, seen: age(host) }));
  return { ...fleet, full: true, hosts, rows: [...fleet.rows.values()] };
}

/** Seconds since a host was heard; they grow while nobody says anything new. @param {Host} host */
function age(host) {
  return host.seen == null ? null : host.seen + (performance.now() - host.toldAt) / 1000;
}

/** Never "dead": what a silent host runs may be working. @param {Host | undefined} host */
export function seenWords(host) {
  const seconds = host ? age(host) : null;
  if (!host || seconds == null) return "never heard";
  const seen = `seen ${span(seconds)} ago`;
  if (host.state === "silent") return `silent, ${seen}`;
  return host.state === "unsure" ? `${seen} (the database was away)` : seen;
}

/** Whether what is known of a row is from before. @param {Fleet | null} fleet @param {any} row */
export function isOld(fleet, row) {
  return Boolean(row.far) && fleet?.hosts.get(row.host)?.state !== "heard";
}

/** An order to the agent that is open. @param {any} row */
export function pendingWords(row) {
  if (!row.order) return "";
  const at = row.order.state === "taken" ? `${row.host} is at it` : `not taken yet by ${row.host}`;
  return `${row.order.verb} pending: order ${row.order.id.slice(0, 8)}, ${at}`;
}

/** As people and the command line call it. @param {any} row */
export const fullName = (row) => (row.far ? `${row.name}@${row.host}` : row.name);

/**
 * The rows by host: this one first, then the others by name, also those where nobody runs.
 * @param {Fleet} fleet
 * @param {any[]} rows
 * @param {boolean} all
 */
export function byHost(fleet, rows, all) {
  const found = Map.groupBy(rows, (row) => /** @type {string} */ (row.far ? row.host : fleet.host));
  const known = all ? [...fleet.hosts.values()].filter((host) => host.state !== "left") : [];
  const names = [...found.keys(), ...known.map((host) => host.name)].sort();
  return [...new Set([fleet.host, ...names])].map((host) => ({ key: `host ${host}`, title: host,
    label: `Host ${host}`, host, members: found.get(host) ?? [] }));
}
