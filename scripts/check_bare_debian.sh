#!/bin/bash
# Proves that a fresh clone works on a bare Debian 12: makes one with debootstrap (as root), copies the last commit into
# it, and runs there what README.md tells a newcomer to run. Nothing else of this machine can help. make check-bare
#   scripts/check_bare_debian.sh [--keep] [--folder DIR] [STATE...]
#
#   debian   make demo, make test: Debian's packages alone, PyPI and npm out of reach, and no test data: a newcomer's machine
#   again    the same two once more in the same tree, where nothing may be compiled
#   peers    make demo, make test, make check-peers in a Debian that is as bare as the first one, with PyPI, npm and the data
#
# Default: debian again peers, about an hour on two cores. `again` alone needs a folder that was kept. --keep leaves the
# Debians for a look inside. --folder says where to make them (default: a new folder in /var/tmp; about 5 GB each).
# Debian's mirror, trusted certificates, and the folders of wheels that pip looks into are this machine's own. Times and
# loads stand at the end: they mean something only where nothing else runs.
set -euo pipefail
cd "$(dirname "$0")/.."

keep=
folder=
states=
while [ $# -gt 0 ]; do
    case $1 in
    --keep) keep=yes ;;
    --folder)
        folder=$2
        shift
        ;;
    debian | again | peers) states="$states $1" ;;
    *)
        echo "check_bare_debian.sh: found '$1', expected --keep, --folder DIR, debian, again or peers" >&2
        exit 2
        ;;
    esac
    shift
done
states=${states:-debian again peers}

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
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
finish() {
    if [ -z "$keep" ]; then rm -rf "$folder/base" "$folder/debian" "$folder/peers"; fi
}
trap finish EXIT
# The network may lead through a proxy with its own certificate: pip and npm in there trust the certificates of this
# machine.
certificates=/etc/ssl/certs/ca-certificates.crt
# Folders of wheels, which stand for a registry's CPU build of PyTorch.
wheels=
for place in ${PIP_FIND_LINKS:-$(python3 -m pip config get global.find-links 2>/dev/null || true)}; do
    if [ -d "$place" ]; then wheels="$wheels $place"; fi
done

# bare NAME: a Debian with only the packages of debootstrap, and the clone next to the data
bare() {
    if [ ! -e "$folder/base/etc/debian_version" ]; then
        debootstrap --variant=minbase bookworm "$folder/base" "$mirror" >"$folder/debootstrap.log" ||
            { tail -5 "$folder/debootstrap.log" >&2; exit 1; }
        awk '{ print "deb " $1 " " $2 " " $3 }' <<<"$archives" >"$folder/base/etc/apt/sources.list"
        apt-config dump Acquire::http::Proxy >"$folder/base/etc/apt/apt.conf.d/90proxy"
    fi
    rm -rf "$folder/${1:?}"
    cp -a "$folder/base" "$folder/$1"
    cp /etc/resolv.conf "$folder/$1/etc/resolv.conf"
    mkdir -p "$folder/$1/srv/newcomer" "$folder/$1/etc/ssl/certs"
    if [ -e "$certificates" ]; then cp "$certificates" "$folder/$1/etc/ssl/certs/outside.crt"; fi
    git clone -q . "$folder/$1/srv/newcomer/liana"
}

# inside NAME COMMAND: as root in that Debian's clone. The mounts live in a namespace of their own and end with the command.
# The root is a mount, as `ip netns` needs it; pseudo terminals are its own.
inside() {
    unshare --mount --propagation private /bin/sh -c '
        root=$1 folders=$2 && shift 2 &&
        mount --bind "$root" "$root" && cd "$root" &&
        mount -t proc proc "$root/proc" && mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts" &&
        ln -sfn pts/ptmx "$root/dev/ptmx" && mount -t sysfs sysfs "$root/sys" && mount -t tmpfs tmpfs "$root/dev/shm" &&
        for place in $folders; do mkdir -p "$root$place" && mount --bind "$place" "$root$place" || exit 1; done &&
        exec chroot "$root" "$@"' sh "$folder/$1" "$mounted" \
        /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C \
        "${registries[@]}" /bin/bash -c "cd /srv/newcomer/liana && $2" </dev/null
}
with_registries() {
    mounted=$wheels
    registries=("PIP_FIND_LINKS=${wheels# }" NODE_EXTRA_CA_CERTS=/etc/ssl/certs/outside.crt
        npm_config_cafile=/etc/ssl/certs/outside.crt PIP_CERT=/etc/ssl/certs/outside.crt)
}
# Nobody listens there.
without_registries() {
    mounted=
    registries=(PIP_NO_INDEX=1 PIP_FIND_LINKS= npm_config_registry=http://127.0.0.1:9/ npm_config_fetch_retries=0)
}

table="state command status seconds load"
failed=
# try STATE NAME COMMAND: its output into a file, of which the closing lines are shown
try() {
    log=$folder/$1-$(tr -c 'a-z\n' - <<<"$3").log
    echo "== $1: $3"
    start=$(date +%s)
    status=0
    inside "$2" "$3" >"$log" 2>&1 || status=$?
    took=$(($(date +%s) - start))
    # The skipped tests, and ctest's closing lines.
    if [ $status -eq 0 ] && grep -q 'tests passed' "$log"; then
        awk '/^(Skipped:|Left to |[0-9]+% tests passed)/ { shows = 1 } shows' "$log"
    else
        tail -n 30 "$log"
    fi
    [ $status -eq 0 ] || failed=yes
    table="$table
$1 $(tr ' ' '-' <<<"$3") $status $took $(cut -d ' ' -f 1 /proc/loadavg)"
}

for state in $states; do
    case $state in
    debian)
        bare debian
        without_registries
        # README.md: a bare system first needs these.
        try debian debian 'apt-get update && apt-get install -y git make'
        try debian debian 'make demo'
        try debian debian 'make test'
        ;;
    again)
        without_registries
        try again debian 'make demo'
        try again debian 'make test'
        if grep -E 'Building C object|Linking C' "$folder/again-make-demo.log" "$folder/again-make-test.log"; then
            echo "check_bare_debian.sh: a second make compiles again"
            failed=yes
        fi
        ;;
    peers)
        bare peers
        with_registries
        if [ -d ../shared ]; then cp -rL ../shared "$folder/peers/srv/newcomer/shared"; fi
        try peers peers 'apt-get update && apt-get install -y git make'
        try peers peers 'make demo'
        try peers peers 'make test'
        try peers peers 'make check-peers'
        ;;
    esac
done
column -t <<<"$table" 2>/dev/null || echo "$table"
[ -z "$failed" ] || { echo "check_bare_debian.sh: failed; the logs are in $folder" >&2; exit 1; }
[ -n "$keep" ] || rm -rf "$folder"
