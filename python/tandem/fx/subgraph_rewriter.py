"""Replacing parts of a graph that look like a pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tandem.fx._symbolic_trace import symbolic_trace
from tandem.fx.graph import Graph
from tandem.fx.graph_module import GraphModule, _copy_attr
from tandem.fx.node import Node


class Match(NamedTuple):
    """A part that looked like the pattern: its last node, and what each node of the pattern stood for."""

    anchor: Node
    nodes_map: dict[Node, Any]


def _graph(of: Any) -> Graph:
    return of if isinstance(of, Graph) else of.graph if isinstance(of, GraphModule) else symbolic_trace(of).graph


def _same(pattern: Any, there: Any, found: dict[Node, Any]) -> bool:
    """Is `there` what `pattern` describes? `found` is filled in."""
    if isinstance(pattern, Node):
        if pattern in found:
            known = found[pattern]
            return known is there if isinstance(there, Node) else bool(type(known) is type(there) and known == there)
        if pattern.op == "placeholder":
            found[pattern] = there
            return True
        if not isinstance(there, Node) or (pattern.op, pattern.target) != (there.op, there.target):
            return False
        found[pattern] = there
        return _same(pattern.args, there.args, found) and _same(pattern.kwargs, there.kwargs, found)
    if isinstance(pattern, (tuple, list)):
        same = isinstance(there, (tuple, list)) and len(pattern) == len(there)
        return same and all(_same(a, b, found) for a, b in zip(pattern, there, strict=True))
    if isinstance(pattern, dict):
        same = isinstance(there, dict) and pattern.keys() == there.keys()
        return same and all(_same(value, there[key], found) for key, value in pattern.items())
    return type(pattern) is type(there) and bool(pattern == there)


def _find(pattern: Graph, anchor: Node) -> dict[Node, Any] | None:
    """What the nodes of the pattern are, where it ends at `anchor`."""
    last = pattern.output_node().args[0]
    found: dict[Node, Any] = {}
    if not isinstance(last, Node) or last.op == "placeholder" or not _same(last, anchor, found):
        return None
    inside = {node for p, node in found.items() if p.op != "placeholder" and isinstance(node, Node)}
    # Nothing else may read what is only on the way.
    open_ = any(user not in inside for node in inside if node is not anchor for user in node.users)
    return None if open_ else found


def replace_pattern(
    gm: GraphModule, pattern: Callable[..., Any] | GraphModule, replacement: Callable[..., Any] | GraphModule
) -> list[Match]:
    """Replace every part of a module's graph that does what the function `pattern` does by what `replacement` does.

    Both functions have one result, and their arguments stand for any values.

    >>> import tandem
    >>> traced = tandem.fx.symbolic_trace(lambda x: (x + x).relu())
    >>> len(tandem.fx.replace_pattern(traced, lambda a: a + a, lambda a: a * 2))
    1
    >>> print(traced.code.strip())
    def forward(self, x):
        mul = x * 2;  x = None
        relu = mul.relu();  mul = None
        return relu
    """
    part, new = _graph(pattern), _graph(replacement)
    if not isinstance(part.output_node().args[0], Node) or not isinstance(new.output_node().args[0], Node):
        raise NotImplementedError("replace_pattern: the pattern and the replacement have one result each")
    matches: list[Match] = []
    replaced: dict[Any, Node] = {}
    for node in list(gm.graph.nodes):
        found = None if node._erased else _find(part, node)
        if found is None:
            continue
        inputs = [found.get(p) for p in part.nodes if p.op == "placeholder"]
        holes = [p for p in new.nodes if p.op == "placeholder"]
        if len(inputs) != len(holes):
            raise ValueError("replace_pattern: the pattern and the replacement take different numbers of arguments")
        values: dict[Any, Any] = {hole: replaced.get(value, value) for hole, value in zip(holes, inputs, strict=True)}
        with gm.graph.inserting_before(node):
            result: Any = gm.graph.graph_copy(new, values)
        if isinstance(replacement, GraphModule):
            for n in new.nodes:
                if n.op in ("get_attr", "call_module"):
                    _copy_attr(replacement, gm, str(n.target))
        node.replace_all_uses_with(result)
        replaced[node] = result
        gone = [n for p, n in found.items() if p.op != "placeholder" and isinstance(n, Node)]
        for old in reversed([n for n in gm.graph.nodes if n in gone]):
            if not old.users:
                gm.graph.erase_node(old)
        matches.append(Match(node, found))
    gm.recompile()
    return matches
