// One agent of another host: what its host has told, what can be ordered, and the proof of its end.

import { factList, fill, h, say } from "./dom.js";
import { headOf, pageOf } from "./agent.js";
import { ApiError, get, post } from "./api.js";
import { place } from "./card.js";
import { fullName, pendingWords, seenWords } from "./fleet.js";
import { deedButtons } from "./question.js";
import { receiptCard } from "./receipts.js";
import { state } from "./store.js";
import { ago, time } from "./words.js";

/** @param {string} name as in luna@build-7 */
export function farPage(name) {
  let known = ""; // run and state of which the receipt was asked for
  let receipt = /** @type {any} */ (null);
  let unproven = ""; // why the receipt that is there is not shown
  let over = false;
  const { top, age, why, note, deeds, draw: drawHead } = headOf(name);
  const facts = h("section", { class: "card", "aria-label": "Facts" });
  const said = h("section", { class: "card", "aria-label": "What its host says", hidden: true });
  const proof = h("section", { "aria-label": "Receipt" });
  const node = pageOf(top,
    h("div", { class: "columns" }, h("div", {}, proof, said), h("div", {}, facts)));

  function row() {
    const rows = [...(state.fleet?.rows.values() ?? [])].filter((one) => fullName(one) === name);
    return rows.find((one) => one.state !== "ended") ?? rows[0];
  }

  /** @param {any} now */
  async function lookForReceipt(now) {
    if (known === `${now.run} ${now.state}`) return;
    known = `${now.run} ${now.state}`;
    try {
      const told = now.state === "ended" ? await get("/api/agent", { name }) : {};
      [receipt, unproven] = [told.receipt ?? null, told.receipt_unproven ?? ""];
    } catch {
      known = ""; // the banner says that the fleet does not answer; the next look asks again
    }
    if (!over) draw();
  }

  function draw() {
    const now = row();
    facts.hidden = !now;
    if (!now) {
      say(why, state.fleet?.looked ? "No agent of this name is known on that host." : "Looking …");
      return;
    }
    const ended = now.state === "ended";
    drawHead(now);
    say(note, pendingWords(now) || now.note);
    const wanted = state.readonly ? [] : ended ? ["resume", "restart", "cleanup"]
      : ["stop", "kill", "restart"];
    fill(deeds, [wanted, now.run], () => [...deedButtons(row, wanted), ...asking(now)]);
    fill(facts, [now.run, now.state, now.pid, now.started_at, now.cwd], () => [h("h2", {}, "Facts"),
      factList([["Host", now.host], ["Kind", now.kind], ["Directory", now.cwd], ["Place", place(now)],
        ["PID", now.pid ?? ""], ["Team", now.team], ["Started", time(now.started_at)],
        ["Ended", time(now.ended_at)]]),
      h("p", { class: "quiet" }, "Its screen, its log and its history stay on its host.")]);
    proof.hidden = !receipt && !unproven;
    fill(proof, receipt ?? unproven, () => (receipt ? [shownReceipt()]
      : [h("p", { class: "card" }, unproven)]));
    tick();
    lookForReceipt(now);
  }

  function shownReceipt() {
    try {
      return receiptCard(receipt, true);
    } catch {
      return h("p", { class: "card" }, "Its host published a receipt that cannot be read.");
    }
  }

  /** What only its host can say: an order, which read-only servers do not send. @param {any} now */
  function asking(now) {
    if (state.readonly || now.state === "ended") return [];
    return [["explain", "Ask its host why"], ["tree", "Ask for its processes"]].map(([what, text]) =>
      h("button", { type: "button", class: "ghost", onclick: () => ask(what, now) }, text));
  }

  /** @param {string} what @param {any} now */
  async function ask(what, now) {
    said.hidden = false;
    fill(said, [what, "asked"], () => [h("p", { class: "quiet" }, `Asking ${now.host} …`)]);
    /** @type {string[]} */
    let lines = [];
    try {
      ({ lines } = await post("/api/ask-host", { what, run: now.run }));
    } catch (error) {
      lines = [error instanceof ApiError ? error.message : "The server does not answer."];
    }
    fill(said, [what, lines], () => [h("h2", {}, what === "tree" ? "Processes" : "Why"),
      h("pre", { class: "screen", tabindex: 0 }, lines.join("\n"))]);
  }

  function tick() {
    const now = row();
    if (!now) return;
    const seen = seenWords(state.fleet?.hosts.get(now.host));
    say(age, now.state === "ended" ? `${ago(now.ended_at)}, ${now.host} ${seen}` : `${now.host} ${seen}`);
  }

  return { node, update: draw, tick, leave: () => { over = true; } };
}
