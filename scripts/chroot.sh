# For scripts that try things in a fresh system; they source this file. Such a system is a folder with Debian's minimal
# packages. It takes over how this machine reaches packages (apt sources and keys, pip's configuration with the local
# folders it names, certificates, proxies) and nothing more.
#
#   chroot_make ROOT [SUITE] [package,...]   debootstrap's minimal system in the empty folder ROOT; default: bookworm
#   chroot_open ROOT                         makes it ready for commands; closed again when the script ends
#   chroot_run ROOT COMMAND                  runs bash -c COMMAND in it, with the variables in chroot_environment set
#   chroot_close                             unmounts what was mounted

[ "$(id -u)" = 0 ] || { echo "$0 must run as root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "$0 needs the Debian package debootstrap" >&2; exit 1; }

chroot_environment=(HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin)
for name in $(compgen -e); do
  case $name in
    PIP_* | SSL_CERT_* | CURL_CA_BUNDLE | REQUESTS_CA_BUNDLE | *_proxy | *_PROXY | JOBS) chroot_environment+=("$name=${!name}") ;;
  esac
done

chroot_mounted=()
chroot_close() {
  local i
  for ((i = ${#chroot_mounted[@]} - 1; i >= 0; i--)); do umount -l "${chroot_mounted[i]}" || true; done
  chroot_mounted=()
}
trap chroot_close EXIT

chroot_make() {
  local root=$1 suite=${2:-bookworm} packages=${3:-ca-certificates} mirror file
  mkdir -p "$root"
  [ -z "$(ls -A "$root")" ] || { echo "$root is not empty: remove it first" >&2; exit 1; }
  mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' | awk '$2 == "bookworm" { print $1; exit }')
  debootstrap --variant=minbase --include="$packages" "$suite" "$root" "$mirror"
  [ "$suite" = bookworm ] || return 0
  rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/*
  for file in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/trusted.gpg.d /etc/apt/keyrings /etc/apt/auth.conf.d /usr/share/keyrings; do
    [ -e "$file" ] && mkdir -p "$root$(dirname $file)" && cp -rL "$file" "$root$(dirname $file)/"
  done
  for file in /etc/apt/apt.conf.d/*; do
    if grep -qsE '^ *Acquire' "$file"; then cp -L "$file" "$root/etc/apt/apt.conf.d/"; fi
  done
  # Now, since chroot_open takes over the certificates, which a newer package of them could not write.
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  chroot_run "$root" "apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y upgrade"
}

chroot_bind() { # a file or folder of this machine, read-only, at the same place
  local root=$1 place=$2
  [ -e "$place" ] || return 0
  mkdir -p "$root$(dirname "$place")"
  if [ -d "$place" ]; then mkdir -p "$root$place"; else touch "$root$place"; fi
  mount --bind "$place" "$root$place"
  chroot_mounted+=("$root$place")
  mount -o remount,ro,bind "$root$place"
}

chroot_open() {
  local root=$1 place
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  chroot_bind "$root" /etc/ssl/certs
  chroot_bind "$root" /etc/pip.conf
  chroot_bind "$root" "${XDG_CONFIG_HOME:-$HOME/.config}/pip"
  while read -r place; do
    chroot_bind "$root" "$(realpath -m "$place/..")"
  done < <(python3 -m pip config list | grep -oE "file://[^' ]+" | sed 's,^file://,,')
  while read -r place; do
    chroot_bind "$root" "$place"
  done < <(python3 -m pip config list | sed -n "s/.*find-links=//p" | tr -d "'" | tr ' ' '\n' | grep '^/')
  mount -t proc proc "$root/proc"
  chroot_mounted+=("$root/proc")
  mount --rbind /dev "$root/dev"
  mount --make-rslave "$root/dev"
  chroot_mounted+=("$root/dev")
  mkdir -p "$root/dev/shm"
}

chroot_run() {
  chroot "$1" env -i "${chroot_environment[@]}" bash -c "$2" 2>&1
}
