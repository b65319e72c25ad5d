"""What the watch does about whom."""

import pytest

from knell.core.agent import Agent
from knell.core.errors import BadRequest
from knell.life.watch.policy import Policy, parsed_policy, parsed_rules, policy_of

LUNA = Agent("luna", "command", "/", tag="night", team="web")


def test_the_last_rule_that_speaks_of_an_agent_wins():
    rules = parsed_rules(["tag:night=kill", "team:web=stop", "tag:day=kill"])
    assert policy_of(LUNA, Policy.REPORT, rules) is Policy.STOP


def test_without_a_rule_the_usual_holds():
    assert policy_of(LUNA, Policy.REPORT, parsed_rules(["tag:day=kill"])) is Policy.REPORT


@pytest.mark.parametrize(
    "text", ["", "night=kill", "tag:=kill", "tag:x", "tag:x=shoot", "name:x=kill"]
)
def test_a_rule_that_says_nothing_is_refused(text):
    with pytest.raises(BadRequest):
        parsed_rules([text])


def test_a_rule_without_a_policy_is_named_whole():
    with pytest.raises(BadRequest, match="'tag:x' is no rule"):
        parsed_rules(["tag:x"])


def test_a_policy_that_is_none_is_refused_with_the_known_ones():
    with pytest.raises(BadRequest) as refused:
        parsed_policy("maim")
    assert "report, stop, kill" in refused.value.hint
