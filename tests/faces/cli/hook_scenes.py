"""A settings file of Claude's, written as oddly as a person may, and what lies around it."""

from pathlib import Path

from house import House

ODD = (
    '\ufeff{\r\n\t"env": {"TOKEN": "a\\u00e9"},\r\n   "hooks" : {"Stop":[ {"hooks":[{"type":'
    '"command","command":"mine"}]} ]},\r\n\r\n "z":1e2}\r\n\r\n'
).encode()


def claude_settings(house: House) -> Path:
    path = house.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(ODD)
    return path


def backups(house: House) -> list[str]:
    return sorted(path.suffix for path in (house.state / "hooks").glob("*"))


def litter(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.iterdir() if one != path)
