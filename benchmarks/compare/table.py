"""The measurements as one markdown table with ratios."""

COLUMNS = (
    ("tandem", "eager", "Tandem eager"),
    ("tandem", "compiled", "Tandem compiled"),
    ("torch", "eager", "PyTorch eager"),
    ("torch", "compiled", "PyTorch compiled"),
    ("jax", "compiled", "JAX"),
    ("numpy", "eager", "NumPy"),
)
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}


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
    """`cases`: (title, {row: (text, unit)}); `results`: {row: {(library, mode): seconds}}."""
    head = ["what", *(title for _, _, title in COLUMNS), "PyTorch/Tandem", "JAX/Tandem", "NumPy/Tandem"]
    lines = [f"| {' | '.join(head)} |", "| --- |" + " ---: |" * (len(head) - 1)]
    for title, rows in cases:
        lines.append(f"| **{title}** |" + " |" * (len(head) - 1))
        for row, (text, unit) in rows.items():
            values = results.get(row, {})
            cells = [figure(values[c[:2]] / UNITS[unit] if c[:2] in values else None) for c in COLUMNS]
            ratios = [ratio(values, peer) for peer in ("torch", "jax", "numpy")]
            lines.append(f"| {text}, {unit} | {' | '.join(cells + ratios)} |")
    return "\n".join(lines)
