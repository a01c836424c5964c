#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command at this tree inside a Debian 13 that has what hone needs and Halide. The Debian is made
# once and kept; the tree and the compiler's cache are mounted. Runs as root.
# usage: trixie.sh "PACKAGE..." COMMAND [ARG...]; 77 where no such Debian can be made
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
here=/root/hone

# Inside a mount namespace of its own.
if [ "${1:-}" = --enter ]; then
  root=$2 cache=$3
  shift 3
  { mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
    mount -t sysfs -o ro sysfs "$root/sys" && mount -t tmpfs tmpfs "$root/tmp"; } || {
    echo "trixie.sh: nothing may be mounted here" >&2
    exit 77
  }
  mkdir -p "$root$here" "$root/root/.cache/ccache"
  mount --bind "$source" "$root$here"
  mount --bind "$cache" "$root/root/.cache/ccache"
  passed=()
  for name in HONE_TEST_EFFORT HONE_TEST_BACKENDS HONE_TEST_SEED; do
    [ -z "${!name:-}" ] || passed+=("$name=${!name}")
  done
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C.UTF-8 \
    "${passed[@]}" bash -c "cd $here && exec \"\$@\"" bash "$@" || exit $?
  exit
fi

packages=$1
shift
keep=${XDG_CACHE_HOME:-$HOME/.cache}/hone
root=$keep/trixie

cannot() {
  echo "trixie.sh: $1" >&2
  exit 77
}
# cannot_since WHAT: with what was said last.
cannot_since() {
  tail -n 5 "$root.log" >&2
  cannot "$1"
}

[ "$(id -u)" = 0 ] || cannot "not root, who makes a Debian"
unshare --mount --pid --fork true 2>/dev/null || cannot "no namespace of its own may be made here"
mkdir -p "$keep"

# One at a time makes it; what is half made is no Debian.
exec {lock}>"$root.lock"
flock "$lock"
if [ ! -e "$root/etc/hone-packages" ]; then
  command -v debootstrap >/dev/null || cannot "debootstrap is missing"
  [ "$(df --output=avail -k "$keep" | tail -n 1)" -gt 4000000 ] || cannot "less than 4 GB are free in $keep"
fi
if [ ! -e "$root/etc/hone-base" ]; then
  echo "== a minimal Debian 13 in $root"
  rm -rf --one-file-system "$root"
  debootstrap --variant=minbase --include=ca-certificates trixie "$root" >"$root.log" 2>&1 ||
    cannot_since "no Debian 13 can be made"
  touch "$root/etc/hone-base"
fi
if [ "$(cat "$root/etc/hone-packages" 2>/dev/null)" != "$packages" ]; then
  echo "== its packages"
  # shellcheck disable=SC2086
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
    sh -c 'dpkg --configure -a && apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" && apt-get clean' sh $packages \
    >"$root.log" 2>&1 || cannot_since "its packages cannot be installed"
  echo "$packages" >"$root/etc/hone-packages"
fi
exec {lock}>&-

cache=${CCACHE_DIR:-$HOME/.cache/ccache}
mkdir -p "$cache"
exec unshare --mount --pid --fork --kill-child "$0" --enter "$root" "$cache" "$@"
