"""The death certificate as people and programs see it: receipt, page, show and events."""

import pytest

from house import House
from knell.core.ports.store import Event
from knell.core.receipt import Death, Left, Receipt, receipt_from_json
from knell.faces.text.receipt import page, text
from knell.faces.text.tables import event_line

HOSTILE = "<script>alert(1)</script>\x1b[31m & \"'"
OOM = Death(
    "out of memory",
    "out of memory: SIGKILL by the kernel (cgroup memory.events: oom_kill 1), after 3 h 12 min",
    signal="SIGKILL",
    sent_by="the kernel",
    evidence=("its keeper saw SIGKILL", HOSTILE),
    suspects=(f"a supervisor of the vendor is alive: {HOSTILE}",),
    left=(Left(11, "a", "term"), Left(12, "b", "kill"), Left(13, "c", "term")),
    seconds=11_520.0,
    cpu_seconds=1.5,
    run_max_rss_kb=2048,
    run_cpu_seconds=2.5,
)


@pytest.fixture
def receipt(house: House) -> Receipt:
    """Of a real crash."""
    assert house.run("run", "--name", "luna", "--", "sh", "-c", "exit 3").returncode == 3
    return house.knell.receipt("luna")


def facts(told: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in told.splitlines()[1:]:
        found.setdefault(line[2:15].strip(), []).append(line[16:])
    return found


def test_the_receipt_says_what_it_died_of(house: House, receipt: Receipt) -> None:
    told = facts(house.run("receipt", "luna").stdout)
    assert told["died"] == [receipt.death.sentence]
    assert told["died"][0].startswith("crash: exit code 3, after ")
    assert told["evidence"] == ["its keeper saw exit code 3"]
    assert "suspect" not in told
    assert "left behind" not in told


def test_show_says_it_in_one_line(house: House, receipt: Receipt) -> None:
    told = facts(house.run("show", "luna").stdout)
    assert told["died"] == [receipt.death.sentence]
    assert "evidence" not in told


def test_who_lives_has_no_certificate(house: House) -> None:
    house.spawn(name="luna")
    assert "died" not in facts(house.run("show", "luna").stdout)


def test_as_data_it_is_the_same_in_receipt_and_show(house: House, receipt: Receipt) -> None:
    told = house.json("receipt", "luna")
    assert told["death"] == house.json("show", "luna")["receipt"]["death"]
    assert set(told["death"]) == set(Death._fields)
    assert receipt_from_json(told) == receipt


def test_all_of_it_in_the_text(receipt: Receipt) -> None:
    told = facts(text(receipt._replace(death=OOM)))
    assert told["died"] == [OOM.sentence]
    assert len(told["evidence"]) == 2
    assert len(told["suspect"]) == 1
    assert told["left behind"] == ["3, swept by: term 2, kill 1"]
    assert told["whole run"] == ["2.5 s CPU, 2 MB in its largest process"]
    assert "\x1b" not in text(receipt._replace(death=OOM))


def test_all_of_it_in_the_page(receipt: Receipt) -> None:
    source = page(receipt._replace(death=OOM))
    assert f"<td>{OOM.sentence}</td>" in source
    assert "3, swept by: term 2, kill 1" in source
    assert "2 MB in its largest process" in source
    assert "<script>alert" not in source
    assert source.count("&lt;script&gt;alert(1)") == 2


def test_a_receipt_from_before_this_is_shown_without_one(receipt: Receipt) -> None:
    document = receipt.to_json()
    del document["death"]
    old = receipt_from_json(document)
    assert old.death == Death()
    assert "died" not in facts(text(old))
    assert "Died" not in page(old)


def test_the_event_of_an_end_says_it() -> None:
    data = {"death": OOM.sentence, "detail": "out of memory"}
    event = Event(1, "2026-01-01T00:00:00", "life.stopped", "luna", "r", data)
    assert event_line(event).endswith(f"death={OOM.sentence}")
    assert "detail=" not in event_line(event)  # said by the certificate already


@pytest.mark.parametrize("data", [{}, {"death": ""}, {"death": None}])
def test_an_event_without_one_says_nothing(data: dict[str, object]) -> None:
    event = Event(1, "2026-01-01T00:00:00", "life.stopped", "luna", "r", data)
    assert "death" not in event_line(event)
