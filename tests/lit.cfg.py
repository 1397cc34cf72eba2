# The lit tests of the dialect, the passes and generated code: `lit --param build=<build directory> tests`.
import os
import shutil

import lit.formats

config.name = "tandem"
config.test_format = lit.formats.ShTest(False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)

build = os.path.abspath(lit_config.params.get("build", os.path.join(config.test_source_root, "..", "build")))
config.test_exec_root = os.path.join(build, "lit")
config.environment["PATH"] = os.pathsep.join([os.path.join(build, "bin"), os.environ["PATH"]])
filecheck = shutil.which("FileCheck-22") or shutil.which("FileCheck") or "/usr/lib/llvm-22/bin/FileCheck"
config.substitutions.append(("FileCheck", filecheck))
