#!/usr/bin/env bash
# Formatting, Python lint and types, the house rules, and clang-tidy on the C++ files changed since main (all of them with ALL=1).
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
status=0
git ls-files '*.h' '*.hpp' '*.cpp' | xargs -r clang-format-22 --dry-run -Werror || status=1
.venv/bin/ruff check . || status=1
.venv/bin/ruff format --check python examples benchmarks scripts tests ir/opgen || status=1
.venv/bin/mypy || status=1
.venv/bin/python scripts/check_house.py || status=1
if [ -f "$build/compile_commands.json" ]; then
  if [ "${ALL:-0}" = 1 ]; then
    mapfile -t sources < <(git ls-files '*.cpp')
  else
    mapfile -t sources < <({ git diff --name-only HEAD -- '*.cpp'; git diff --name-only main...HEAD -- '*.cpp'; } | sort -u)
  fi
  for source in "${sources[@]}"; do
    [ -f "$source" ] || continue
    clang-tidy-22 --quiet -p "$build" "$source" || status=1
  done
else
  echo "clang-tidy is left out: $build has no compile_commands.json (make build first)"
fi
exit $status
