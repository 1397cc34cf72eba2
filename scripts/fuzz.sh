#!/usr/bin/env bash
# Fuzzes the reader of saved programs: `scripts/fuzz.sh file` (whole files) or `scripts/fuzz.sh manifest`, for so many
# seconds (600). Needs `make build`, and clang-22 with its fuzzing library (libclang-rt-22-dev). What fails is left in
# build/fuzz/tree.
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:?file or manifest}
seconds=${2:-600}
build=build/fuzz/tree  # not beside the others, of which tests take the newest
if [ ! -f "$build/build.ninja" ]; then
  cmake --preset fuzz -DPython3_EXECUTABLE="$PWD/.venv/bin/python"
fi
ninja -C "$build" -j "${JOBS:-2}" "fuzz_$kind"
PYTHONPATH=python .venv/bin/python tests/fuzz/seeds.py "$build/seeds" "$build/corpus/file" "$build/corpus/manifest"
cd "$build"
TANDEM_FUZZ_SEEDS=seeds ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 \
  UBSAN_OPTIONS=print_stacktrace=1 exec "bin/fuzz_$kind" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
  -malloc_limit_mb=1024 -max_len=131072 -print_final_stats=1 -artifact_prefix="$kind-" "corpus/$kind"
