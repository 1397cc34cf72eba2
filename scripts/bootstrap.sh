#!/usr/bin/env bash
# Installs what is missing to build Tandem: the Debian packages of packages.txt, and a .venv with the Python packages of
# requirements.txt in which `import tandem` finds the work tree. Costs a fraction of a second when nothing is missing.
#
#   PYTHON=python3.13 scripts/bootstrap.sh    another interpreter, which stays until $PYTHON names one of another version
set -euo pipefail
cd "$(dirname "$0")/.."

missing_packages() {
  local package
  while read -r package; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done < <(grep -v '^#' scripts/packages.txt)
}

install_packages() {
  local -a packages as_root=()
  if ! command -v dpkg-query >/dev/null; then
    echo "This set-up knows Debian's packages only. Elsewhere, provide what scripts/packages.txt names." >&2
    return 0
  fi
  mapfile -t packages < <(missing_packages)
  [ "${#packages[@]}" -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
      printf '%s\n' "These Debian packages are missing, and neither root nor sudo is at hand to install them:" \
        "  ${packages[*]}" "Have them installed, then run the same command again." >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing ${#packages[@]} Debian packages: ${packages[*]}"
  local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3)
  "${apt[@]}" update
  if ! "${apt[@]}" install -y --no-install-recommends "${packages[@]}"; then
    echo "apt-get could not install all of: ${packages[*]}" >&2
    echo "llvm-22-dev and libmlir-22-dev are in bookworm-security: is that suite in your apt sources?" >&2
    return 1
  fi
}

is_usable() { # python
  command -v "$1" >/dev/null && "$1" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

# The one that $PYTHON names; else Debian's own first: python3-dev has the headers that belong to it.
find_python() {
  local candidate
  local -a candidates=(/usr/bin/python3.11 /usr/bin/python3 python3)
  [ -z "${PYTHON:-}" ] || candidates=("$PYTHON")
  for candidate in "${candidates[@]}"; do
    if is_usable "$candidate"; then echo "$candidate"; return; fi
  done
  echo "No Python of at least 3.10 with venv was found among: ${candidates[*]}" >&2
  return 1
}

make_venv() {
  local python stamp=.venv/tandem-stamp key before
  key=$(sha256sum scripts/requirements.txt | cut -d' ' -f1)-$PWD
  before=$(.venv/bin/python --version 2>/dev/null || true)
  if [ -n "$before" ] && [ "$(cat $stamp 2>/dev/null)" = "$key" ]; then
    if [ -z "${PYTHON:-}" ] || [ "$("$PYTHON" --version 2>/dev/null)" = "$before" ]; then return; fi
  fi
  python=$(find_python)
  echo "Making .venv with $("$python" --version)"
  # A build is configured for one interpreter: its extension module is of no use to another one.
  if [ "$before" != "$("$python" --version)" ]; then rm -f build/*/CMakeCache.txt build/*/build.ninja; fi
  "$python" -m venv --clear .venv
  .venv/bin/python -m pip install -qq --disable-pip-version-check -r scripts/requirements.txt
  # The package is used from the work tree: the build puts its compiled parts beside the sources.
  echo "$PWD/python" > "$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tandem-tree.pth"
  echo "$key" > $stamp
}

install_packages
make_venv
