#!/usr/bin/env bash
# Tries `make TARGET` on a clone of the last commit in a fresh Debian 12, as a newcomer would: a minimal system with git,
# make and a C++ toolchain, nothing else. It takes over how this machine reaches packages (apt sources and keys, pip's
# configuration with the local folders it names, certificates, proxies) and nothing more. Needs root and debootstrap.
#
#   scripts/try-in-chroot.sh [target ...]     targets of the Makefile; default: demo test. `setup` stops before the build.
#
# TANDEM_CHROOT is where the system goes (default: build/chroot). With KEEP=1 a system already there is used again.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "try-in-chroot.sh must run as root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "try-in-chroot.sh needs the Debian package debootstrap" >&2; exit 1; }
root=${TANDEM_CHROOT:-$PWD/build/chroot}
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(demo test)

mounted=()
unmount_all() {
  local i
  for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do umount -l "${mounted[i]}" || true; done
  mounted=()
}
trap unmount_all EXIT
bind() { # a file or folder of this machine, read-only, at the same place
  [ -e "$1" ] || return 0
  mkdir -p "$root$(dirname "$1")"
  if [ -d "$1" ]; then mkdir -p "$root$1"; else touch "$root$1"; fi
  mount --bind "$1" "$root$1"
  mounted+=("$root$1")
  mount -o remount,ro,bind "$root$1"
}

mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' | awk '$2 == "bookworm" { print $1; exit }')
if [ "${KEEP:-0}" != 1 ] || [ ! -x "$root/usr/bin/g++" ]; then
  mkdir -p "$root"
  [ -z "$(ls -A "$root")" ] || { echo "$root is not empty: remove it, or say KEEP=1" >&2; exit 1; }
  debootstrap --variant=minbase --include=ca-certificates,git,make,g++ bookworm "$root" "$mirror"
fi

# Reaching packages as this machine does.
rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/*
for place in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/trusted.gpg.d /etc/apt/keyrings /etc/apt/auth.conf.d /usr/share/keyrings; do
  [ -e "$place" ] && mkdir -p "$root$(dirname $place)" && cp -rL "$place" "$root$(dirname $place)/"
done
for setting in /etc/apt/apt.conf.d/*; do
  if grep -qsE '^ *Acquire' "$setting"; then cp -L "$setting" "$root/etc/apt/apt.conf.d/"; fi
done
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
bind /etc/ssl/certs
bind /etc/pip.conf
bind "${XDG_CONFIG_HOME:-$HOME/.config}/pip"
while read -r local_index; do
  bind "$(realpath -m "$local_index/..")"
done < <(python3 -m pip config list | grep -oE "file://[^' ]+" | sed 's,^file://,,')
while read -r wheels; do
  bind "$wheels"
done < <(python3 -m pip config list | sed -n "s/.*find-links=//p" | tr -d "'" | tr ' ' '\n' | grep '^/')
mount -t proc proc "$root/proc"
mounted+=("$root/proc")
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
mounted+=("$root/dev")
mkdir -p "$root/dev/shm"

if [ -d "$root/root/tandem" ]; then
  git -C "$root/root/tandem" pull --quiet "$PWD" HEAD
else
  git clone --quiet --no-local "$PWD" "$root/root/tandem"
fi
environment=(HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin)
for name in $(compgen -e); do
  case $name in
    PIP_* | SSL_CERT_* | CURL_CA_BUNDLE | REQUESTS_CA_BUNDLE | *_proxy | *_PROXY | JOBS) environment+=("$name=${!name}") ;;
  esac
done
for target in "${targets[@]}"; do
  echo "== make $target"
  chroot "$root" env -i "${environment[@]}" bash -c "cd /root/tandem && time make $target" 2>&1
done
