#!/usr/bin/env bash
# Installs a wheel of build/wheel into a fresh system that has Python and nothing of ours, runs the README's example, a
# convolution and examples/pinn.py there, and compares how long `import tandem` and `import numpy` take. Needs root and debootstrap.
#
#   scripts/try-wheel.sh [suite ...]          Debian's suites; default: bookworm (CPython 3.11) and trixie (3.13)
#
# TANDEM_ROOTS is where the systems go (default: build/roots); what is there is removed first.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/chroot.sh
roots=${TANDEM_ROOTS:-$PWD/build/roots}
suites=("$@")
[ "${#suites[@]}" -gt 0 ] || suites=(bookworm trixie)

for suite in "${suites[@]}"; do
  root=$roots/$suite
  rm -rf "$root"
  chroot_make "$root" "$suite" ca-certificates,python3,python3-venv >/dev/null
  chroot_open "$root"
  mkdir -p "$root/root/try"
  cp build/wheel/*.whl scripts/import_time.py examples/pinn.py "$root/root/try/"
  awk '/^```python/ { inside = 1; next } /^```/ && inside { exit } inside' README.md >"$root/root/try/readme.py"
  echo "== $suite: $(chroot_run "$root" 'python3 --version; ldd --version | head -n 1' | paste -sd' ')"
  chroot_run "$root" 'cd /root/try && python3 -m venv venv &&
    venv/bin/pip install -q --disable-pip-version-check --only-binary tandem-tensor --find-links . tandem-tensor &&
    venv/bin/pip list --disable-pip-version-check && du -sm venv/lib/python3*/site-packages/tandem* &&
    venv/bin/python readme.py && venv/bin/python import_time.py &&
    venv/bin/python -c "import tandem; print(tandem.conv2d(tandem.ones(1, 1, 3, 3), tandem.ones(1, 1, 3, 3)))" &&
    venv/bin/pip install -q --disable-pip-version-check matplotlib tqdm && venv/bin/python pinn.py --epochs 300 2>/dev/null'
  chroot_close
done
