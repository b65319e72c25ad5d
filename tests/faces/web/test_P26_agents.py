"""P26: no agent opens the address of `knell web`, nor starts it in a terminal of yours."""

import json
import sys

from contracts.t_scenes import Puppet
from faces.web.serving import served
from house import House, eventually

OPENS = """
import json, sys, urllib.error, urllib.request
address, _, token = sys.argv[1].partition("/#")
body = json.dumps({"token": token, "script": True}).encode()
headers = {"Content-Type": "application/json"}
try:
    answer = urllib.request.urlopen(urllib.request.Request(address + "/api/session", body, headers))
except urllib.error.HTTPError as error:
    answer = error
print(answer.read().decode())
"""


def test_P26_an_agent_that_read_the_address_gets_nothing_and_leaves_it_unused(
    house: House,
) -> None:
    luna = Puppet(house, "luna")
    with served(house) as server:
        for without in ((), ("KNELL_RUN", "KNELL_TOKEN")):
            words = ("exec", sys.executable, "-c", OPENS, server.address)
            told = json.loads(luna.says(*words, without=without).out)
            assert told["error"]["code"] == "inside_an_agent", told
        assert server.enter().status == 200, "it still opens for a person"
    refused = [one for one in house.json("events")["events"] if one["type"] == "authority.refused"]
    assert "'luna' opened the address" in refused[-1]["data"]["why"]


def test_P26_a_server_that_an_agent_starts_in_your_tmux_does_not_start(house: House) -> None:
    luna = Puppet(house, "luna")
    house.tmux("new-session", "-d", "-s", "mine", "sh")
    out = house.root / "said"
    knell = f"{sys.executable} -m knell web --port 0"
    line = f"{knell} > {out}.new 2>&1; mv {out}.new {out}"
    assert luna.says("exec", "tmux", "-L", "test", "new-window", "-t", "mine", line).code == 0
    eventually(out.exists)
    assert "it is not proven who starts it" in out.read_text()


def test_P51_what_an_agent_has_your_tmux_start_does_not_open_the_address(house: House) -> None:
    luna = Puppet(house, "luna")
    house.tmux("new-session", "-d", "-s", "mine", "sh")
    script, out = house.root / "opens.py", house.root / "out"
    script.write_text(OPENS)
    with served(house) as server:
        command = f"{sys.executable} {script} '{server.address}'"
        line = f"{command} > {out}.new 2>&1; mv {out}.new {out}"
        told = line.replace("#", "##")  # which begins a format of tmux
        assert luna.says("exec", "tmux", "-L", "test", "run-shell", "-b", told).code == 0
        eventually(out.exists)
        assert "tmux started it as a command" in json.loads(out.read_text())["error"]["message"]
        out.unlink()
        house.tmux("send-keys", "-t", "mine", line, "Enter")
        eventually(out.exists)
        assert "bearer" in out.read_text(), "what you type there is you"
