"""Structures of nested containers: how they are made and written, and trees that go beside others."""

import collections

import pytest

from tandem.utils import _pytree as pytree

Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "spec",
    [
        lambda leaf: pytree.TreeSpec(list, None, [leaf, pytree.TreeSpec(tuple, None, [leaf])]),
        lambda leaf: pytree.TreeSpec(collections.OrderedDict, [1, 2], [leaf, leaf]),
        lambda leaf: pytree.TreeSpec(collections.defaultdict, [list, ["a"]], [leaf]),
        lambda leaf: pytree.TreeSpec(collections.deque, 3, [leaf]),
        lambda leaf: pytree.TreeSpec(collections.namedtuple, Point, [leaf, leaf]),
        lambda leaf: leaf,
    ],
)
def test_structures_are_made_of_lists_and_written_as_text(spec):
    pytree._register_namedtuple(Point, serialized_type_name="test_pytree.Point")
    made = spec(pytree.LeafSpec())
    assert pytree.tree_structure(pytree.tree_unflatten([0] * made.num_leaves, made)) == made
    assert pytree.treespec_loads(pytree.treespec_dumps(made, 1)) == made


def test_structures_that_pytorch_wrote_are_read():
    leaf = '{"type": null, "context": null, "children_spec": []}'
    text = f'[1, {{"type": "builtins.dict", "context": "[\\"a\\"]", "children_spec": [{leaf}]}}]'
    assert pytree.treespec_loads(text) == pytree.tree_structure({"a": 1})
    assert pytree.treespec_dumps(pytree.tree_structure({"a": 1})) == text
    with pytest.raises(TypeError, match="expected a TreeSpec, got str"):
        pytree.treespec_dumps("text")
    with pytest.raises(ValueError, match="Unknown protocol -1"):
        pytree.treespec_dumps(pytree.tree_structure(1), -1)
    with pytest.raises(NotImplementedError, match="no class of containers was registered under the name other"):
        pytree.treespec_loads('[1, {"type": "other", "context": "null", "children_spec": []}]')


def test_registered_containers_are_written_by_name():
    class Box:
        def __init__(self, item, label):
            self.item, self.label = item, label

    def register(cls, **how):
        pytree.register_pytree_node(cls, lambda b: ([b.item], b.label), lambda items, label: Box(*items, label), **how)

    with pytest.raises(ValueError, match="Both to_dumpable_context and from_dumpable_context"):
        register(Box, serialized_type_name="test_pytree.Box", to_dumpable_context=str)
    register(Box, serialized_type_name="test_pytree.Box", to_dumpable_context=str, from_dumpable_context=int)
    spec = pytree.tree_structure(Box(1, 7))
    assert '"context": "7"' in pytree.treespec_dumps(spec)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec

    class Unnamed(Box):
        pass

    register(Unnamed)
    with pytest.raises(NotImplementedError, match="No registered serialization name"):
        pytree.treespec_dumps(pytree.tree_structure(Unnamed(1, 7)))


def test_further_trees_of_a_map_lend_what_lies_at_the_leaves():
    pairs = pytree.tree_map(lambda x, y: (x, y), {"a": 1, "b": [2]}, {"b": [{"c": 3}], "a": (4,)})
    assert pairs == {"a": (1, (4,)), "b": [(2, {"c": 3})]}
    assert pytree.tree_map_with_path(lambda path, x, y: y, [1], [[2, 3]]) == [[2, 3]]
    assert pytree.tree_structure([1, 2]).flatten_up_to([(1, 2), 3]) == [(1, 2), 3]


@pytest.mark.parametrize(
    ("tree", "other", "text"),
    [
        ([1, 2], [1], "arity mismatch; expected 2, but got 1"),
        ([1, 2], (1, 2), "type mismatch"),
        ([[1]], [2], "type mismatch"),
        ({"a": 1}, {"b": 1}, "keys mismatch"),
    ],
)
def test_further_trees_of_a_map_have_its_containers(tree, other, text):
    with pytest.raises(ValueError, match=text):
        pytree.tree_map(lambda x, y: 0, tree, other)


@pytest.mark.parametrize("leaves", [[1], [1, 2, 3]])
def test_leaves_are_as_many_as_the_structure_has(leaves):
    with pytest.raises(
        ValueError, match=f"has length {len(leaves)} but the spec refers to a pytree that holds 2 items"
    ):
        pytree.tree_unflatten(leaves, pytree.tree_structure([0, 0]))
