"""What `help()` shows of the operations: signatures in CPython's text form, docstrings, and the reference page.

A docstring begins with `name($module, input, dim=None)\\n--\\n\\n`, which Python takes off and makes a signature of. A
name with several forms has one signature, which binds what any of them takes. Behind it stands, for each form, what its
record says: summary, types, shapes, dtypes, errors, gradients, an example.
"""

from __future__ import annotations

import ast
import re
import textwrap

from cpp import HEAD
from records import PARAM_TYPES, ByHand, Op, Param, plainness, visible
from stubs import factory_keywords, optional_from, takes_out

WIDTH = 100
OWNERS = {"function": "tandem", "method": "tandem.Tensor", "nn": "tandem.nn.functional"}
OWNERS |= {"linalg": "tandem.linalg", "special": "tandem.special"}
# What stubs call the types that names of the package hide.
STUB_ALIAS = re.compile(r"\b_(int|float|bool|str|dtype|Generator)\b")
DIM_NAMES = re.compile(r"dims?|dim[0-9]|dimension|start_dim|end_dim|source|destination")

# What a parameter without a default is for the forms that lack it.
LEFT_OUT = {"alpha": "1", "inplace": "False", "unbiased": "True"}

SHAPES = {
    "Same": "the result has the shape of `{first}`",
    "Broadcast": "the operands broadcast to the shape of the result",
    "Reduced": "`{first}` without the dims of `dim`{keep}",
    "Scalar": "any; the result is 0-d",
    "Size": "the result has the shape `size`",
}
ACCEPTS = {
    "Any": "any",
    "Number": "any but bool",
    "Floating": "floating-point",
    "Wide": "float32 or float64",
    "Integer": "integers, not bool",
    "Integral": "integers or bool",
}
GIVES = {
    "First": "the result has that of `{first}`",
    "FirstAndIndices": "elements have that of `{first}`, places are int64",
    "Promote": "the result has {theirs}",
    "Float": "the result has {theirs}, for integers and bool the default dtype",
    "Sum": "the result has {theirs}, for integers and bool int64",
    "Bool": "the result is bool",
    "Int64": "the result is int64",
    "Float64": "the result is float64",
}


# Operands of a dtype of their own, whatever the operation.
OPERAND_DTYPES = {"index": "integers", "indices": "integers", "mask": "bools"}


# ---- signatures -----------------------------------------------------------------------------------------------------


def optional(op: Op, p: Param) -> bool:
    """May it be left out? Only if all positional ones behind it may."""
    if p.default is not None:
        return True
    return p.type.endswith("?") and (p.keyword_only or op.params.index(p) >= optional_from(op))


def varargs(op: Op, form: str) -> Param | None:
    """The parameter that signatures show as taken one by one: a list that must be given, of tensors, or of integers
    where nothing but the tensor comes before it. As one list or tuple it is taken too."""
    positional = [p for p in op.params if not p.keyword_only]
    last = positional[-1] if positional else None
    if not last or last.default is not None:
        return None
    first = len(positional) == (2 if form == "method" else 1)
    return last if last.type == "Tensor[]" or (last.type == "int[]" and first) else None


def text_signature(members: list[Op], form: str, inplace: bool = False) -> str:
    """One signature for all forms: positions by the longest, and by keyword what only others have. A position that all
    forms need is needed, whatever they call it."""
    of_method = form == "method"
    lists = [[p for p in o.params if not p.keyword_only] for o in members]
    base = max(members, key=lambda o: (len(lists[members.index(o)]), o.name == o.python))
    positional, keywords, names = [], [], set()
    for i, p in enumerate(lists[members.index(base)]):
        needed = all(i < len(ps) and not optional(o, ps[i]) for o, ps in zip(members, lists))
        names |= {ps[i].name for ps in lists if i < len(ps)} if needed else {p.name}
        if of_method and i == 0:
            continue
        if len(members) == 1 and p is varargs(base, form):
            positional.append("*" + p.name)
        elif needed:
            positional.append(p.name)
        else:
            positional.append(f"{p.name}={left_out(p, members)}")
    for o in members:
        for i, p in enumerate(o.params):
            if p.name not in names and not (of_method and i == 0):
                names.add(p.name)
                always = len(members) == 1 and not optional(o, p)
                keywords.append(p.name if always else f"{p.name}={left_out(p, members)}")
    if any(o.factory for o in members):
        keywords += [f"{k.name}={k.default}" for k in factory_keywords(base)]
    if form not in ("method", "nn") and not inplace and any(takes_out(o) and o.kind != "View" for o in members):
        keywords.append("out=None")
    star = ["*"] if keywords and not any(p.startswith("*") for p in positional) else []
    return ", ".join(["$self" if of_method else "$module", *positional, *star, *keywords])


def left_out(p: Param, members: list[Op]) -> str:
    """The default that a signature shows."""
    same = [q.default for o in members for q in o.params if q.name == p.name and q.default is not None]
    return same[0] if same else LEFT_OUT.get(p.name, "None")


def annotated(op: Op, form: str = "function") -> str:
    """One form with the types of its parameters and result, as in a stub."""
    parts, star = [], False
    for p in op.params:
        if p.keyword_only and not star:
            parts.append("*")
            star = True
        default = p.default if p.default is not None else "None" if optional(op, p) else None
        text = STUB_ALIAS.sub(r"\1", PARAM_TYPES[p.type].stub)
        parts.append(f"{p.name}: {text}" + (f" = {default}" if default is not None else ""))
    if op.factory:
        parts += [*([] if star else ["*"]), "device=None", "requires_grad=False", "..."]
    return f"{op.python}({', '.join(parts)}) -> {result_text(op)}"


def result_text(op: Op) -> str:
    if op.results == "Tensor or Tensor[]":
        return "Tensor or tuple of Tensors"
    if op.results == "Tensor[]":
        return "tuple of Tensors"
    if op.numResults > 1:
        return f"({', '.join(op.fields)})" if op.fields else "(" + ", ".join(["Tensor"] * op.numResults) + ")"
    return "Tensor"


# ---- what the record says -------------------------------------------------------------------------------------------


def tensors(op: Op) -> list[Param]:
    return [p for p in op.params if p.type.startswith(("Tensor", "Operand"))]


def first_tensor(op: Op) -> str:
    plain = [p for p in op.params if p.type == "Tensor"]
    return (plain or tensors(op) or op.params)[0].name


def shapes_text(op: Op) -> str:
    keep = ", which stay as 1 if `keepdim`" if any(p.name == "keepdim" for p in op.params) else ""
    dim = next((p for p in op.params if p.name == "dim"), None)
    keep += "; 0-d without `dim`" if dim and optional(op, dim) and dim.default in (None, "None") else ""
    return SHAPES.get(op.shapes, op.shapes).format_map({"first": first_tensor(op), "keep": keep})


def dtypes_text(op: Op) -> str:
    several = len(tensors(op)) > 1 or any(p.type == "Tensor[]" for p in op.params)
    theirs = "the promoted dtype of the operands" if several else f"that of `{first_tensor(op)}`"
    gives = GIVES.get(op.gives, f"the result has {op.gives}").format(first=first_tensor(op), theirs=theirs)
    if op.kind == "Reduction" and op.types == "Logical":
        gives += ", uint8 for uint8"
    if any(p.name == "dtype" for p in op.params) and not op.factory:
        gives += f"; `{first_tensor(op)}` is converted to `dtype` first, if that is given"
    for p in op.params:
        if p.type == "Tensor" and p.name in OPERAND_DTYPES:
            gives += f"; `{p.name}` holds {OPERAND_DTYPES[p.name]}"
    return f"{ACCEPTS[op.accepts]}; {gives}" if tensors(op) else gives


def errors(op: Op) -> list[tuple[str, str]]:
    """What calls raise, in the order in which arguments are looked at."""
    found = [("TypeError", "an argument is of another type")]
    dims = [p.name for p in op.params if is_dim(p)]
    if dims and first_tensor(op) in [p.name for p in tensors(op)]:
        found.append(("IndexError", " or ".join(f"`{d}`" for d in dims) + " is out of range"))
    if op.accepts != "Any" and tensors(op) and not any("floating-point" in when for _, when, _ in op.raises):
        found.append(("RuntimeError", f"`{first_tensor(op)}` has another dtype"))
    if op.shapes == "Broadcast" and len([p for p in tensors(op) if p.type != "Tensor?"]) > 1:
        found.append(("RuntimeError", "shapes do not broadcast"))
    return found + [(e, when) for e, when, _ in op.raises]


def is_dim(p: Param) -> bool:
    return p.type in ("int", "int?", "dims", "int[]") and bool(DIM_NAMES.fullmatch(p.name))


def paragraph(title: str, text: str) -> list[str]:
    return textwrap.wrap(f"{title}: {text}.", WIDTH, subsequent_indent="    ", break_long_words=False)


def facts(op: Op, form: str) -> list[str]:
    """The lines below the summary, up to the example."""
    lines = []
    if several := varargs(op, form):
        lines += paragraph("Arguments", f"`{several.name}` one by one, or as one list or tuple")
    lines += paragraph("Shapes", shapes_text(op)) + paragraph("Dtypes", dtypes_text(op))
    lines += paragraph("Raises", "; ".join(f"{error} if {when}" for error, when in errors(op)))
    if tensors(op) and not op.factory:
        lines += paragraph("Gradients", "of every order" if op.gradient else "none")
    return lines


def also(members: list[Op], name: str, form: str) -> list[str]:
    """Where else the operation is found."""
    names, op = [], members[0]
    for f, owner in OWNERS.items():
        for n in [op.python, *sorted({a for o in members for a in o.aliases})]:
            if any(f in o.forms for o in members) and (f, n) != (form, name):
                names.append(f"{owner}.{n}")
    if form in OWNERS and any(op.forms != ["inplace"] and {"inplace", "inview"} & set(o.forms) for o in members):
        names.append(f"tandem.Tensor.{op.python}_")
    return paragraph("Also", ", ".join(names)) if names else []


# ---- docstrings -----------------------------------------------------------------------------------------------------


def indented(lines: list[str]) -> list[str]:
    return ["    " + line if line else "" for line in lines]


def body(members: list[Op], name: str, form: str) -> list[str]:
    """Everything behind the signature."""
    several = len(members) > 1
    lines: list[str] = []
    for op in members:
        head = textwrap.wrap(annotated(op), WIDTH, subsequent_indent="        ", break_long_words=False)
        summary = textwrap.wrap(op.summary, WIDTH, break_long_words=False)
        if several:
            text = [*summary, "", *facts(op, form), "", *example_lines(op)]
            lines += [*head, *indented(text), ""]
        else:
            lines += [*summary, "", *indented(head), "", *facts(op, form), *also(members, name, form), ""]
            lines += example_lines(op)
    if several:
        lines += also(members, name, form)
    return lines


def example_lines(op: Op) -> list[str]:
    start = [">>> import tandem.nn.functional as F"] if re.search(r"\bF\.", op.example) else []
    return [*start, *op.example.split("\n")]


def docstring(members: list[Op], name: str, form: str) -> str:
    return "\n".join([f"{name}({text_signature(members, form)})\n--\n", *body(members, name, form)]).rstrip()


def inplace_session(op: Op) -> str:
    """The (first) example with the operation in place, if the result has the dtype of what it is written to."""
    if op.inplace_example:
        return op.inplace_example
    setup = []
    lines = op.example.split("\n")
    for i, line in enumerate(lines):
        code = line.removeprefix(">>> ")
        call = ast.parse(code).body[0]
        if not isinstance(call, ast.Expr) or not isinstance(call.value, ast.Call):
            setup.append(line)
            continue
        args = call.value.args
        receiver = ast.get_source_segment(code, args[0])
        rest = [ast.get_source_segment(code, a) for a in args[1:]]
        rest += [f"{k.arg}={ast.get_source_segment(code, k.value)}" for k in call.value.keywords]
        output = []
        for following in lines[i + 1 :]:
            if following.startswith(">>> "):
                break
            output.append(following)
        return "\n".join([*setup, f">>> {receiver}.{op.python}_({', '.join(rest)})", *output])
    return ""


def inplace_docstring(members: list[Op], name: str, form: str) -> str:
    """Of `name_`; `form` is method or nn."""
    op = members[0]
    where = "tandem.nn.functional" if "nn" in op.forms and "function" not in op.forms else "tandem"
    where = where if "nn" in op.forms or "function" in op.forms else "tandem.Tensor"
    if "inview" in op.forms or only_in_place(op):
        summary = f"The tensor made the view of itself that {where}.{op.python} gives, history included, and returned."
        lines = [
            f"{name}_({text_signature(members, form, inplace=True)})\n--\n",
            summary if "inview" in op.forms else op.summary,
            "",
            *paragraph("Shapes", shapes_text(op)),
            *paragraph("Dtypes", "the tensor keeps its own"),
            *paragraph("Raises", "; ".join(f"{error} if {when}" for error, when in errors(op))),
            "",
            *inplace_session(op).split("\n"),
        ]
        return "\n".join(lines).rstrip()
    lines = [
        f"{name}_({text_signature(members, form, inplace=True)})\n--\n",
        f"`{op.python}` written into the tensor, which is returned: see {where}.{op.python}.",
        "",
        *paragraph("Shapes", "the result has the shape of the tensor"),
        *paragraph("Dtypes", "the tensor keeps its own; the result is converted to it"),
        *paragraph(
            "Raises",
            "TypeError if an argument is of another type; RuntimeError if the result has another shape, or a dtype of "
            "a higher category (bool, integer, floating-point), or the tensor is a leaf that requires a gradient",
        ),
        "",
        *inplace_session(op).split("\n"),
    ]
    return "\n".join(lines).rstrip()


def literal(text: str) -> str:
    """As a C++ string literal."""
    return f'R"doc({text})doc"'


def by_hand_docs(ops: list[Op], by_hand: list[ByHand]) -> str:
    """Constants doc::OWNER_NAME."""
    lines = [HEAD]
    for b in by_hand:
        receiver = "$self" if b.owner == "method" else "$module"
        signature = f"{b.name}({', '.join(filter(None, [receiver, b.params]))})\n--\n\n"
        text = b.text if b.owner == "property" else signature + b.text
        lines.append(f"inline constexpr char {b.owner}_{b.name}[] = {literal(text)};\n")
    return "".join(lines)


# ---- the reference page ---------------------------------------------------------------------------------------------


def only_in_place(op: Op) -> bool:
    return not any(form in OWNERS for form in op.forms)


def namespace(op: Op) -> str:
    """The owner under whose name the page lists a record."""
    return OWNERS[next((form for form in OWNERS if form in op.forms), "method")]


def reference(ops: list[Op], by_hand: list[ByHand]) -> str:
    groups = {
        (namespace(op), op.python + "_" * only_in_place(op)): [op] * only_in_place(op) for op in ops if visible(op)
    }
    for (owner, name), members in groups.items():
        members += [o for o in ops if o.python == name and any(OWNERS.get(f) == owner for f in o.forms)]
    out = ["# Operations", "", "Generated from the records in `ir/ops`.", ""]
    for (owner, name), members in sorted(groups.items()):
        members.sort(key=plainness)
        form = next(f for f in OWNERS if OWNERS[f] == owner)
        out += [f"## `{owner}.{name}({without_receiver(text_signature(members, form))})`", ""]
        for op in members:
            out += [f"`{annotated(op)}`", ""] if len(members) > 1 else []
            out += [op.summary, ""]
            out += [f"- {line}" if not line.startswith("    ") else f"  {line.strip()}" for line in facts(op, form)]
            out += ["", "```python", *example_lines(op), "```", ""]
        found = also(members, name, form)
        out += [*found, ""] if found else []
    out += ["# What is bound by hand", ""]
    for b in by_hand:
        text, _, session = b.text.partition("\n\n>>> ")
        owner = "tandem" if b.owner == "function" else "tandem.Tensor"
        if (owner, b.name) in groups:
            continue
        call = "" if b.owner == "property" else f"({b.params})"
        out += [f"## `{owner}.{b.name}{call}`", "", text, "", "```python", f">>> {session}", "```", ""]
    return "\n".join(out)


def without_receiver(signature: str) -> str:
    return signature.partition(", ")[2]
