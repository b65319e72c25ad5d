"""A registry as people and tools leave it behind, and what the tests ask of one."""

import difflib
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from knell.kinds import KnownKinds
from knell.registry_file.agent_sessions import AgentSessions

NOW = "2030-01-01T00:00:00Z"
EPOCH = 1893456000

# Every kind of spacing, quoting and nothing that a round trip through a YAML library would tidy.
ODD = r"""# who works here   (do not sort!)
settings: 1

version:   2      # odd spacing
agent_identities: {claude: {project_cwd: /srv/shop,   session_id: 'c-1'},
    agy:   {project_cwd: "/srv/bank", conversation_id: a-2}}


tmux_sessions:   # the list
- name: "shop-creator-claude"   # the first one
  status:   running        # by hand
  tmux_server: 'iso-1'
  start_command:    'claude --model   "opus"  '   # as it was typed
  claude_session_id_own: null
  agy_conversation_id_own: ~
  delegate_job_id:          # none yet
  created: 2026-06-17T10:00:00Z
  cost: 1.50e3
  octal: 0o17
  flag: yes
  last_visible_status: |    # the screen
      hello
        world

  note: >-
      folded
      text
  pane: {id: '%1', pid:  12, cmd: node,   cwd: /srv/shop}   # one line
  mcp_attachments:
  - files
  -   "browser"     # slow

  # belongs to nobody
-   name: bank-creator-agy
    status: stopped         # friday
    role: 'creator'
    stopped_at: 2026-06-19T18:00:00Z   # late
    stopped_at_epoch: 1781892000
    stop_reason: user_request
    resumable: true
    agy_conversation_id_own: "c0ffee"
    pane:
        pid: 4711    # was
        cmd: agy
        cwd: "/srv/bank"
    mcp_attachments: []
-
  name: 'gate'
  # no status at all
  start_command: /opt/bin/claude -r
  emoji: "caf\u00e9 ☕ 🐈"
# end of the list

tail: "é"$$$
...
""".replace("$", " ")  # where an editor would cut blanks away


class Registry(AgentSessions):
    """One with a clock that stands still, and its file at hand."""

    def __init__(self, file: Path) -> None:
        super().__init__(str(file), lambda: NOW, lambda: EPOCH, KnownKinds(dict))
        self.file = file

    @property
    def text(self) -> str:
        return self.file.read_bytes().decode()

    def data(self) -> Any:
        """As another program reads it."""
        return YAML(typ="safe", pure=True).load(self.text)

    def session(self, name: str) -> dict[str, Any]:
        return next(row for row in self.data()["tmux_sessions"] if row["name"] == name)


def difference(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went, and those that came."""
    lines = list(difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True)))
    return [x[2:] for x in lines if x[0] == "-"], [x[2:] for x in lines if x[0] == "+"]
