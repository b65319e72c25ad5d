"""What an agent leaves in the environment of its tools, and no agent below may inherit.

Read by letting each program run `env` as a tool (claude 2.1.197, codex 0.166.0, gemini 0.61.0,
opencode 1.18.33); hooks, MCP servers and background sessions from the program text.
"""

CLAUDE = (
    "CLAUDECODE",
    # With this set an interactive claude writes no conversation at all: nothing to resume.
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_EFFORT",
    "AI_AGENT",
    "CLAUDE_CODE_SSE_PORT",  # of the enclosing editor
    "CLAUDE_PROJECT_DIR",  # hooks and MCP servers; gemini sets it for its hooks too
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
    # A background session: what is below would take itself for that session's worker.
    "CLAUDE_JOB_DIR",
    "CLAUDE_CODE_SESSION_KIND",
    "CLAUDE_CODE_SESSION_NAME",
    "CLAUDE_CODE_RESUME_INTERRUPTED_TURN",
    "CLAUDE_CODE_RESUME_PROMPT",
    "CLAUDE_BG_BACKEND",
    "CLAUDE_BG_SOURCE",
    "CLAUDE_BG_ISOLATION",
    "CLAUDE_BG_POST_CLEAR_RESPAWN",
    "CLAUDE_BG_SESSION_PERMISSION_RULES",
    "CLAUDE_BG_MEMORY_TOGGLED_OFF",
)
CODEX = (
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_CI",
    "CODEX_VERSION",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_PERMISSION_PROFILE",
    "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_MANAGED_BY_PNPM",
    "CODEX_MANAGED_BY_BUN",
    "CODEX_MANAGED_PACKAGE_ROOT",
)
GEMINI = (
    "GEMINI_CLI",
    "GEMINI_CLI_NO_RELAUNCH",  # set by its launcher: the next one would skip its own
    "GEMINI_PROJECT_DIR",
    "GEMINI_CWD",
    "GEMINI_SESSION_ID",
    "GEMINI_PLANS_DIR",
)
OPENCODE = (
    "OPENCODE",
    "OPENCODE_PID",
    "OPENCODE_TERMINAL",
)

# Any agent may be started below any other, so that every kind drops them all. Left alone are
# names that people set themselves (PAGER, NO_COLOR, GIT_EDITOR, AGENT): we cannot tell whose.
ENCLOSING = (*CLAUDE, *CODEX, *GEMINI, *OPENCODE)
