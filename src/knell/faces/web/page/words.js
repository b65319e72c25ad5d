// Numbers and times as people read them.

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, {
  month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
/** @type {[number, Intl.RelativeTimeFormatUnit][]} */
const UNITS = [[86400, "day"], [3600, "hour"], [60, "minute"]];

/** @param {number | null | undefined} seconds */
export function span(seconds) {
  if (seconds == null) return "";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor((s % 86400) / 3600)}h`;
}

/** @param {string} at */
export function ago(at) {
  const seconds = (Date.parse(at) - Date.now()) / 1000;
  if (!Number.isFinite(seconds)) return "";
  const [whole, unit] = UNITS.find(([whole]) => Math.abs(seconds) >= whole) ?? [1, "second"];
  return relative.format(Math.round(seconds / whole), unit);
}

/** @param {string | number} at */
export function time(at) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "";
  return Date.now() - date.getTime() < 20 * 3600e3 ? clock.format(date) : day.format(date);
}

/** @param {number | null | undefined} mb */
export function memory(mb) {
  if (mb == null) return "";
  return mb < 1000 ? `${Math.round(mb)} MB` : `${(mb / 1024).toFixed(1)} GB`;
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/**
 * Who ended it and why, where the reason says more than the outcome.
 * @param {any} one
 */
export function endedBy(one) {
  const why = one.reason === one.outcome ? one.detail || "" : one.reason;
  return [one.by && `by ${one.by}`, why].filter(Boolean).join(": ");
}

/** @param {number} bytes */
export function size(bytes) {
  return bytes < 2 ** 20 ? `${Math.round(bytes / 1024)} kB` : memory(bytes / 2 ** 20);
}
