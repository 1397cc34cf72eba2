#!/usr/bin/env bash
# Tries `make TARGET` on a clone of the last commit in a fresh Debian 12, as a newcomer would: a minimal system with git,
# make and a C++ toolchain, nothing else. Needs root and debootstrap.
#
#   scripts/try-in-chroot.sh [target ...]     targets of the Makefile; default: demo test. `setup` stops before the build.
#
# TANDEM_CHROOT is where the system goes (default: build/chroot). With KEEP=1 a system already there is used again.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/chroot.sh
root=${TANDEM_CHROOT:-$PWD/build/chroot}
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(demo test)

if [ "${KEEP:-0}" != 1 ] || [ ! -x "$root/usr/bin/g++" ]; then
  chroot_make "$root" bookworm ca-certificates,git,make,g++
fi
chroot_open "$root"
if [ -d "$root/root/tandem" ]; then
  git -C "$root/root/tandem" pull --quiet "$PWD" HEAD
else
  git clone --quiet --no-local "$PWD" "$root/root/tandem"
fi
for target in "${targets[@]}"; do
  echo "== make $target"
  chroot_run "$root" "cd /root/tandem && time make $target"
done
