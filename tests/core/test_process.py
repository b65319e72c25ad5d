"""Which process is meant: pid, start, boot and, where both sides know it, the pidfd's inode."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.process import ProcessId
from knell.stores.records import process_from_text, process_text

BOOT = "81ac3bf2-3dc9-4778-ac63-080e2fce4946"
processes = st.builds(
    ProcessId, st.integers(1, 2**22), st.integers(0, 2**40), st.uuids().map(str), st.integers(0)
)


@given(st.none() | processes)
def test_a_process_is_read_back_as_it_was_written(process: ProcessId | None) -> None:
    assert process_from_text(process_text(process)) == process


@pytest.mark.parametrize("text", ["77", "77:1", "a:b:c:d", "77:1:boot:0:more", "::::"])
def test_a_garbled_process_is_an_error_not_another_process(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        process_from_text(text)


@pytest.mark.parametrize(
    "other",
    [
        ProcessId(78, 1000, BOOT, 5),
        ProcessId(77, 1001, BOOT, 5),
        ProcessId(77, 1000, "another boot", 5),
        ProcessId(77, 1000, BOOT, 6),
    ],
)
def test_one_difference_is_enough_to_be_somebody_else(other: ProcessId) -> None:
    assert not ProcessId(77, 1000, BOOT, 5).same_as(other)
    assert not other.same_as(ProcessId(77, 1000, BOOT, 5))


def test_an_inode_that_one_side_does_not_know_decides_nothing() -> None:
    assert ProcessId(77, 1000, BOOT, 0).same_as(ProcessId(77, 1000, BOOT, 6))
