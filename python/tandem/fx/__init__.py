"""`tandem.fx`: graphs of Python functions, to be read, changed and run, as PyTorch has them.

`symbolic_trace` makes one by running a function on proxies; a `GraphModule` runs it. Nothing is faster for it: what is
to be fast is given to `tandem.compile`, which takes these modules like any others.
"""

from __future__ import annotations

from tandem._stand_in import lacking_class as _lacking_class
from tandem.fx import graph as graph
from tandem.fx import graph_module as graph_module
from tandem.fx import immutable_collections as immutable_collections
from tandem.fx import interpreter as interpreter
from tandem.fx import node as node
from tandem.fx import proxy as proxy
from tandem.fx import subgraph_rewriter as subgraph_rewriter
from tandem.fx._symbolic_trace import Tracer as Tracer
from tandem.fx._symbolic_trace import symbolic_trace as symbolic_trace
from tandem.fx._symbolic_trace import wrap as wrap
from tandem.fx.graph import Graph as Graph
from tandem.fx.graph_module import GraphModule as GraphModule
from tandem.fx.interpreter import Interpreter as Interpreter
from tandem.fx.interpreter import Transformer as Transformer
from tandem.fx.node import Node as Node
from tandem.fx.node import has_side_effect as has_side_effect
from tandem.fx.node import map_arg as map_arg
from tandem.fx.proxy import Proxy as Proxy
from tandem.fx.subgraph_rewriter import replace_pattern as replace_pattern

CodeGen = _lacking_class("fx.CodeGen")

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
