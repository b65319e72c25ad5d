// Notes for knell which conversation this opencode works in. Of one run only.
// Without the terminal interface (`opencode run`): the conversation that was begun or spoken in last.
const server = async ({ client }, options) => {
  const { note } = noting(options.folder)
  const above = new Map()
  const top = async (id) => {
    for (let up = 0; id && up < 9; up++) {
      if (!above.has(id)) {
        const found = await client.session.get({ path: { id } }).catch(() => undefined)
        if (!found?.data) return ""
        above.set(id, found.data.parentID ?? "")
      }
      if (!above.get(id)) return id
      id = above.get(id)
    }
    return ""
  }
  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      if (event.type === "session.created") {
        above.set(info.id, info.parentID ?? "")
        if (!info.parentID) note(info.id)
      }
      if (event.type === "message.updated" && info.role === "user") note(await top(info.sessionID))
    },
  }
}

export default { id: "knell-tells", server }
