"""What `show` and `tree` know of an agent that appears while they look."""

from house import House
from knell.life.base.targets import Crowd, Picture


def test_P23_an_agent_that_starts_meanwhile_has_its_record(house: House) -> None:
    """P23: a run that is seen always has its agent, though both are read at two moments"""
    picture = Picture(house.knell.world)
    house.spawn(name="cy")
    for crowd in (Crowd(picture, targets=["cy"]), Crowd(picture)):
        assert {run.agent for run in crowd.runs.values()} <= set(crowd.agents)
        assert crowd.agents[crowd.only("cy").agent].name == "cy"
    assert house.knell.show("cy").agent.name == "cy"
