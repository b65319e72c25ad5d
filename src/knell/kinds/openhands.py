"""OpenHands CLI, read from 1.16.0: its help, and runs against a local model.

Its tools run in a tmux server of its own, which outlives it and which all its sessions share.
"""

from knell.core.arguments import Flags
from knell.core.kind import Helper, Kind, words_of
from knell.core.mcp_client import McpClient, started_document

KIND = Kind(
    "openhands",
    program="openhands",
    install="pip install openhands",
    seen=("1.16.0",),
    id_pattern=r"[0-9a-f]{32}",
    resume=("--resume", "{id}"),
    picks=("--resume", "--last"),
    subcommands=("acp", "serve", "web", "mcp", "cloud", "login", "logout", "view"),
    # As `--help` lists them.
    flags=Flags(
        switches=words_of("""
            -h --help --version -v --last --headless --json --always-approve --yolo
            --llm-approve --exit-without-confirmation --override-with-envs"""),
        prompts=("-t", "--task"),
        once=("-f", "--file"),
    ),
    prompt=("--task", "{prompt}"),
    # It sets no variable of its own for its tools (OR_APP_NAME and OR_SITE_URL are its model's).
    # `/exit` needs Enter twice, and then asks whether to terminate: there is no polite way.
    helpers=(Helper("*tmux -Lopenhands *", ("openhands",), "tmux -L openhands kill-server"),),
    root="{home}/.openhands",
    conversation=("conversations/{id}/base_state.json",),
    extras=("conversations/{id}",),
    busy=r"\bESC: pause\)",
    busy_in_answers=True,
    # Its prompt stays below the question.
    asks=(
        r"Terminate session\?(?=[\s\S]*Yes, proceed)",
        r"Confirm \d+ action\(s\)\?(?=(?:\s*\n *(?:> )?(?:Yes|No|Always|Auto[^\n]*)){4})",
    ),
    # As `openhands mcp add` writes it.
    mcp=McpClient(
        "~/.openhands/mcp.json", started_document("openhands", transport="stdio", enabled=True)
    ),
)
