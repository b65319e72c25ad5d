"""What the watch does about a change of verdict: an event, and by policy a stop or a kill; and the
stop of agents that were cut off."""

from collections.abc import Sequence
from enum import StrEnum

from knell.core import ladder as ladders
from knell.core.agent import Agent
from knell.core.authority import Caller
from knell.core.ending_steps import Way
from knell.core.errors import BadRequest, Refused
from knell.core.ports.world import World
from knell.core.run import Ending, Outcome
from knell.core.stall.verdict import Activity, Judgement, StallLimits
from knell.core.stop_plan import StopOptions
from knell.core.worktree import Cleanup
from knell.life.base.authority import check_authority
from knell.life.base.caller import caller
from knell.life.end.stop import StopWish, stop
from knell.life.watch.stalled import check_cleanup, end_if_still, reasons, remember

REPORTED = {"stalled", "waiting"}  # work and rest alternate all day


class Policy(StrEnum):
    REPORT = "report"
    STOP = "stop"
    KILL = "kill"


class StallPolicies:
    """Which policy holds for which agent, as configured and as asked."""

    def __init__(self, world: World, by: str, policy: str, rules: Sequence[str]) -> None:
        settings = world.settings
        self.world, self.who = world, caller(world)
        self.is_operators = not (self.who.runs or self.who.doubt)
        self.by = self.who.by if self.who.runs else by
        self.refused: set[str] = set()  # runs that this watch may not end
        self.usual = parsed_policy(policy or settings.watch_stalled)
        self.rules = parsed_rules((*settings.watch_policies, *rules))
        self.cleanup = settings.watch_cleanup
        if self.cleanup and self.cleanup not in set(Cleanup):
            hint = f"use one of {', '.join(Cleanup)}, or nothing"
            raise BadRequest(f"watch.cleanup = '{self.cleanup}' is unknown", hint)

    def record_changes(self, found: Sequence[Judgement]) -> None:
        """Writes an event for each agent that became stalled or waiting, or no longer is."""
        reported: list[Judgement] = []
        for one in found:
            now, was = one.verdict.activity.value, one.reported
            if now == was or not REPORTED.intersection((now, was)):
                continue
            policy = self._policy(one).value
            facts = {"activity": now, "was": was, "why": one.verdict.why, "policy": policy}
            self.world.store.events.record("watch.verdict", one.agent.name, one.run.id, facts)
            reported.append(one._replace(reported=now))
        # A verdict by another command is not reported yet; one that is reported here, is once.
        remember(self.world, reported)

    def act(self, found: Sequence[Judgement], limits: StallLimits) -> None:
        """Ends stalled agents by their policy, all that are ended alike side by side."""
        alike: dict[tuple[Policy, str], list[Judgement]] = {}
        for one in found:
            if one.verdict.activity is Activity.STALLED and self._may_end(one):
                # The worktree of an agent that will be restarted in it is left alone.
                again = one.agent.restart > one.run.attempt
                cleanup = "" if again or not self._may_clean(one) else self.cleanup
                alike.setdefault((self._policy(one), cleanup), []).append(one)
        for (policy, cleanup), chosen in alike.items():
            if policy is not Policy.REPORT:
                kill = policy is Policy.KILL
                outcome = Outcome.KILLED if kill else Outcome.STOPPED
                ending = Ending(outcome, self.by, "stalled", cleanup=cleanup)
                ladder = ladders.KILL_STALLED if kill else ladders.STOP
                way = Way(ladder, ending, deregister=True, details=reasons(chosen))
                end_if_still(self.world, chosen, limits, way)

    def _may_end(self, one: Judgement) -> bool:
        """The watch decides to end it, so it needs the right of the caller that runs the watch."""
        if self._policy(one) is Policy.REPORT or one.run.id in self.refused:
            return False
        try:
            check_authority(self.world, [one.run], self.who, confirmed=True)
        except Refused:
            self.refused.add(one.run.id)  # it was written down, once
            return False
        return True

    def _may_clean(self, one: Judgement) -> bool:
        """An agent that it may end but not clean up after is ended, and its worktree stays."""
        if not self.cleanup:
            return False
        try:
            check_cleanup(self.world, self.who, [one.run])
        except Refused:
            return False
        return True

    def _policy(self, one: Judgement) -> Policy:
        return policy_of(one.agent, self.usual, self.rules)


def policy_of(agent: Agent, usual: Policy, rules: Sequence[tuple[str, str, Policy]]) -> Policy:
    """The last rule that speaks of the agent, else the usual."""
    found = [policy for word, name, policy in rules if getattr(agent, word) == name]
    return found[-1] if found else usual


def parsed_policy(text: str) -> Policy:
    if text not in set(Policy):
        hint = f"use one of {', '.join(Policy)}"
        raise BadRequest(f"'{text}' is no policy for stalled agents", hint)
    return Policy(text)


def parsed_rules(texts: Sequence[str]) -> list[tuple[str, str, Policy]]:
    """`tag:night=kill` and `team:web=stop`; anything else is an error that names it."""
    rules: list[tuple[str, str, Policy]] = []
    for text in texts:
        group, equals, what = text.partition("=")
        word, _, name = group.partition(":")
        if word not in ("tag", "team") or not name or not equals:
            hint = "write tag:NAME=kill or team:NAME=stop"
            raise BadRequest(f"'{text}' is no rule for stalled agents", hint)
        rules.append((word, name, parsed_policy(what)))
    return rules


def stop_cut_off(world: World, by: str) -> None:
    """Stops agents whose host was cut off from its fleet for longer than they were allowed to be.

    By the clock that counts sleep too, and that nobody can set."""
    link = world.store.fleet.link()
    if link is None:
        return
    agents = {one.name: one.cut_off_after for one in world.store.runs.live_agents()}
    if not any(agents.values()):
        return
    clock = world.clock()
    away = clock.up - (link.contact_up if link.contact_boot == clock.boot else 0.0)
    for run in world.store.runs.live():
        allowed = agents.get(run.agent, 0)
        started = world.moment(clock.wall - allowed)
        if run.host == world.host and 0 < allowed < away and run.started_at < started:
            wish = StopWish((run.agent,), StopOptions(reason="cut_off"), yes=True)
            stop(world, wish, Caller(by))
