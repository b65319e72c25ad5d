"""No module imports itself through others, not even inside a function."""

import ast
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"
ALONE = "knell.processes.keeper."  # scripts of a bare interpreter, which import one another by name

Graph = dict[str, set[str]]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


def imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Those of functions too; not those that only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not isinstance(node, ast.expr):  # inside which there is no statement
            yield from imports(node)


def graph(sources: dict[str, str]) -> Graph:
    """Which of the modules each of them imports."""
    found: Graph = {}
    for name, text in sources.items():
        found[name] = set()
        for node in imports(ast.parse(text)):
            if isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names} & set(sources)
            else:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                meant = inner & set(sources) or {node.module or ""} & set(sources)
                found[name] |= meant - {name}
    return found


def cycles(edges: Graph) -> list[set[str]]:
    """Groups of modules that reach one another."""

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for one in edges[todo.pop()] - seen:
                seen.add(one)
                todo.append(one)
        return seen

    reached = {name: reach(name) for name in edges}
    in_one = [frozenset(o for o in reached[name] if name in reached[o]) for name in edges]
    return [set(group) for group in dict.fromkeys(in_one) if group]


def test_no_import_comes_back() -> None:
    """No cycle in src, function-local imports included"""
    files = {module_of(path): path.read_text() for path in (SRC / "knell").rglob("*.py")}
    assert cycles(graph({n: t for n, t in files.items() if not n.startswith(ALONE)})) == []


def test_a_cycle_through_a_function_is_found() -> None:
    """The test above can fail: a cycle that hides inside a function is seen"""
    sources = {"a": "import b", "b": "def f():\n    from a import x", "c": "import a"}
    assert cycles(graph(sources)) == [{"a", "b"}]
    typed = {"a": "import b", "b": "if TYPE_CHECKING:\n    from a import x"}
    assert cycles(graph(typed)) == []
