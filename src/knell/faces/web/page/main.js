// Starts the page: lets the browser in, follows what happens, and shows the page that is asked for.

import { h, keyed, say, set } from "./dom.js";
import { get, post } from "./api.js";
import { doing, onChange, ordered, state } from "./store.js";
import { follow, tellEntered } from "./live.js";
import { banners } from "./banners.js";
import { toast } from "./toast.js";
import { agentsPage } from "./agents.js";
import { agentPage } from "./agent.js";
import { farPage } from "./far.js";
import { eventsPage } from "./events.js";
import { receiptsPage } from "./receipts.js";
import { tasksPage } from "./tasks.js";
import { worktreesPage } from "./worktrees.js";
import { nightPage } from "./night.js";

/**
 * @typedef {{node: Element, update?: () => void, tick?: () => void, leave?: () => void}} Page
 * @type {Record<string, {title: string, open: (rest: string) => Page}>}
 */
const PAGES = {
  agents: { title: "Agents", open: agentsPage },
  events: { title: "Events", open: eventsPage },
  receipts: { title: "Receipts", open: receiptsPage },
  tasks: { title: "Tasks", open: tasksPage },
  worktrees: { title: "Worktrees", open: worktreesPage },
  night: { title: "While you slept", open: nightPage },
};

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
/** @type {Page | null} */
let shown = null;

function route() {
  const [, word = "agents", ...rest] = location.hash.split("/");
  const name = word === "agent" ? "agents" : word in PAGES ? word : "agents";
  const tail = decodeURIComponent(rest.join("/"));
  shown?.leave?.();
  const one = tail.includes("@") ? farPage : agentPage; // no agent of this host has that sign
  shown = word === "agent" && tail ? one(tail) : PAGES[name].open(tail);
  main.replaceChildren(shown.node);
  for (const link of document.querySelectorAll("#nav a")) {
    set(link, { "aria-current": link.getAttribute("href") === `#/${name}` ? "page" : null });
  }
  document.title = `${word === "agent" ? tail : PAGES[name].title} · knell`;
  window.scrollTo(0, 0);
  shown.update?.();
}

const PAUSE = 1000; // milliseconds between two tries to enter while the store cannot be read

/** The token stands behind #, which no browser sends anywhere; it is gone from the address at once. */
async function enter() {
  const token = location.hash.slice(1);
  if (!token || token.startsWith("/")) return;
  history.replaceState(null, "", "#/agents");
  while (!(await hasEntered(token))) await new Promise((done) => { setTimeout(done, PAUSE); });
}

/** Whether there is nothing more to try. @param {string} token */
async function hasEntered(token) {
  try {
    await post("/api/session", { token });
    tellEntered();
  } catch (error) {
    const { status, message } = /** @type {any} */ (error);
    if (status === 503) { // the link stays good
      state.trouble = message;
      update();
      return false;
    }
    if (status !== 401) toast([String(error)], "bad");
  }
  return true;
}

const count = h("span", { class: "count", hidden: true, title: "agents that need attention" });
const chip = h("span", { class: "chip", id: "readonly", hidden: true }, "read-only");

function buildNav() {
  const nav = /** @type {HTMLElement} */ (document.getElementById("nav"));
  for (const [name, { title }] of Object.entries(PAGES)) {
    nav.append(h("a", { href: `#/${name}` }, title, name === "agents" ? count : null));
  }
  const tools = /** @type {HTMLElement} */ (document.getElementById("tools"));
  tools.append(
    chip,
    h("button", { type: "button", class: "plain", title: "Another link, for another browser",
      onclick: anotherLink }, "Link"),
    h("button", { type: "button", class: "plain", id: "theme", title: "Light or dark",
      onclick: nextTheme }, "Theme"));
}

async function anotherLink() {
  try {
    const { address } = await post("/api/link", {});
    await navigator.clipboard.writeText(address);
    toast(["A link for another browser is copied. It works once."]);
  } catch (error) {
    toast([String(error)], "bad");
  }
}

const THEMES = ["light dark", "light", "dark"];

function setTheme() {
  const theme = localStorage.getItem("theme") ?? THEMES[0];
  document.documentElement.style.colorScheme = THEMES.includes(theme) ? theme : THEMES[0];
  const button = document.getElementById("theme");
  if (button) say(button, { light: "Light", dark: "Dark" }[theme] ?? "Auto");
}

function nextTheme() {
  const now = THEMES.indexOf(localStorage.getItem("theme") ?? THEMES[0]);
  localStorage.setItem("theme", THEMES[(now + 1) % THEMES.length]);
  setTheme();
}

function update() {
  const needy = ordered().filter((row) => ["stalled", "unresponsive"].includes(doing(row)));
  count.hidden = !needy.length;
  say(count, needy.length);
  chip.hidden = !state.readonly;
  keyed(/** @type {Element} */ (document.getElementById("banners")), banners(),
    (one) => one.key, (one) => one.make());
  shown?.update?.();
}

async function start() {
  buildNav();
  setTheme();
  const entered = enter();
  window.addEventListener("hashchange", async () => {
    if (location.hash.startsWith("#/")) route();
    else if (location.hash !== "#main") await enter().then(route);
  });
  await entered;
  onChange(update);
  route();
  follow();
  get("/api/server").then((told) => { state.readonly = told.readonly; update(); }, () => {});
  setInterval(() => shown?.tick?.(), 1000);
}

start();
