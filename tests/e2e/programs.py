"""The four real programs: where each comes from, and how it starts at home without a question."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

KEY = "sk-ant-stand-in-for-a-key-000000000000000000"  # nobody's
KEY_TAIL = 20  # by so many of its last characters Claude remembers a key that it may use
MODEL = "stand-in"


class Setting(NamedTuple):
    """Where a program is set up: whatever it needs to know of the house and its model."""

    home: Path
    project: Path
    address: str  # of the model
    mcp: tuple[str, ...]  # argv of the MCP server; none: no server


class Program(NamedTuple):
    name: str  # knell's kind, and the command
    package: str  # at npm
    version: str
    settle: Callable[[Setting], None]  # writes its settings, as if a person had answered long ago
    env: Callable[[str], dict[str, str]]  # by the model's address
    ready: str  # on the screen while nothing is typed and nothing runs …
    busy: str  # … and this is not
    question: str  # on the screen while it asks whether a command may run
    leave: str  # what a person types to leave
    anew: tuple[str, ...]  # what a person types to begin a new conversation
    conversations: str  # glob below its home
    headless: tuple[str, ...]  # argv before a prompt that is answered without a terminal
    earlier: tuple[str, str] = ("", "")  # what lists its conversations, and what that list shows
    forgets: str = ""  # what it leaves out of a resumed conversation, without knell as well
    menu: str = ""  # what it shows below such a command once it knows its commands
    install: tuple[str, ...] = ()  # argv in its package, should npm hold back install scripts


# -- claude --------------------------------------------------------------------------------------


def settle_claude(setting: Setting) -> None:
    """Theme, key and trust."""
    trusted = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["weather"]}
    settings = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": CLAUDE.version,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-KEY_TAIL:]], "rejected": []},
        "projects": {str(setting.project): trusted},
    }
    path = setting.home / ".claude.json"
    if not path.exists():  # from then on it is Claude's own
        path.write_text(json.dumps(settings))
    servers = {"weather": started(setting.mcp)} if setting.mcp else {}
    (setting.project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def started(argv: tuple[str, ...]) -> dict[str, Any]:
    return {"command": argv[0], "args": list(argv[1:])}


CLAUDE = Program(
    "claude",
    "@anthropic-ai/claude-code",
    "2.1.197",
    settle_claude,
    lambda address: {
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    },
    ready="? for shortcuts",
    busy="esc to interrupt",
    question="Do you want to proceed?",
    leave="/exit",
    anew=("/clear", "/new"),
    conversations=".claude/projects/*/*.jsonl",
    earlier=("/resume", "Resume"),
    headless=("-p",),
    install=("node", "install.cjs"),
)

# -- codex ---------------------------------------------------------------------------------------


def settle_codex(setting: Setting) -> None:
    """Its provider, trust, and that its model may ask for more than the sandbox."""
    lines = [
        'approval_policy = "on-request"',
        'sandbox_mode = "workspace-write"',
        f'model = "{MODEL}"',
        'model_provider = "loopback"',
        "check_for_update_on_startup = false",
        "[analytics]",
        "enabled = false",
        "[model_providers.loopback]",
        'name = "loopback"',
        f'base_url = "{setting.address}/v1"',
        'wire_api = "responses"',
        f"[projects.{json.dumps(str(setting.project))}]",
        'trust_level = "trusted"',
    ]
    if setting.mcp:
        pairs = started(setting.mcp).items()
        lines += [
            "[mcp_servers.weather]",
            *(f"{key} = {json.dumps(value)}" for key, value in pairs),
        ]
    path = setting.home / ".codex/config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


CODEX = Program(
    "codex",
    "@openai/codex",
    "0.166.0",
    settle_codex,
    lambda _address: {},
    ready=f"{MODEL} default",  # the prompt is drawn before anything is loaded
    busy="esc to interrupt",
    question="Would you like to run the following command?",
    leave="/quit",
    anew=("/clear", "/new"),
    conversations=".codex/sessions/*/*/*/rollout-*.jsonl",
    earlier=("/resume", "Resume a previous session"),
    headless=("exec", "--skip-git-repo-check"),
)

# -- gemini --------------------------------------------------------------------------------------


def settle_gemini(setting: Setting) -> None:
    """Its key, trust, and a model of a fixed name, so that no router is asked first."""
    settings: dict[str, Any] = {
        "security": {
            "auth": {"selectedType": "gemini-api-key"},
            "folderTrust": {"enabled": False},
        },
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "model": {"name": "gemini-2.5-flash"},
    }
    if setting.mcp:
        settings["mcpServers"] = {"weather": started(setting.mcp)}
    path = setting.home / ".gemini/settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(settings))


GEMINI = Program(
    "gemini",
    "@google/gemini-cli",
    "0.61.0",
    settle_gemini,
    lambda address: {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": KEY},
    ready="Type your message or @path/to/file",
    busy="esc to cancel",
    question="Allow execution of",
    leave="/quit",
    anew=("/clear", "/new"),
    menu="Clear the screen",
    conversations=".gemini/tmp/*/chats/session-*",
    earlier=("/resume", "Sessions"),
    headless=("-p",),
    forgets="after an Escape in its first session gemini itself leaves out the very first prompt",
)

# -- opencode ------------------------------------------------------------------------------------


def settle_opencode(setting: Setting) -> None:
    """A provider of its own, with the adapter that it brings; nothing is downloaded."""
    model = {"name": MODEL, "limit": {"context": 100_000, "output": 10_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "loopback",
        "options": {"baseURL": f"{setting.address}/v1", "apiKey": KEY},
        "models": {MODEL: model},
    }
    settings: dict[str, Any] = {
        "model": f"loopback/{MODEL}",
        "small_model": f"loopback/{MODEL}",
        "enabled_providers": ["loopback"],
        "provider": {"loopback": provider},
        "autoupdate": False,
        "share": "disabled",
        "permission": {"bash": "ask"},
    }
    if setting.mcp:
        entry = {"type": "local", "command": list(setting.mcp), "enabled": True}
        settings["mcp"] = {"weather": entry}
    path = setting.home / ".config/opencode/opencode.json"
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(settings))
    # Otherwise it asks npm for the types of its plugins at every start, and each turn waits for it.
    (path.parent / "node_modules").mkdir(exist_ok=True)
    lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": OPENCODE.version}}}}
    (path.parent / "package-lock.json").write_text(json.dumps(lock))


OPENCODE = Program(
    "opencode",
    "opencode-ai",
    "1.18.33",
    settle_opencode,
    lambda _address: {
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    },
    ready="╹▀▀▀",
    busy="esc interrupt",
    question="Permission required",
    leave="/exit",
    anew=("/clear", "/new"),
    conversations=".local/share/opencode/opencode.db",
    earlier=("/sessions", "Sessions"),
    headless=("run",),
    install=("node", "postinstall.mjs"),
)

PROGRAMS = {one.name: one for one in (CLAUDE, CODEX, GEMINI, OPENCODE)}


def install(where: Path, *programs: Program) -> Path:
    """They come from the registry that npm is told to use; the directory of their commands."""
    npm = ("npm", "install", "--prefix", str(where), "--cache", str(where / "cache"))
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel", "error")
    packages = [f"{one.package}@{one.version}" for one in programs]
    subprocess.run([*npm, *quiet, *packages], check=True, stdin=subprocess.DEVNULL, timeout=900)
    for one in programs:
        if one.install:  # npm may hold back install scripts; this one puts the program in place
            package = where / "node_modules" / one.package
            subprocess.run(one.install, cwd=package, check=True, timeout=300)
    shutil.rmtree(where / "cache", ignore_errors=True)
    return where / "node_modules/.bin"


def python(script: Path, *args: str) -> tuple[str, ...]:
    return (sys.executable, "-S", str(script), *args)
