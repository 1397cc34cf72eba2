#!/usr/bin/env bash
# Tries Tandem on a machine with a GPU: CUDA 13's driver and Python. Needs no network: it takes what is built in the
# tree, else unpacks a wheel of build/wheel, else builds. Then the tests marked `gpu`, the table of operations and the
# programs of tests/guarded on the GPU, the benchmarks, and compute-sanitizer on a few tests where it is installed.
#
#   scripts/gpu-check.sh [--emulated] [--minutes N]
#
# Says after each step what is done, ends within 10 minutes (or N), and writes build/gpu-check/report.md after each step
# anew, so that what was found is kept however it ends. A step that takes too long is interrupted, and says what it has
# found. OUT names another folder for reports and logs, PYTHON the interpreter, JOBS how many tests run at once.
# --emulated runs all of it on the emulated device of the tests, with tiny sizes: without the sanitizer, and with times
# that mean nothing.
set -uo pipefail
cd "$(dirname "$0")/.."
emulated=0
minutes=10
while [ $# -gt 0 ]; do
  case $1 in
    --emulated) emulated=1 ;;
    --minutes) minutes=$2; shift ;;
    *) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' >&2; exit 2 ;;
  esac
  shift
done
out=${OUT:-$PWD/build/gpu-check}
preset=${PRESET:-release}
jobs=${JOBS:-$(nproc)}
python=${PYTHON:-$([ -x .venv/bin/python ] && echo .venv/bin/python || command -v python3)}
mkdir -p "$out"
rm -f "$out"/report.md "$out"/table.md "$out"/*.log
deadline=$((SECONDS + 60 * minutes))
status=0
rows=()

write_report() {
  {
    echo "# Tandem on a GPU, $(date +%Y-%m-%d)"
    echo
    [ $emulated = 0 ] || printf '%s\n\n' "**An emulated device with tiny sizes: times mean nothing.**"
    echo "Commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)$(git diff --quiet HEAD 2>/dev/null || echo ', changed')."
    echo
    echo "| step | result | s |"
    echo "| --- | --- | ---: |"
    printf '%s\n' "${rows[@]}"
    echo
    [ ! -f "$out/table.md" ] || cat "$out/table.md"
  } >"$out/report.new" && mv "$out/report.new" "$out/report.md"
}
finish() {
  write_report
  cat "$out/report.md"
  echo "-- the report is ${out#"$PWD"/}/report.md"
  exit "$1"
}
running=
interruptible=()
! env --default-signal=INT true 2>/dev/null || interruptible=(env --default-signal=INT)
trap '[ -z "$running" ] || kill "$running"; rows+=("| the rest | left out: the script was ended | – |"); finish 1' INT TERM HUP

# step NAME SECONDS COMMAND...: no longer than that, nor than what is left of the whole; its output in a log.
step() {
  local name=$1 limit=$2 left=$((deadline - SECONDS)) begin=$SECONDS log result code
  shift 2
  log=$out/${name//[^a-z0-9]/-}.log
  if [ $left -lt 5 ]; then
    rows+=("| $name | left out: no time is left | – |")
    write_report
    echo "-- $name: left out, no time is left"
    status=1
    return 1
  fi
  [ $limit -lt $left ] || limit=$left
  # In the background, so that a signal to the script is not held back until the step has ended; there the shell has
  # commands ignore interrupts.
  timeout --signal=INT --kill-after=8 "$limit" "${interruptible[@]}" "$@" >"$log" 2>&1 &
  running=$!
  wait $running
  code=$?
  running=
  case $code in
    0) result=done ;;
    124 | 137) result="not done in $limit s" ;;
    *) result="failed ($code)" ;;
  esac
  [ $code = 0 ] || status=1
  local last
  last=$(grep -v '^$' "$log" | tail -n 1 | tr '|' '/' | cut -c 1-200)
  rows+=("| $name | $result${last:+: $last} | $((SECONDS - begin)) |")
  write_report
  echo "-- $name: $result in $((SECONDS - begin)) s${last:+: $last}"
  [ $code = 0 ] || tail -n 25 "$log"
  return $code
}
skip() {
  rows+=("| $1 | left out: $2 | – |")
  write_report
  echo "-- $1: left out, $2"
}

# ---- what is tried

prepare() {
  local wheel version
  version=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  if PYTHONPATH=python "$python" -c 'import tandem' 2>/dev/null; then
    package=$PWD/python
  elif wheel=$(ls -t build/wheel/*"$version"*.whl 2>/dev/null | head -n 1) && [ -n "$wheel" ]; then
    rm -rf "$out/site"
    "$python" -m zipfile -e "$wheel" "$out/site" && package=$out/site
  else
    JOBS=$jobs timeout 400 make build || return 1
    python=.venv/bin/python
    package=$PWD/python
  fi
  PYTHONPATH=$package "$python" -c 'import tandem; print("tandem", tandem.__version__, "of", tandem.__file__)'
}
package=$PWD/python
prepare >"$out/prepare.log" 2>&1
code=$?
tail -n 1 "$out/prepare.log"
if [ $code != 0 ]; then
  tail -n 25 "$out/prepare.log"
  rows+=("| preparing | failed: $(tail -n 1 "$out/prepare.log" | tr '|' '/' | cut -c 1-200) | $SECONDS |")
  finish 1
fi
rows+=("| preparing | $(tail -n 1 "$out/prepare.log" | sed "s|$PWD/||") | $SECONDS |")
echo "-- preparing: done in $SECONDS s"
export PYTHONPATH=$package TANDEM_TEST_DEVICE=cuda TANDEM_CACHE_DIR=$out/cache
# Of the C library, too, which looks beside itself.
export TANDEM_CUDA=${TANDEM_CUDA:-$package/tandem/libtandem_cuda.so}
if [ $emulated = 1 ]; then
  export TANDEM_CUDA_DRIVER=${TANDEM_CUDA_DRIVER:-$PWD/build/$preset/lib/libtandem_emulated_driver.so}
  export TANDEM_NVRTC=${TANDEM_NVRTC:-$PWD/build/$preset/lib/libtandem_emulated_nvrtc.so}
  export TANDEM_CUBLASLT=${TANDEM_CUBLASLT:-$PWD/build/$preset/lib/libtandem_emulated_cublaslt.so}
  export TANDEM_CUSOLVER=${TANDEM_CUSOLVER:-$PWD/build/$preset/lib/libtandem_emulated_cusolver.so}
  export TANDEM_CUDNN=${TANDEM_CUDNN:-$PWD/build/$preset/lib/libtandem_emulated_cudnn.so}
else
  export TANDEM_REAL_GPU=1
fi

step "looking for a GPU" 60 "$python" -c '
import tandem
print("driver:", end=" ")
if not tandem.cuda.is_available():
    raise SystemExit(tandem._C._gpu_why_none())
print(tandem._C._gpu_driver_version(0), tandem.cuda.get_device_properties(0), "cuDNN:", tandem.backends.cudnn.version())' || {
  printf '%s\n' "No GPU can be used: there is nothing to try." >&2
  finish 1
}

# ---- tests

has() { "$python" -c "import $1" 2>/dev/null; }
workers=()
has xdist && [ "$jobs" -gt 1 ] && workers=(-n "$((jobs < 8 ? jobs : 8))")
pytest=("$python" -m pytest -q -p no:cacheprovider)
few=()
[ $emulated = 0 ] || few=(-k "named or streams_order or optimizers or captured or pinned_memory")
has_table() { ls build/*/generated/tests/operations.json || command -v llvm-tblgen-22; } >/dev/null 2>&1
if has pytest; then
  # The other files of tests/emulation need the table of operations.
  marked=(tests/emulation)
  has_table || marked=(tests/emulation/test_cuda_*.py)
  step "tests marked gpu" 120 "${pytest[@]}" "${workers[@]}" -m gpu "${marked[@]}" "${few[@]}"
  if [ $emulated = 1 ]; then
    step "programs of the device tests" 120 "${pytest[@]}" tests/guarded/test_guarded_device.py -k "moving"
  elif ! has_table; then
    skip "device tests" "the table of operations is neither in build/ nor can be made"
  else
    step "device tests" 130 "${pytest[@]}" "${workers[@]}" tests/guarded
  fi
else
  skip "tests" "$python has no pytest"
  status=1
fi

# ---- benchmarks

measure=("$python" benchmarks/models/gpu.py --out "$out/table.md")
if [ $emulated = 1 ]; then
  step "benchmarks, whose times mean nothing" 300 "${measure[@]}" --tiny
else
  step "benchmarks" 270 "${measure[@]}"
fi

# ---- the sanitizer

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
if [ $emulated = 1 ]; then
  skip "compute-sanitizer" "the emulated device checks memory itself"
elif [ -z "$sanitizer" ]; then
  skip "compute-sanitizer" "it is not installed"
elif has pytest; then
  for tool in memcheck racecheck; do
    step "compute-sanitizer $tool" 40 "$sanitizer" --tool "$tool" --error-exitcode 9 --target-processes all \
      "${pytest[@]}" tests/emulation/test_cuda_*.py -k "optimizers or pinned_memory or mixed or generators"
  done
fi

finish $status
