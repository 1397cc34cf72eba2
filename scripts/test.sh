#!/usr/bin/env bash
# Every test, after a build: the house rules, C++ units, IR files, Python. Runs them all, then fails if one failed.
# The last lines are the runners' own summaries.
set -uo pipefail
cd "$(dirname "$0")/.."
build=build/${PRESET:-release}
failed=()
run() {
  local name=$1
  shift
  echo "== $name"
  "$@" || failed+=("$name")
}

# Kernels compiled by the tests go to a cache of the build's own, so that a run starts from what it built.
export TANDEM_CACHE_DIR=$PWD/$build/test-cache
run "house rules" .venv/bin/python scripts/check_house.py
run "C++ unit tests" env TANDEM_COMPILER="$PWD/$build/python/tandem/libtandem_compiler.so" "$build/bin/tandem_tests" --gtest_brief=1
run "C++ unit tests of the GPU" env TANDEM_COMPILER="$PWD/$build/python/tandem/libtandem_compiler.so" "$build/bin/tandem_cuda_tests" --gtest_brief=1
run "IR, passes and code generation" .venv/bin/lit -sv -j 2 --param build="$PWD/$build" tests
run "Python tests" .venv/bin/python -m pytest -q -n 2 tests/python "$@"
run "the guarded device" .venv/bin/python -m pytest -q -n 2 tests/guarded "$@"
run "the emulation of GPUs" .venv/bin/python -m pytest -q -n 2 tests/emulation "$@"
run "the emulated GPU" env TANDEM_TEST_DEVICE=emulated .venv/bin/python -m pytest -q -n 2 tests/guarded "$@"
if [ "${#failed[@]}" -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
