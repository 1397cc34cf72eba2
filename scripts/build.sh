#!/usr/bin/env bash
# Configures and builds one preset (default: release) and puts the package's compiled parts into python/tandem.
# More ninja targets than the default ones may follow the preset's name.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
jobs=${JOBS:-$(n=$(nproc); echo $((n < 3 ? n : 3)))}
build=build/$preset
if [ ! -f "$build/build.ninja" ]; then
  cmake --preset "$preset" -DPython3_EXECUTABLE="$PWD/.venv/bin/python"
fi
NINJA_STATUS='[%f/%t %es] ' ninja -C "$build" -j "$jobs" all "${@:2}"
cmake --install "$build" --component python --prefix python | { grep -v -E 'Up-to-date|Install configuration' || true; }
# The shipped kernel cache belongs to one build of the compiler.
if [ "$preset" = release ] && [ ! python/tandem/kernels/made -nt python/tandem/libtandem_compiler.so ]; then
  .venv/bin/python scripts/ship_kernels.py python/tandem/kernels
  touch python/tandem/kernels/made
fi
