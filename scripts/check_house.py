"""The rules of the tree, checked: who may include whom, one name for a pass, its file and its test, no file too long,
nothing generated committed. Prints each breach and exits 1 if there is one. Run from anywhere."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 600
MAX_COLUMNS = 120  # of records; formatters see to the rest
MAX_GENERATOR = 1000  # lines of ir/opgen
# What only these C++ files may say: each is the one place of a list or a choice.
ONLY_IN = {
    "the instruction set": (r"__builtin_cpu_supports|target_clones|TANDEM_ISA\"", {"runtime/device/isa.cpp"}),
    "the names of devices": (r'"xpu"', {"runtime/device/device.cpp"}),
    "classes of errors": (r"class \w+ : public Error\b", {"runtime/base/error.h", "python/src/errors.h"}),
    "a hash": (r"struct Hash\d+\b", {"runtime/base/hash.h"}),
}

# Folder → the folders its files may include from. The longest matching folder is the one that counts.
MAY_INCLUDE = {
    "runtime/base": {"runtime/base"},
    "runtime": {"runtime"},
    "ir/schema": {"ir/schema", "runtime/base"},
    "ir/trace": {"ir/trace", "ir/schema", "runtime/base", "runtime/plan"},
    "ir/dialect": {"ir", "runtime/base"},
    "eager": {"eager", "runtime", "ir/schema"},
    "autograd": {"autograd", "eager", "runtime", "ir/schema"},
    "lazy": {"lazy", "autograd", "eager", "runtime", "ir/schema", "ir/trace"},
    "python": {"python", "lazy", "autograd", "eager", "runtime", "ir/schema", "ir/trace"},
    "python/gloo": {"python/gloo"},
    "codegen": {"codegen", "ir", "runtime/kernel", "runtime/base", "runtime/device", "runtime/plan"},
    "passes": {"passes", "ir", "codegen", "runtime/base", "runtime/plan", "runtime/kernel", "runtime/device"},
}
# Who may know the CPU, and not only its executor: the CPU's own files, and the launch that goes there straight.
CPU = "runtime/device/cpu"
MAY_KNOW_CPU = (CPU, "runtime/device/launch.h", "codegen/cpu", "tests/unit", "tests/emulation")
# Who may know GPUs: the plug-in, of which the core links nothing, and who writes kernels for its launches. Texts of
# kernels (*.cu) are also read by functions of the CPU that have the same bits.
CUDA = ("runtime/device/cuda", "runtime/lib/cuda")
MAY_KNOW_CUDA = (*CUDA, "codegen/cuda", "tests")
COMPILER_FOLDERS = ("ir/dialect/", "passes/", "codegen/", "tools/", "tests/")
FOLDERS = {folder.split("/")[0] for folder in MAY_INCLUDE}
GLOO_FOLDERS = ("python/gloo/",)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)
COMPILER_HEADER = re.compile(r"(mlir|llvm|mlir-c|llvm-c|clang)/")
GENERATED = re.compile(r"\.(o|so|a|inc|pyc|whl|gz|cubin)$|^build/")


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def check_includes(path, text):
    home = max((folder for folder in MAY_INCLUDE if within(path, folder)), key=len, default=None)
    for header in INCLUDE.findall(text):
        if COMPILER_HEADER.match(header):
            if not path.startswith(COMPILER_FOLDERS):
                yield f"{path} includes {header}: compiler headers stay in {', '.join(COMPILER_FOLDERS)}"
        elif header.startswith("gloo/") and not path.startswith(GLOO_FOLDERS):
            yield f"{path} includes {header}: Gloo's headers stay in {', '.join(GLOO_FOLDERS)}"
        elif header.startswith("."):
            yield f"{path} includes {header}: write includes from the root"
        elif home and header.split("/")[0] in FOLDERS and not any(within(header, f) for f in MAY_INCLUDE[home]):
            yield f"{path} includes {header}: {home}/ may include only {', '.join(sorted(MAY_INCLUDE[home]))}"
        elif within(header, CPU) and not any(within(path, f) for f in MAY_KNOW_CPU):
            yield f"{path} includes {header}: only {', '.join(MAY_KNOW_CPU)} may know the CPU"
        elif (
            header.endswith(".h")
            and any(within(header, f) for f in CUDA)
            and not any(within(path, f) for f in MAY_KNOW_CUDA)
        ):
            yield f"{path} includes {header}: only {', '.join(MAY_KNOW_CUDA)} may know GPUs"


def check_passes(tracked):
    """Each pass is passes/<name>.cpp, is listed in the pipeline and has tests/passes/<name>.mlir."""
    pipeline = ROOT / "passes/pipeline.cpp"
    listed = pipeline.read_text().replace("_", "").lower() if pipeline.exists() else ""
    for path in sorted(p for p in tracked if re.fullmatch(r"passes/\w+\.cpp", p)):
        name = Path(path).stem
        if name == "pipeline" or not re.search(
            r"\bPassWrapper<|:\s*(public\s+)?\w*Pass\w*\s*\{", (ROOT / path).read_text()
        ):
            continue
        if name.replace("_", "") not in listed:
            yield f"{path} is not listed in passes/pipeline.cpp"
        if f"tests/passes/{name}.mlir" not in tracked:
            yield f"tests/passes/{name}.mlir is missing"


def check_facts(path, text, operations):
    """Passes ask the op table what an operation is, never which; what is listed once is listed where it should be."""
    if path.startswith("passes/"):
        for found in re.findall(r"\bOpCode::\w+|\bfindOp\(", text):
            yield f"{path} says {found}: ask a fact of the op table (a kind, a role)"
        for name in set(re.findall(r'[!=]= "(\w+)"', text)) & operations:
            yield f"{path} tests for `{name}` by name: ask a fact of the op table"
    for what, (pattern, places) in ONLY_IN.items():
        if path not in places and not path.startswith("tests/") and re.search(pattern, text):
            yield f"{path} says {what}, which is the business of {', '.join(sorted(places))}"


def check_records(path, text, order):
    """Lines that fit, and one stanza an operation with its fields in the order of ir/facets.td."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_COLUMNS:
            yield f"{path}:{number} has {len(line)} columns (at most {MAX_COLUMNS})"
    for stanza in re.findall(r"^(?:def|class) .*?(?:;|^\})$", text, re.M | re.S):
        name = re.search(r'^class (\w+)|"([\w?\[\]]+)"', stanza)
        name = name[1] or name[2]
        if path.startswith("ir/ops/") and stanza.startswith("def ") and not stanza.startswith("def : "):
            yield f"{path}: {name} has a second name, `{stanza.split()[1]}`: write `def :`"
        fields = re.findall(r"^  let (\w+) =", stanza, re.M)
        if fields != sorted(fields, key=order.index):
            yield f"{path}: the fields of {name} are in another order than in ir/facets.td: {', '.join(fields)}"
        if "{ let " in stanza and path != "ir/facets.td":
            yield f"{path}: {name} has fields behind its brace: one line each"


def breaches():
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    tracked = {name for name in names if (ROOT / name).is_file()}
    facets = (ROOT / "ir/facets.td").read_text()
    order = re.findall(r"^  (?:\w+|list<\w+>) (\w+) =", facets[facets.index("class Op<") :], re.M)
    records = "".join((ROOT / p).read_text() for p in tracked if p.startswith("ir/ops/"))
    operations = set(re.findall(r'^def : (?!ByHand)\w+<"(\w+)"', records, re.M))
    generator = sum((ROOT / p).read_text().count("\n") for p in tracked if re.fullmatch(r"ir/opgen/\w+\.py", p))
    if generator > MAX_GENERATOR:
        yield f"ir/opgen has {generator} lines (at most {MAX_GENERATOR})"
    for path in sorted(tracked):
        if GENERATED.search(path):
            yield f"{path} is built or fetched, and does not belong in the tree"
        if not path.endswith((".h", ".cpp", ".py", ".td")):
            continue
        text = (ROOT / path).read_text()
        if text.count("\n") > MAX_LINES:
            yield f"{path} has {text.count(chr(10))} lines: split it (at most {MAX_LINES})"
        if path.endswith((".h", ".cpp")):
            yield from check_includes(path, text)
            yield from check_facts(path, text, operations)
        if path.endswith(".td") and path.startswith("ir/") and not path.startswith("ir/dialect/"):
            yield from check_records(path, text, order)
    yield from check_passes(tracked)


def main():
    found = list(breaches())
    for breach in found:
        print(breach)
    print(f"house rules: {len(found)} broken" if found else "house rules: all hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
