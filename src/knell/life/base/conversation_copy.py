"""Keeps a copy of a conversation that its own program may delete, and puts it back.

Gemini's exit deletes a conversation whose first turn was cancelled, and its next start deletes
resumed ones. The copy is taken while the agent lives, lies in the run's directory, and goes with
it; a purge deletes it too.
"""

import os
from collections.abc import Iterator

from knell.core.agent import Agent
from knell.core.conversation import below_root
from knell.core.ending_steps import Case
from knell.core.errors import FileFailed
from knell.core.json_lines import records_of
from knell.core.ports.disk import WholeFile
from knell.core.ports.world import World
from knell.life.base.conversation import conversation_files, find_conversation, root_of

FOLDER = "conversation"  # in the run's directory; below it the path as it is below the root
LARGEST = 64_000_000  # bytes of a file that is copied
MOST = 8  # files of one conversation
RUNS = 20  # of one agent whose copies are looked at


def keep_copy(world: World, agent: Agent, run: str) -> None:
    """Copies the conversation's files if a person has said something in it: an empty one may be
    deleted. Files that cannot be copied are skipped: the ending matters more."""
    kind = world.kinds.kind_or_command(agent.kind)
    if not kind.may_vanish or not kind.is_id(agent.conversation):
        return
    root = world.disk.real(root_of(world, agent, kind))
    for path in conversation_files(world, agent, kind)[:MOST]:
        seen = world.disk.seen(path)
        inside = os.path.relpath(world.disk.real(path), root)
        if seen is None or seen.what != "file" or seen.size > LARGEST or inside.startswith(".."):
            continue
        content = world.disk.tail(path, LARGEST) or b""
        if any(kind.said is None or kind.said(record) for record in records_of(content)):
            _write(world, os.path.join(_folder(world, run), inside), content, anew=True)


def put_back(world: World, agent: Agent, run: str) -> bool:
    """Writes what is gone of the conversation back from the copies of that run; whether it did.
    What is there stays as it is."""
    root = world.disk.real(root_of(world, agent, world.kinds.kind_or_command(agent.kind)))
    done = False
    for path in _copies(world, agent, run):
        place = os.path.join(root, os.path.relpath(path, _folder(world, run)))
        folder = os.path.dirname(place)
        seen = world.disk.seen(place)
        content = world.disk.tail(path, LARGEST)
        if seen is None or seen.what != "nothing" or not content:
            continue
        if world.disk.real(folder) == folder:  # no link leads elsewhere
            done = _write(world, place, content) or done
    return done


def put_back_lost(world: World, cases: list[Case]) -> list[Case]:
    """The step of an ending: what the program deleted as it left is there again."""
    return [
        case._replace(
            receipt=case.receipt._replace(conversation=find_conversation(world, case.agent))
        )
        if case.receipt is not None and put_back(world, case.agent, case.run.id)
        else case
        for case in cases
    ]


def put_back_any(world: World, agent: Agent) -> bool:
    """The same from the latest run that has a copy; for a resume long after."""
    kind = world.kinds.kind_or_command(agent.kind)
    if not kind.may_vanish:
        return False
    runs = world.store.runs.of(agent.name)[:RUNS]
    return any(put_back(world, agent, run.id) for run in runs)


def forget_copies(world: World, agent: Agent) -> None:
    """Deletes every copy of the conversation on record."""
    if not world.kinds.kind_or_command(agent.kind).may_vanish:
        return
    for run in world.store.runs.of(agent.name):
        world.disk.purge(_folder(world, run.id), list(_copies(world, agent, run.id)))


def _folder(world: World, run: str) -> str:
    return os.path.join(world.rundir(run), FOLDER)


def _copies(world: World, agent: Agent, run: str) -> Iterator[str]:
    """The copies of this conversation and of no other."""
    kind = world.kinds.kind_or_command(agent.kind)
    for glob in below_root(kind, kind.conversation, agent.conversation, world.disk.real(agent.cwd)):
        yield from world.disk.glob(os.path.join(_folder(world, run), glob))


def _write(world: World, path: str, content: bytes, *, anew: bool = False) -> bool:
    try:
        world.disk.make_directory(os.path.dirname(path))
        was = world.disk.read_whole(path) if anew else WholeFile(path, None)
        world.disk.replace(was, content)
    except FileFailed:
        return False
    return True
