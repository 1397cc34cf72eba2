"""Schemas of operations of `tandem.library`, `name(Tensor x, int n=1) -> Tensor`: read, and made of annotations."""

from __future__ import annotations

import ast
import collections.abc
import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

import tandem

__all__ = ["Schema", "infer_schema", "read_schema"]


@dataclasses.dataclass(frozen=True)
class Schema:
    """What a schema says of the arguments."""

    name: str
    signature: inspect.Signature
    types: dict[str, str]  # of the arguments, without marks of writes
    mutates: tuple[str, ...]

    @property
    def takes_tensors(self) -> bool:
        """Is there an argument of tensors?"""
        return any(t.startswith("Tensor") for t in self.types.values())

    @property
    def keyword_tensors(self) -> bool:
        """Are there tensors among the arguments that are keywords only?"""
        only = (p.name for p in self.signature.parameters.values() if p.kind is p.KEYWORD_ONLY)
        return any(self.types[name].startswith("Tensor") for name in only)


def _split(text: str) -> list[str]:
    """The parts between commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in [*parts, text[start:]] if p.strip()]


def _default(text: str, kind: str) -> Any:
    if kind.startswith("ScalarType") and isinstance(dtype := getattr(tandem, text, None), tandem.dtype):
        return dtype
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return tandem.device(value) if kind.startswith("Device") and isinstance(value, str) else value


def read_schema(text: str) -> Schema:
    """What a schema says; RuntimeError for a text that is none."""
    match = re.fullmatch(r"\s*([\w:.]*)\s*\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if match is None:
        raise RuntimeError(f"expected a schema 'name(arguments) -> results', got '{text}'")
    parameters, kinds, mutates = [], {}, []
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for part in _split(match[2]):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        argument = re.fullmatch(r"(.+?)\s+(\w+)(?:\s*=\s*(.+))?", part, re.DOTALL)
        if argument is None:
            raise RuntimeError(f"expected 'type name' or 'type name=default', got '{part}' in the schema '{text}'")
        kinds[argument[2]] = re.sub(r"\(.*?\)", "", argument[1])
        if "!" in argument[1]:
            mutates.append(argument[2])
        default = inspect.Parameter.empty if argument[3] is None else _default(argument[3], kinds[argument[2]])
        parameters.append(inspect.Parameter(argument[2], kind, default=default))
    # Arguments without a default may come after others in a schema; Python's signatures cannot say so.
    seen = False
    for i, p in enumerate(parameters):
        if p.kind is not p.KEYWORD_ONLY:
            seen = seen or p.default is not p.empty
            parameters[i] = p.replace(default=None) if seen and p.default is p.empty else p
    return Schema(match[1], inspect.Signature(parameters), kinds, tuple(mutates))


def _type_text(annotation: Any) -> str | None:
    """The name of a type in schemas; None for one that they do not have."""
    plain = {
        tandem.Tensor: "Tensor",
        int: "SymInt",
        float: "float",
        bool: "bool",
        str: "str",
        tandem.dtype: "ScalarType",
        tandem.device: "Device",
    }
    if isinstance(annotation, type) and annotation in plain:
        return plain[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        if set(arguments) == {int, float, bool}:
            return "Scalar"
        rest = [a for a in arguments if a is not type(None)]
        if len(rest) == len(arguments):
            return None
        inner = _type_text(typing.Union[tuple(rest)])  # noqa: UP007 - of types that are known when it runs
        return None if inner is None else f"{inner}?"
    if origin in (list, collections.abc.Sequence) and len(arguments) == 1:
        inner = _type_text(arguments[0])
        return None if inner is None else f"{inner}[]"
    return None


def _default_text(value: Any) -> str | None:
    """How a schema writes a default; None for one that it cannot write."""
    if value is None or isinstance(value, int | float):
        return str(value)
    if isinstance(value, str | tandem.device):
        return f'"{value}"'
    return str(value).rpartition(".")[2] if isinstance(value, tandem.dtype) else None


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Any = (),
) -> str:
    """The schema of a function, from its annotations: of tensors, numbers, text, dtypes, devices, lists and optionals.

    `mutates_args` names the arguments that the function writes to, or is "unknown" for all tensors.

    >>> import tandem
    >>> def scaled(x: tandem.Tensor, factor: float = 2.0) -> tandem.Tensor:
    ...     return x * factor
    >>> tandem.library.infer_schema(scaled, mutates_args=(), op_name="scaled")
    'scaled(Tensor x, float factor=2.0) -> Tensor'

    Raises:
        ValueError: a parameter or the result has no annotation or one that schemas do not have, is of another kind than
            by place and name, or `mutates_args` names what is no argument of tensors.
    """
    signature = inspect.signature(prototype_function)

    def fail(what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature}")

    def known(annotation: Any) -> Any:
        if not isinstance(annotation, str):
            return annotation
        try:
            return eval(annotation, getattr(prototype_function, "__globals__", {}))
        except Exception as e:
            fail(f"Unsupported type annotation {annotation}. It is not a type ({type(e).__name__}: {e}).")

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
            "'unknown'."
        )
    written = None if isinstance(mutates_args, str) else tuple(mutates_args)
    texts: list[str] = []
    for i, (name, p) in enumerate(signature.parameters.items()):
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if p.kind is p.KEYWORD_ONLY and "*" not in texts:
            texts.append("*")
        if p.annotation is p.empty:
            fail(f"Parameter {name} must have a type annotation.")
        text = _type_text(known(p.annotation))
        if text is None:
            fail(f"Parameter {name} has unsupported type {p.annotation}.")
        if written is not None and name in written and not text.startswith("Tensor"):
            fail(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated.")
        if text.startswith("Tensor") and (written is None or name in written):
            text = f"Tensor(a{i}!){text.removeprefix('Tensor')}"
        default = "" if p.default is p.empty else _default_text(p.default)
        if default is None:
            fail(f"Parameter {name} has an unsupported default value type {type(p.default)}.")
        texts.append(f"{text} {name}={default}" if default else f"{text} {name}")
    if unknown := set(written or ()) - set(signature.parameters):
        fail(f"{unknown} in mutates_args were not found in the custom op's signature.")
    if signature.return_annotation is signature.empty:
        fail("No return type annotation was provided. Please add one.")
    result = known(signature.return_annotation)
    parts = typing.get_args(result) if typing.get_origin(result) is tuple else (result,)
    names = [] if result is None else [_type_text(part) for part in parts]
    if any(name is None or "?" in name for name in names):
        fail(f"Return has unsupported type {signature.return_annotation}.")
    given = str(names[0]) if result is not None and parts == (result,) else f"({', '.join(map(str, names))})"
    return f"{op_name or ''}({', '.join(texts)}) -> {given}"
