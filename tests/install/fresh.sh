#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a clone needs on a machine that has nothing: in a minimal Debian, `./dev demo` and `./dev test`
# as root, and again in another as a user who has sudo. Runs as root; leaves nothing behind.
# usage: fresh.sh RELEASE [ARGS of ./dev test]      RELEASE is 12 or 13
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)

# Inside a mount namespace of its own: `enter ROOT WHO ARGS...` runs the two commands in the chroot.
enter() {
  local root=$1 who=$2
  shift 2
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t tmpfs tmpfs "$root/tmp"
  local run="cd ~/hone && failed=0; ./dev demo --tune 2s || failed=1; ./dev test $* || failed=1; exit \$failed"
  if [ "$who" = root ]; then
    chroot "$root" /usr/bin/env -i HOME=/root PATH="$PATH" TERM=dumb bash -c "$run"
  else
    chroot "$root" su - "$who" -c "$run"
  fi
}

if [ "${1:-}" = --enter ]; then
  shift
  enter "$@"
  exit
fi

case ${1:-} in
  12) suite=bookworm ;;
  13) suite=trixie ;;
  *) echo "fresh.sh: the release is 12 or 13, not \"${1:-}\"" >&2; exit 2 ;;
esac
shift

work=$(mktemp -d "${TMPDIR:-/var/tmp}/hone-fresh.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
echo "== a minimal Debian: $suite"
debootstrap --variant=minbase --include=git,ca-certificates "$suite" "$work/base" >"$work/log" 2>&1 ||
  { tail -n 20 "$work/log"; exit 1; }

status=0
for who in root builder; do
  root=$work/$who
  cp -a "$work/base" "$root"
  home=/root
  if [ "$who" != root ]; then
    chroot "$root" sh -c "apt-get update -qq && apt-get install -y -qq --no-install-recommends sudo" \
      >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
    chroot "$root" useradd --create-home --shell /bin/bash "$who"
    echo "$who ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$who"
    home=/home/$who
  fi
  git clone -q "$source" "$root$home/hone"
  chroot "$root" chown -R "$who:" "$home/hone"
  echo "== as $who: ./dev demo, ./dev test $*"
  unshare --mount --pid --fork --kill-child "$0" --enter "$root" "$who" "$@" || status=1
  rm -rf --one-file-system "$root"
done
exit "$status"
