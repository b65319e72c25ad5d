// By these files opencode tells one run the conversation it is in: note.js and one of the others are
// written into the run's directory as one plugin, and a variable of that run alone names it to
// opencode. They note ids, never what was said, in the format of core/telling.py.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"

// An opencode that a tool starts inherits the variable: it finds the file `teller` and is silent.
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
    const line = `${(Date.now() / 1000).toFixed(3)} ${words}\n`
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
