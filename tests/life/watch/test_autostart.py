"""The service files: whatever a path holds, it stays one word."""

import plistlib

from knell.life.watch.autostart import launchd_agent, systemd_unit

ARGV = ["/opt/my python/bin/python", "-m", "knell", "watch", "--policy", 'tag:50%$x"=kill']


def test_a_systemd_unit_quotes_every_word_and_spares_the_agents():
    text = systemd_unit(ARGV, {"KNELL_HOME": "/a b"})
    assert 'ExecStart="/opt/my python/bin/python" "-m" "knell" "watch"' in text
    assert '"tag:50%%$$x\\"=kill"' in text
    assert 'Environment="KNELL_HOME=/a b"' in text
    assert "KillMode=process" in text


def test_a_launchd_agent_reads_back_as_it_was_meant():
    told = plistlib.loads(launchd_agent([*ARGV, "<&>"], {"A": "<b>"}).encode())
    assert told["ProgramArguments"] == [*ARGV, "<&>"]
    assert told["EnvironmentVariables"] == {"A": "<b>"}
    assert told["AbandonProcessGroup"] is True
