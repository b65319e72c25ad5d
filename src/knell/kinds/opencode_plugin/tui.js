// Notes for knell which conversation this opencode shows. Of one run only.
// The terminal interface: which conversation is on the screen. A person may look into a subagent's;
// then it is the one above. What is not loaded yet is asked for again at the next look. After `/new`
// it shows none, until something is said.
const tui = async (api, options) => {
  const { note, leave } = noting(options.folder)
  const look = () => {
    const route = api.route.current
    if (route.name !== "session") return route.name === "home"
    let shown = api.state.session.get(route.params.sessionID)
    for (let up = 0; shown?.parentID && up < 9; up++) shown = api.state.session.get(shown.parentID)
    if (shown) note(shown.id)
  }
  const timer = setInterval(() => look() && leave(), 250)
  api.lifecycle.onDispose(() => {
    clearInterval(timer)
    look()
  })
}

export default { id: "knell-tells", tui }
