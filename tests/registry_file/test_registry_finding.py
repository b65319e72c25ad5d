"""Which registry it is, and what its cache of conversations knows."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from mirror_samples import Registry

from knell.core.errors import RegistryFailed
from knell.registry_file.agent_sessions import find

Open = Callable[[str | bytes], Registry]


# -- finding -----------------------------------------------------------------------------------


def test_M3_the_registry_is_that_of_this_directory_or_the_nearest_above(file: Path) -> None:
    project = file.parent.parent
    deep = project / "a" / "b"
    deep.mkdir(parents=True)
    assert find(str(project), "") is None
    file.write_text("")
    assert find(str(project), "") == str(file)
    assert find(str(deep), "") == str(file)
    (project / "a" / ".hermes").mkdir()
    nearer = project / "a" / ".hermes" / "agent-sessions.yaml"
    nearer.write_text("")
    assert find(str(deep), "") == str(nearer)


def test_M3_a_registry_that_is_named_wins_and_must_exist(file: Path) -> None:
    file.write_text("")
    other = file.parent / "other.yaml"
    with pytest.raises(RegistryFailed, match="no registry"):
        find(str(file.parent), "other.yaml")
    other.write_text("")
    assert find(str(file.parent), "other.yaml") == str(other)
    assert find("/", str(other)) == str(other)


@pytest.mark.needs_root
def test_a_registry_that_a_stranger_put_above_is_not_taken(file: Path) -> None:
    below = file.parent.parent / "mine"
    below.mkdir()
    file.write_text("")
    os.chown(file, 12345, 12345)
    assert find(str(below), "") is None
    os.chown(below, 12345, 12345)
    assert find(str(below), "") == str(file)


# -- the cache of conversations ----------------------------------------------------------------


CLAUDE, AGY = "project_cwd: /w, session_id: c1", "project_cwd: /w, conversation_id: a1"
ELSEWHERE = "project_cwd: /v, session_id: c0"


@pytest.mark.parametrize(
    "identities",
    [
        f"{{claude: {{{CLAUDE}}}, agy: {{{AGY}}}}}",
        f"[{{claude: {{{CLAUDE}}}}}, {{agy: {{{AGY}}}}}]",
        f"[{{agent: claude, {CLAUDE}}}, {{{AGY}}}]",
        f"{{claude: [{{{ELSEWHERE}}}, {{{CLAUDE}}}], agy: [{{{AGY}}}]}}",
    ],
)
def test_M22_the_cache_counts_only_for_the_very_directory(holding: Open, identities: str) -> None:
    registry = holding(f"agent_identities: {identities}\n")
    assert registry.cached_conversation("claude", "/w") == "c1"
    assert registry.cached_conversation("agy", "/w") == "a1"
    assert registry.cached_conversation("agy", "/w/deeper") == ""
    assert registry.cached_conversation("codex", "/w") == ""


def test_M22_a_cache_that_is_none_knows_nothing(holding: Open) -> None:
    for text in ("", "agent_identities: 7", "agent_identities: {claude: null}", "x: 1"):
        assert holding(text).cached_conversation("claude", "/w") == ""
