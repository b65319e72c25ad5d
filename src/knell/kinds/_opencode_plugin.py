"""The plugins by which opencode tells one run the conversation it is in: JavaScript, as text.

They are written into the run's directory, and opencode is told of them by a variable of that run
alone. They note ids, never what was said, in the format of core/telling.py.
"""

# An opencode that a tool starts inherits the variable: it finds the file `teller` and stays silent.
_NOTE = """\
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"

const isTeller = (folder) => {
  const file = `${folder}/teller`
  const me = String(process.pid)
  try {
    writeFileSync(file, me, { flag: "wx", mode: 0o600 })
    return true
  } catch {
    try { return readFileSync(file, "utf8") === me } catch { return false }
  }
}

const noting = (folder) => {
  const mine = isTeller(folder)
  let last = ""
  const write = (words) => {
    const line = `${(Date.now() / 1000).toFixed(3)} ${words}\\n`
    try {
      appendFileSync(`${folder}/told`, line, { mode: 0o600 })
      return true
    } catch { return false } // the run's directory is gone
  }
  const note = (id) => {
    if (!mine || !id || id === last || !/^ses_[0-9A-Za-z]{1,120}$/.test(id)) return
    if (write(id)) last = id
  }
  const leave = () => {
    if (last && write(`${last} left`)) last = ""
  }
  return { note, leave }
}
"""

# The terminal interface: which conversation is on the screen. A person may look into a subagent's;
# then it is the one above. What is not loaded yet is asked for again at the next look. After `/new`
# it shows none, until something is said.
TUI = f"""\
// Notes for knell which conversation this opencode shows. Of one run only.
{_NOTE}
const tui = async (api, options) => {{
  const {{ note, leave }} = noting(options.folder)
  const look = () => {{
    const route = api.route.current
    if (route.name !== "session") return route.name === "home"
    let shown = api.state.session.get(route.params.sessionID)
    for (let up = 0; shown?.parentID && up < 9; up++) shown = api.state.session.get(shown.parentID)
    if (shown) note(shown.id)
  }}
  const timer = setInterval(() => look() && leave(), 250)
  api.lifecycle.onDispose(() => {{
    clearInterval(timer)
    look()
  }})
}}

export default {{ id: "knell-tells", tui }}
"""

# Without that interface (`opencode run`): the conversation that was begun or spoken in last.
SERVER = f"""\
// Notes for knell which conversation this opencode works in. Of one run only.
{_NOTE}
const server = async ({{ client }}, options) => {{
  const {{ note }} = noting(options.folder)
  const above = new Map()
  const top = async (id) => {{
    for (let up = 0; id && up < 9; up++) {{
      if (!above.has(id)) {{
        const found = await client.session.get({{ path: {{ id }} }}).catch(() => undefined)
        if (!found?.data) return ""
        above.set(id, found.data.parentID ?? "")
      }}
      if (!above.get(id)) return id
      id = above.get(id)
    }}
    return ""
  }}
  return {{
    event: async ({{ event }}) => {{
      const info = event.properties?.info
      if (event.type === "session.created") {{
        above.set(info.id, info.parentID ?? "")
        if (!info.parentID) note(info.id)
      }}
      if (event.type === "message.updated" && info.role === "user") note(await top(info.sessionID))
    }},
  }}
}}

export default {{ id: "knell-tells", server }}
"""
