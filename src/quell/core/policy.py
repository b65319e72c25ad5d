"""What the watch does about a stalled agent, by tag or team."""

from collections.abc import Sequence
from enum import StrEnum

from quell.core.agent import Agent
from quell.core.errors import BadRequest


class Policy(StrEnum):
    REPORT = "report"
    STOP = "stop"
    KILL = "kill"


def policy_of(agent: Agent, usual: Policy, rules: Sequence[tuple[str, str, Policy]]) -> Policy:
    """The last rule that speaks of the agent, else the usual."""
    found = [policy for word, name, policy in rules if getattr(agent, word) == name]
    return found[-1] if found else usual


def parsed_policy(text: str) -> Policy:
    try:
        return Policy(text)
    except ValueError:
        raise BadRequest(
            f"'{text}' is no policy for stalled agents", f"use one of {', '.join(Policy)}"
        ) from None


def parsed_rules(texts: Sequence[str]) -> list[tuple[str, str, Policy]]:
    """`tag:night=kill` and `team:web=stop`; anything else is an error that names it."""
    rules: list[tuple[str, str, Policy]] = []
    for text in texts:
        whom, _, what = text.partition("=")
        word, _, name = whom.partition(":")
        if word not in ("tag", "team") or not name:
            raise BadRequest(
                f"'{text}' is no rule for stalled agents", "write tag:NAME=kill or team:NAME=stop"
            )
        rules.append((word, name, parsed_policy(what)))
    return rules
