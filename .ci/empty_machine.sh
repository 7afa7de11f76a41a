#!/usr/bin/env bash
# empty_machine.sh RELEASE COMMAND...   runs each COMMAND, in turn, in a fresh clone, on a machine that has nothing but
#                                       Debian RELEASE: a root that mmdebstrap makes from this machine's apt source
# MMAUDIT_KEEP: a folder that gets what the commands have put into build/kept, for checks outside.
# MMAUDIT_GIVE: a folder of this checkout, not in git, that the clone gets too.
# Exit codes: the exit code of the first COMMAND that fails, 3 when the root can't be made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
release=$1
shift

die() {
  printf 'empty_machine: %s\n' "$1" >&2
  exit 3
}

((EUID == 0)) || die "found user $EUID, allowed: root (it mounts /proc and /dev in a root of its own)"
command -v mmdebstrap >/dev/null ||
  { apt-get -q update && apt-get -q -y install --no-install-recommends mmdebstrap; } >/dev/null ||
  die "mmdebstrap can't be installed"

root=$(mktemp -d) mounted=()
clean_up() {
  local at
  for at in "${mounted[@]}"; do umount -l "$root/$at" || true; done
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT

# The mirror is this machine's own; only the release may differ.
mirror=$(find /etc/apt -maxdepth 2 '(' -name '*.list' -o -name '*.sources' ')' -exec cat {} + |
  sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' | grep -v security | head -n 1) || true
[[ -n $mirror ]] || die "this machine has no apt source"
# This root is thrown away: dpkg need not wait for the disk.
mmdebstrap --quiet --variant=apt --skip=check/empty --dpkgopt=force-unsafe-io "$release" "$root" "$mirror" || die "mmdebstrap could not make a root of Debian $release"
for file in resolv.conf hosts apt/apt.conf; do
  [[ ! -e /etc/$file ]] || cp -L "/etc/$file" "$root/etc/$file"
done
cp -a /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
for at in proc dev; do
  mount --rbind "/$at" "$root/$at" || die "can't mount /$at"
  mounted+=("$at")
  mount --make-rslave "$root/$at"
done

git clone --quiet --no-hardlinks . "$root/mmaudit" # as a user would have it: what is committed
if [[ -n ${MMAUDIT_GIVE:-} ]]; then cp -a --parents "$MMAUDIT_GIVE" "$root/mmaudit/"; fi

for command in "$@"; do
  printf '==> on an empty Debian %s: %s\n' "$release" "$command"
  start=$SECONDS
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 RC_PARAMS="seed=20251121 max_success=2000" MMAUDIT_SEED=20261121 \
    bash -c "cd /mmaudit && $command" </dev/null
  printf '    %s: %d s\n' "$command" $((SECONDS - start))
done
if [[ -n ${MMAUDIT_KEEP:-} ]]; then cp -a "$root/mmaudit/build/kept/." "$MMAUDIT_KEEP/"; fi
