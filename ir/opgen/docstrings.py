"""What `help()` shows of the operations: signatures in CPython's text form and docstrings.

A docstring begins with `name($module, input, dim=None)\\n--\\n\\n`, which Python takes off and makes a signature of. A
name with several forms has one signature, which binds what any of them takes. Behind it stands, for each form, what its
record says: summary, types, shapes, dtypes, errors, gradients, an example.
"""

from __future__ import annotations

import ast
import re
import textwrap

from cpp import HEAD
from records import Op, Param, Records
from stubs import factory_keywords, parameter

WIDTH = 100
OWNERS = {"function": "tandem", "method": "tandem.Tensor", "nn": "tandem.nn.functional"}
OWNERS |= {"linalg": "tandem.linalg", "special": "tandem.special"}
# What stubs call the types that names of the package hide.
STUB_ALIAS = re.compile(r"\b_(int|float|bool|str|dtype|Generator)\b")
DIM_NAMES = re.compile(r"dims?|dim[0-9]|dimension|start_dim|end_dim|source|destination")
# What a parameter without a default is for the forms that lack it.
LEFT_OUT = {"alpha": "1", "inplace": "False", "unbiased": "True"}
# Operands of a dtype of their own, whatever the operation.
OPERAND_DTYPES = {"index": "integers", "indices": "integers", "mask": "bools"}


def varargs(op: Op, form: str) -> Param | None:
    """The parameter that signatures show as taken one by one: a list that must be given, of tensors, or of integers
    where nothing but the tensor comes before it. As one list or tuple it is taken too."""
    last = op.positional[-1] if op.positional else None
    first = len(op.positional) == (2 if form == "method" else 1)
    return last if last and last.default is None and (op.oneByOne or (first and last.type == "int[]")) else None


def text_signature(records: Records, members: list[Op], form: str, inplace: bool = False) -> str:
    """One signature for all forms: positions by the longest, and by keyword what only others have. A position that all
    forms need is needed, whatever they call it."""
    receiver = form == "method"
    base = max(members, key=lambda o: (len(o.positional), o.name == o.python))
    taken, keywords, names = [], [], set()
    for i, p in enumerate(base.positional):
        at = [o.positional[i] if i < len(o.positional) else None for o in members]
        needed = all(q and not o.optional(q) for o, q in zip(members, at))
        names |= {q.name for q in at if q} if needed else {p.name}
        star = len(members) == 1 and p is varargs(base, form)
        taken.append("*" + p.name if star else p.name if needed else f"{p.name}={left_out(p, members)}")
    for o in members:
        for p in o.params[receiver:]:
            if p.name not in names:
                names.add(p.name)
                always = len(members) == 1 and not o.optional(p)
                keywords.append(p.name if always else f"{p.name}={left_out(p, members)}")
    keywords += [f"{k.name}={k.default}" for k in factory_keywords(records, base)]
    if not inplace and any(o.takes_out(form) for o in members):
        keywords.append("out=None")
    star = ["*"] if keywords and not any(p.startswith("*") for p in taken) else []
    return ", ".join(["$self" if receiver else "$module", *taken[receiver:], *star, *keywords])


def left_out(p: Param, members: list[Op]) -> str:
    """The default that a signature shows."""
    same = [q.default for o in members for q in o.params if q.name == p.name and q.default is not None]
    return same[0] if same else LEFT_OUT.get(p.name, "None")


def annotated(op: Op) -> str:
    """One form with the types of its parameters and result, as in a stub."""
    keywords = [parameter(op, p) for p in op.params if p.keyword_only]
    keywords += ["device=None", "requires_grad=False", "..."] * bool(op.factory)
    parts = [*(parameter(op, p) for p in op.positional), *["*"] * bool(keywords), *keywords]
    result = {"Tensor or Tensor[]": "Tensor or tuple of Tensors", "Tensor[]": "tuple of Tensors"}.get(op.results)
    several = f"({', '.join(op.fields or ['Tensor'] * op.numResults)})" if op.numResults > 1 else "Tensor"
    return STUB_ALIAS.sub(r"\1", f"{op.python}({', '.join(parts)}) -> {result or several}")


def tensors(op: Op) -> list[Param]:
    return [p for p in op.params if p.type.startswith(("Tensor", "Operand"))]


def first_tensor(op: Op) -> str:
    return next((p for p in op.params if p.type == "Tensor"), (tensors(op) or op.params)[0]).name


def dims(op: Op) -> list[Param]:
    return [p for p in op.params if p.type in ("int", "int?", "dim", "dims", "int[]") and DIM_NAMES.fullmatch(p.name)]


def shapes_text(records: Records, op: Op) -> str:
    keep = ", which stay as 1 if `keepdim`" if any(p.name == "keepdim" for p in op.params) else ""
    if any(p.name == "dim" and op.optional(p) and p.default in (None, "None") for p in op.params):
        keep += "; 0-d without `dim`"
    return records.wording.get(("shapes", op.shapes), op.shapes).format_map({"first": first_tensor(op), "keep": keep})


def dtypes_text(records: Records, op: Op) -> str:
    first = first_tensor(op)
    several = len(tensors(op)) > 1 or any(p.type == "Tensor[]" for p in op.params)
    theirs = "the promoted dtype of the operands" if several else f"that of `{first}`"
    gives = records.wording.get(("gives", op.gives), f"the result has {op.gives}").format(first=first, theirs=theirs)
    if op.kind == "Reduction" and op.types == "Logical":
        gives += ", uint8 for uint8"
    if any(p.name == "dtype" for p in op.params) and not op.factory:
        gives += f"; `{first}` is converted to `dtype` first, if that is given"
    for p in op.params:
        if p.type == "Tensor" and p.name in OPERAND_DTYPES:
            gives += f"; `{p.name}` holds {OPERAND_DTYPES[p.name]}"
    return f"{records.wording['accepts', op.accepts]}; {gives}" if tensors(op) else gives


def errors_text(op: Op) -> str:
    """What calls raise, in the order in which arguments are looked at."""
    found = ["TypeError if an argument is of another type"]
    own = tensors(op)
    if dims(op) and first_tensor(op) in [p.name for p in own]:
        found.append("IndexError if " + " or ".join(f"`{p.name}`" for p in dims(op)) + " is out of range")
    if op.accepts != "Any" and own and not any("floating-point" in when for _, when, _ in op.raises):
        found.append(f"RuntimeError if `{first_tensor(op)}` has another dtype")
    if op.shapes == "Broadcast" and len([p for p in own if p.type != "Tensor?"]) > 1:
        found.append("RuntimeError if shapes do not broadcast")
    return "; ".join(found + [f"{error} if {when}" for error, when, _ in op.raises])


def paragraph(title: str, text: str) -> list[str]:
    return textwrap.wrap(f"{title}: {text}.", WIDTH, subsequent_indent="    ", break_long_words=False)


def facts(records: Records, op: Op, form: str) -> list[str]:
    """The lines below the summary, up to the example."""
    several = varargs(op, form)
    lines = paragraph("Arguments", f"`{several.name}` one by one, or as one list or tuple") if several else []
    lines += paragraph("Shapes", shapes_text(records, op)) + paragraph("Dtypes", dtypes_text(records, op))
    lines += paragraph("Raises", errors_text(op))
    if tensors(op) and not op.factory:
        lines += paragraph("Gradients", "of every order" if op.gradient else "none")
    return lines


def also(members: list[Op], name: str, form: str) -> list[str]:
    """Where else the operation is found."""
    python, aliases = members[0].python, sorted({a for o in members for a in o.aliases})
    forms = [f for f in OWNERS if any(f in o.forms for o in members)]
    names = [f"{OWNERS[f]}.{n}" for f in forms for n in [python, *aliases] if (f, n) != (form, name)]
    if any(op.forms != ["inplace"] and {"inplace", "inview"} & set(op.forms) for op in members):
        names.append(f"tandem.Tensor.{python}_")
    return paragraph("Also", ", ".join(names)) if names else []


def example_lines(op: Op) -> list[str]:
    start = [">>> import tandem.nn.functional as F"] if re.search(r"\bF\.", op.example) else []
    return [*start, *op.example.split("\n")]


def docstring(records: Records, members: list[Op], name: str, form: str) -> str:
    lines = [f"{name}({text_signature(records, members, form)})\n--\n"]
    for op in members:
        head = textwrap.wrap(annotated(op), WIDTH, subsequent_indent="        ", break_long_words=False)
        summary = textwrap.wrap(op.summary, WIDTH, break_long_words=False)
        said = [*facts(records, op, form), *(also(members, name, form) if len(members) == 1 else [])]
        if len(members) == 1:
            lines += [*summary, "", *("    " + line for line in head), "", *said, "", *example_lines(op)]
        else:
            text = [*summary, "", *said, "", *example_lines(op)]
            lines += [*head, *("    " + line if line else "" for line in text), ""]
    return "\n".join(lines + (also(members, name, form) if len(members) > 1 else [])).rstrip()


def inplace_session(op: Op) -> list[str]:
    """The (first) example with the operation in place, if the result has the dtype of what it is written to."""
    if op.inplace_example:
        return op.inplace_example.split("\n")
    setup: list[str] = []
    lines = op.example.split("\n")
    for i, line in enumerate(lines):
        code = line.removeprefix(">>> ")
        call = ast.parse(code).body[0]
        if isinstance(call, ast.Expr) and isinstance(call.value, ast.Call):
            receiver, *rest = [ast.get_source_segment(code, a) or "" for a in call.value.args]
            rest += [f"{k.arg}={ast.get_source_segment(code, k.value)}" for k in call.value.keywords]
            printed = "\n".join(lines[i + 1 :]).split("\n>>> ")[0]
            printed = "" if printed.startswith(">>> ") else printed
            return [*setup, f">>> {receiver}.{op.python}_({', '.join(rest)})", *filter(None, printed.split("\n"))]
        setup.append(line)
    return [""]


def inplace_docstring(records: Records, members: list[Op], name: str, form: str) -> str:
    """Of `name_`; `form` is method or nn."""
    op = members[0]
    public = {"nn", "function"} & set(op.forms)
    where = "tandem.nn.functional" if public == {"nn"} else "tandem" if public else "tandem.Tensor"
    shapes, dtypes, raises = shapes_text(records, op), "the tensor keeps its own", errors_text(op)
    summary = op.summary
    if "inview" in op.forms:
        summary = f"The tensor made the view of itself that {where}.{op.python} gives, history included, and returned."
    elif set(OWNERS) & set(op.forms):
        summary = f"`{op.python}` written into the tensor, which is returned: see {where}.{op.python}."
        shapes, dtypes = "the result has the shape of the tensor", f"{dtypes}; the result is converted to it"
        raises = (
            "TypeError if an argument is of another type; RuntimeError if the result has another shape, or a dtype of "
            "a higher category (bool, integer, floating-point), or the tensor is a leaf that requires a gradient"
        )
    lines = [f"{name}_({text_signature(records, members, form, inplace=True)})\n--\n", summary, ""]
    lines += paragraph("Shapes", shapes) + paragraph("Dtypes", dtypes) + paragraph("Raises", raises)
    return "\n".join([*lines, "", *inplace_session(op)]).rstrip()


def literal(text: str) -> str:
    """As a C++ string literal."""
    return f'R"doc({text})doc"'


def by_hand_docs(records: Records) -> str:
    """Constants doc::OWNER_NAME."""
    lines = [HEAD]
    for b in records.by_hand:
        params = ", ".join(filter(None, ["$self" if b.owner == "method" else "$module", b.params]))
        signature = "" if b.owner == "property" else f"{b.name}({params})\n--\n\n"
        text = literal(signature + b.text.strip("\n"))
        lines.append(f"inline constexpr char {b.owner}_{b.name}[] = {text};\n")
    return "".join(lines)
