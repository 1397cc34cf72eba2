#!/usr/bin/env bash
# Runs the tests under sanitizers: `scripts/sanitize.sh asan` (C++ and Python tests, AddressSanitizer with
# UndefinedBehaviorSanitizer) or `scripts/sanitize.sh tsan` (C++ tests, ThreadSanitizer). Builds first; a release build's
# extension is put back with `make build`.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?asan or tsan}
scripts/build.sh "$preset" tandem_tests
build=build/$preset
export TANDEM_COMPILER=$PWD/$build/python/tandem/libtandem_compiler.so TANDEM_GENERATED=$PWD/$build/generated
# LLVM's libraries are not instrumented: their headers' own marks on memory must not count. The vector math is neither.
ASAN_OPTIONS=allow_user_poisoning=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1 \
  "$build/bin/tandem_tests" --gtest_filter='-*UnaryMath*:*BinaryMath*'
[ "$preset" = asan ] || exit 0
runtimes=$(for r in asan ubsan stdc++; do gcc -print-file-name=lib$r.so; done | tr '\n' ' ')
# The interpreter itself leaks; a huge allocation must fail as it does without the sanitizer.
status=0
for tests in tests/python tests/guarded; do
  ASAN_OPTIONS=detect_leaks=0:allow_user_poisoning=0:allocator_may_return_null=1 PYTHONMALLOC=malloc \
    LD_PRELOAD=$runtimes .venv/bin/python -m pytest -q -n 2 "$tests" || status=1
done
exit $status
