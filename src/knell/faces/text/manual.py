"""Manual pages in man's own language, made from the same texts as --help."""

import click


def manual_page(command: click.Command, context: click.Context) -> str:
    """The page of a verb; of a group, with all verbs below it."""
    from knell import __version__

    name = context.command_path.replace(" ", "-")
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [
        f'.TH "{name.upper()}" 1 "" "knell {__version__}" "knell"',
        ".SH NAME",
        f"{_safe(name)} \\- {_safe(command.get_short_help_str(200).rstrip('.'))}",
        ".SH SYNOPSIS",
        f"\\fB{_safe(context.command_path)}\\fR {_safe(usage)}",
        ".SH DESCRIPTION",
        _prose(command.help or ""),
        *_listed("OPTIONS", _options(command, context)),
    ]
    if isinstance(command, click.Group):
        parts += _listed("VERBS", _verbs(command, context))
    if context.parent:
        parts += [".SH SEE ALSO", "\\fBknell\\fR(1)"]
    return "\n".join(parts) + "\n"


def all_pages() -> dict[str, str]:
    """Its name → the page, of knell and of every verb."""
    from knell.faces.cli.group import VERBS, cli

    context = click.Context(cli, info_name="knell", **cli.context_settings)
    pages = {"knell": manual_page(cli, context)}
    for verb in VERBS:
        command = cli.get_command(context, verb)
        assert command is not None, verb  # noqa: S101 - the table names only verbs that are there
        below = click.Context(command, info_name=verb, parent=context)
        pages[f"knell-{verb}"] = manual_page(command, below)
    return pages


def _options(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    records = [one.get_help_record(context) for one in command.get_params(context)]
    return [record for record in records if record and record[1]]


def _verbs(group: click.Group, context: click.Context) -> list[tuple[str, str]]:
    commands = {verb: group.get_command(context, verb) for verb in group.list_commands(context)}
    return [(verb, one.get_short_help_str(200)) for verb, one in commands.items() if one]


def _listed(title: str, found: list[tuple[str, str]]) -> list[str]:
    lines = [f".SH {title}"] if found else []
    for word, told in found:
        lines += [".TP", f"\\fB{_safe(word)}\\fR", _safe(told)]
    return lines


def _prose(text: str) -> str:
    """Paragraphs; one that begins with \\b is an example, and keeps its lines."""
    parts: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        lines = [line.strip() for line in paragraph.strip("\n").split("\n")]
        if lines and lines[0] == "\b":
            parts += [".PP", ".nf", *map(_safe, lines[1:]), ".fi"]
        else:
            parts += [".PP", _safe(" ".join(lines))]
    return "\n".join(parts)


def _safe(text: str) -> str:
    """No word of ours is a command of man's language."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text
