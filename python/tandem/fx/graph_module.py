"""Modules whose forward is the code of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import operator
from typing import Any

import tandem
from tandem._stand_in import lacking_class
from tandem.fx.graph import Graph, PythonCode
from tandem.fx.node import _get_qualified_name
from tandem.nn import Module

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_CodeOnlyModule = lacking_class("fx.graph_module._CodeOnlyModule")

_numbers = itertools.count()


def _copy_attr(from_module: Any, to_module: Any, target: str) -> None:
    """Give `to_module` the attribute `target` of `from_module`, and the modules on the way."""
    *prefix, field = target.split(".")
    for part in prefix:
        from_module, there = getattr(from_module, part), getattr(to_module, part, None)
        if from_module is there:
            return
        if there is None:
            there = Module()
            setattr(to_module, part, there)
        to_module = there
    _assign(to_module, field, getattr(from_module, field))


def _assign(module: Any, name: str, value: Any) -> None:
    if isinstance(value, tandem.Tensor) and not isinstance(value, tandem.nn.Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _assign_attr(from_obj: Any, to_module: Any, target: str) -> None:
    """Give `to_module` the object as its attribute `target`, with modules on the way."""
    *prefix, field = target.split(".")
    for part in prefix:
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    _assign(to_module, field, from_obj)


def _get_attr(model: Any, attr_name: str) -> Any:
    return operator.attrgetter(attr_name)(model)


def reduce_graph_module(state: dict[str, Any], graph: Graph, class_name: str) -> GraphModule:
    """The module of what `GraphModule.__reduce__` gives."""
    return GraphModule.__new__(GraphModule)._filled(state, graph, class_name)


class GraphModule(Module):
    """A module whose `forward` is made of a graph, with those members of `root` that the graph names.

    `graph` is the graph; after changes `recompile()` makes `forward` anew. `code` is the text.

    >>> import tandem
    >>> traced = tandem.fx.symbolic_trace(tandem.nn.Linear(2, 2))
    >>> isinstance(traced, tandem.fx.GraphModule), list(traced.state_dict())
    (True, ['weight', 'bias'])
    """

    _graph: Graph
    _code: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Every instance has a class of its own, for its `forward`."""
        # One below the class that a program derived: a copy's class has none of another's code.
        base = next(c for c in cls.__mro__ if "_made_for_one" not in vars(c))
        return super().__new__(type(base.__name__, (base,), {"_made_for_one": True, "__module__": base.__module__}))

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self._name_class(class_name)
        if not isinstance(root, (Module, dict)):
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        if isinstance(root, Module) and hasattr(root, "training"):
            self.training = root.training
        targets = [str(n.target) for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, dict):
            for target in sorted(dict.fromkeys(targets), key=lambda t: t.count(".")):
                if target not in root:
                    raise RuntimeError(
                        f"Node in the graph references attribute {target} which is not present in the provided "
                        "dictionary"
                    )
                _assign_attr(root[target], self, target)
        else:
            for target in targets:
                _copy_attr(root, self, target)
        self.graph = graph
        self.meta: dict[str, Any] = {}

    def _name_class(self, name: str) -> None:
        type(self).__name__ = type(self).__qualname__ = name

    def _state(self) -> dict[str, Any]:
        """What a copy needs beside the graph."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_graph", "_code")}

    def _filled(self, state: dict[str, Any], graph: Graph, class_name: str) -> GraphModule:
        """This module, which was made without a constructor."""
        self.__dict__.update(state)
        self._name_class(class_name)
        self.graph = graph
        return self

    @property
    def graph(self) -> Graph:
        """The graph. Assigning one makes its code."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Make `forward` of the graph as it is now."""
        made = self.graph.python_code("self")
        self.__dict__["_code"] = made.src
        file = f"<tandem.fx code {next(_numbers)}>"
        linecache.cache[file] = (len(made.src), None, made.src.splitlines(True), file)
        names = dict(made.globals)
        exec(compile(made.src, file, "exec"), names)
        type(self).forward = names["forward"]  # type: ignore[method-assign]
        return made

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at the path `target`; False where the path goes through what is none."""
        *prefix, field = target.split(".")
        at: Any = self
        for part in prefix:
            if getattr(at, part, None) is None:
                setattr(at, part, Module())
            at = getattr(at, part)
            if not isinstance(at, Module):
                return False
        at.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at the path `target`; False where there is none."""
        *prefix, field = target.split(".")
        at: Any = self
        for part in prefix:
            at = getattr(at, part, None)
        if not isinstance(at, Module) or not isinstance(getattr(at, field, None), Module):
            return False
        delattr(at, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that no node names, nor what it calls."""
        used: list[str] = []
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                path = str(node.target)
                used += [path.rsplit(".", i)[0] for i in range(path.count(".") + 1)]
                if node.op == "call_module":
                    used += [f"{path}.{name}" if name else path for name, _ in self.get_submodule(path).named_modules()]
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **other: Any) -> str:
        """The code, as a class; printed too."""
        body = self._code.strip().replace("\n", "\n    ")
        text = f"class {self._get_name()}({_get_qualified_name(Module)}):\n    {body}\n"
        if print_output:
            print(text)
        return text

    def __reduce__(self) -> Any:
        return reduce_graph_module, (self._state(), self._graph, type(self).__name__)

    def __deepcopy__(self, memo: Any) -> GraphModule:
        made: GraphModule = type(self).__new__(type(self))
        memo[id(self)] = made
        state = copy.deepcopy(self._state(), memo)
        return made._filled(state, copy.deepcopy(self._graph, memo), type(self).__name__)

    def __copy__(self) -> GraphModule:
        made: GraphModule = type(self).__new__(type(self))
        state = {n: copy.copy(v) if n[0] == "_" else v for n, v in self._state().items()}
        return made._filled(state, copy.deepcopy(self._graph), type(self).__name__)

    def __str__(self) -> str:
        return "\n".join(
            [super().__repr__(), self._code, "# To see more debug info, please use `graph_module.print_readable()`"]
        )
