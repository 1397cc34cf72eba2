# Tests of IR, passes and code generation: `lit --param build=BUILD tests/passes`. RUN lines find td-opt of that
# build and FileCheck on their path.
import os
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parent.parent
build = Path(lit_config.params.get("build", root / "build/release"))
tool = next((path for path in build.rglob("td-opt") if path.is_file()), None)
if tool is None:
    lit_config.fatal(f"no td-opt in {build}: build it first (make build)")

config.name = "tandem"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".td", ".test"]
config.test_source_root = str(root / "tests")
config.test_exec_root = str(build / "lit")
config.environment["PATH"] = os.pathsep.join([str(tool.parent), "/usr/lib/llvm-22/bin", os.environ.get("PATH", "")])
