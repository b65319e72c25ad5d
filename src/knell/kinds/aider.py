"""aider, read from 0.86.2: its help, and runs against a local model.

Its conversation is one file of the directory (.aider.chat.history.md), without an id: there is
nothing to resume by, only `--restore-chat-history`, which reads the whole file.
"""

from knell.core.kind import Kind

KIND = Kind(
    "aider",
    program="aider",
    install="pip install aider-chat",
    seen=("0.86.2",),
    exit_keys="/exit",
    # Ends a turn, and takes the whole prompt; an Escape in the middle of a turn is only echoed.
    clear_keys=("C-c",),
    prompt_shown=r"(?m)^─+ *\n>[^\n]*(?:\n>[^\n]*)*\s*\Z",
    # Alone in the last prompt, below its rule: further lines of a draft begin with the same sign.
    exit_shown=r"(?m)^─+ *\n> /exit\s*\Z",
    busy=r"(?m)^[^\n]*\bWaiting for [^\n]*\s*\Z",
    asks=(r"(?m)^[^\n]*\(Y\)es/\(N\)o[^\n]*\[\w+\]:\s*\Z",),
)
