// What became of worktrees: kept, removed, why; and the commands that bring saved work back.

import { command, fill, h } from "./dom.js";
import { asking, get } from "./api.js";
import { ordered, state } from "./store.js";
import { time } from "./words.js";

export function worktreesPage() {
  const live = h("div", { class: "rows" });
  const past = h("div", { class: "rows" });
  const liveSection = h("section", { "aria-label": "In use" }, h("h2", {}, "In use"), live);
  const node = h("div", { class: "page" }, h("h1", {}, "Worktrees"), liveSection,
    h("section", { "aria-label": "After agents ended" }, h("h2", {}, "After agents ended"), past));
  const askAgain = asking(() => state.ended[0]?.run ?? "", async () => {
    const { worktrees } = await get("/api/worktrees");
    fill(past, worktrees, () => (worktrees.length ? worktrees.map(row)
      : [h("p", { class: "quiet" }, "No ending has looked at a worktree yet: ",
        h("code", {}, "knell kill --cleanup NAME"), " does.")]));
  });

  return { node, update: () => {
    const used = ordered().filter((one) => one.worktree);
    liveSection.hidden = !used.length;
    fill(live, used.map((one) => [one.name, one.worktree, one.cwd]), () => used.map((one) =>
      h("article", { class: "card worktree" }, h("header", {},
        h("span", { class: `chip worktree${one.worktree.includes("*") ? " dirty" : ""}` }, one.worktree),
        h("a", { href: `#/agent/${encodeURIComponent(one.name)}` }, one.name)),
      h("p", { class: "path" }, one.cwd))));
    askAgain();
  } };
}

/** @param {any} one */
function row(one) {
  return h("article", { class: "card worktree" },
    h("header", {}, h("span", { class: `badge ${one.state}` }, one.state),
      h("span", { class: "name" }, one.branch || one.path.split("/").at(-1)),
      h("a", { href: `#/receipts/${encodeURIComponent(one.run)}` }, one.agent),
      h("time", { datetime: one.at, title: one.at }, time(one.at))),
    h("p", {}, one.why), h("p", { class: "path" }, one.path),
    one.quarantined ? h("p", { class: "note" }, "A person must look at it.") : null,
    one.rescue ? h("div", {}, h("h3", {}, "Its work was saved. Inside the repository:"),
      one.commands.map(command)) : null);
}
