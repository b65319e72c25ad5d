"""The text of a service file that keeps the watch running."""

from collections.abc import Mapping, Sequence

SYSTEMD = """\
[Unit]
Description=quell watches over AI coding agents

[Service]
ExecStart={command}
{environment}Restart=on-failure
RestartSec=5
# Agents that the watch starts again must not die with it.
KillMode=process

[Install]
WantedBy=default.target
"""

LAUNCHD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"
  "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>quell.watch</string>
  <key>ProgramArguments</key>
  <array>
{arguments}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
{environment}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <!-- Agents that the watch starts again must not die with it. -->
  <key>AbandonProcessGroup</key><true/>
</dict>
</plist>
"""


def systemd_unit(argv: Sequence[str], env: Mapping[str, str]) -> str:
    environment = "".join(f"Environment={_quoted(f'{name}={env[name]}')}\n" for name in sorted(env))
    return SYSTEMD.format(command=" ".join(map(_quoted, argv)), environment=environment)


def _quoted(word: str) -> str:
    """systemd expands % and $ and reads C escapes inside quotes."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + text.replace("%", "%%").replace("$", "$$") + '"'


def launchd_agent(argv: Sequence[str], env: Mapping[str, str]) -> str:
    arguments = "\n".join(f"    <string>{_xml(word)}</string>" for word in argv)
    pairs = (f"    <key>{_xml(n)}</key><string>{_xml(env[n])}</string>" for n in sorted(env))
    return LAUNCHD.format(arguments=arguments, environment="\n".join(pairs))


def _xml(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
