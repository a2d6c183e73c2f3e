#!/bin/bash
# Proves that a fresh clone works on a bare Debian 12: makes one with debootstrap (as root), copies the last commit and
# the test data beside it, and runs there what a newcomer or CI runs. What lies on this machine cannot help.
#   scripts/check_bare_debian.sh [--keep] [--folder DIR] [--without-data] [COMMAND]
# COMMAND is run by bash in the clone (default: bash .ci/run). --keep leaves the chroot for a look inside. --folder
# says where to make it (default: a new folder in /var/tmp; about 3 GB). Mirrors and trusted certificates are this machine's own.
set -euo pipefail
cd "$(dirname "$0")/.."

keep=
data=yes
folder=
while [ $# -gt 0 ]; do
    case $1 in
    --keep) keep=yes ;;
    --without-data) data= ;;
    --folder)
        folder=$2
        shift
        ;;
    -*)
        echo "check_bare_debian.sh: unknown option '$1'" >&2
        exit 2
        ;;
    *) break ;;
    esac
    shift
done
command=${1:-bash .ci/run}

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    echo "check_bare_debian.sh: needs root and debootstrap (apt-get install debootstrap)" >&2
    exit 1
fi
# One line for each Debian archive that this machine's own apt uses: "site release component".
archives=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
    sed -n 's/ Debian$//p' | grep bookworm | sort -u)
mirror=$(awk '$2 == "bookworm" && $3 == "main" { print $1; exit }' <<<"$archives")
if [ -z "$mirror" ]; then
    echo "check_bare_debian.sh: this machine's apt has no Debian 12 (bookworm) archive" >&2
    exit 1
fi

[ -n "$folder" ] || folder=$(mktemp -d /var/tmp/liana-bare-XXXXXX)
root=$folder/root
mkdir -p "$folder"
finish() {
    if [ -z "$keep" ]; then rm -rf "$root"; fi
}
trap finish EXIT

if [ ! -e "$root/etc/debian_version" ]; then
    debootstrap --variant=minbase bookworm "$root" "$mirror" >"$folder/debootstrap.log" ||
        { tail -5 "$folder/debootstrap.log" >&2; exit 1; }
    awk '{ print "deb " $1 " " $2 " " $3 }' <<<"$archives" >"$root/etc/apt/sources.list"
    apt-config dump Acquire::http::Proxy >"$root/etc/apt/apt.conf.d/90proxy"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
# npm in there must trust what npm out here trusts: the network may lead through a proxy with its own certificate.
certificates=/etc/ssl/certs/ca-certificates.crt
if [ -e "$certificates" ]; then
    mkdir -p "$root/etc/ssl/certs"
    cp "$certificates" "$root/etc/ssl/certs/outside.crt"
fi
rm -rf "$root/srv/newcomer"
mkdir -p "$root/srv/newcomer"
git clone -q . "$root/srv/newcomer/liana"
if [ -n "$data" ] && [ -d ../shared ]; then
    cp -rL ../shared "$root/srv/newcomer/shared"
fi

start=$(date +%s)
status=0
# The mounts live in a namespace of their own and end with the command.
unshare --mount --propagation private /bin/sh -c '
    mount -t proc proc "$1/proc" && mount -t sysfs sysfs "$1/sys" && mount -t tmpfs tmpfs "$1/dev/shm" &&
    root=$1 && shift && exec chroot "$root" "$@"' sh "$root" \
    /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/outside.crt \
    /bin/bash -c "cd /srv/newcomer/liana && $command" </dev/null || status=$?
echo "check_bare_debian.sh: '$command' ended with $status after $(($(date +%s) - start)) s"
exit $status
