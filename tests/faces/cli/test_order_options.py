"""What an order to another host carries of the options that a person gave."""

from knell.faces.cli.far import order_options


def test_a_grace_of_no_seconds_reaches_the_other_host() -> None:
    """0 is a number that a person gave, and not an option that was left out"""
    given = {"grace": 0.0, "force": False, "reason": "", "children": True, "strict_pane": True}
    assert order_options(given) == {"grace": 0.0}


def test_that_children_are_spared_reaches_the_other_host() -> None:
    assert order_options({"grace": None, "children": False}) == {"children": False}
