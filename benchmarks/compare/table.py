"""The measurements as one markdown table with ratios."""

COLUMNS = (
    ("tandem", "eager", "Tandem eager"),
    ("tandem", "compiled", "Tandem compiled"),
    ("tandem", "saved", "Tandem saved"),
    ("torch", "eager", "PyTorch eager"),
    ("torch", "compiled", "PyTorch compiled"),
    ("torch", "saved", "AOTInductor"),
    ("onnxruntime", "saved", "ONNX Runtime"),
    ("jax", "compiled", "JAX"),
    ("numpy", "eager", "NumPy"),
)
PEERS = {"torch": "PyTorch", "onnxruntime": "ONNX Runtime", "jax": "JAX", "numpy": "NumPy"}
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "MB": 1e6, "x": 1}


def figure(value):
    return "–" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def best(values, library):
    found = [seconds for (name, _), seconds in values.items() if name == library]
    return min(found) if found else None


def ratio(values, peer):
    """The peer's best time over Tandem's best: above 1, Tandem is faster."""
    ours, theirs = best(values, "tandem"), best(values, peer)
    return "–" if ours is None or theirs is None else f"{theirs / ours:.2f}×"


def markdown(cases, results):
    """`cases`: (title, {row: (text, unit)}); `results`: {row: {(library, mode): seconds}}. Columns that nothing was
    measured for are left out."""
    measured = {key for values in results.values() for key in values}
    columns = [c for c in COLUMNS if c[:2] in measured]
    peers = [peer for peer in PEERS if any(library == peer for library, _ in measured)]
    head = ["what", *(title for _, _, title in columns), *(f"{PEERS[peer]}/Tandem" for peer in peers)]
    lines = [f"| {' | '.join(head)} |", "| --- |" + " ---: |" * (len(head) - 1)]
    for title, rows in cases:
        lines.append(f"| **{title}** |" + " |" * (len(head) - 1))
        for row, (text, unit) in rows.items():
            values = results.get(row, {})
            cells = [figure(values[c[:2]] / UNITS[unit] if c[:2] in values else None) for c in columns]
            ratios = [ratio(values, peer) for peer in peers]
            lines.append(f"| {text}, {unit} | {' | '.join(cells + ratios)} |")
    return "\n".join(lines)
