#!/bin/bash
# Installs the Debian packages in a bare Debian 12, made for it, and uses them there: make check-packages (root; minutes).
#   scripts/check_packages.sh [FOLDER]    the packages (default: build/packages, of scripts/packages.sh)
# The command, its pages and its completion; a training with its report; C programs by pkg-config and CMake, shared and
# static; an upgrade under a training that goes on; a removal that leaves nothing.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
packages=$(cd "${1:-$root/build/packages}" && pwd)
if [ "$(id -u)" -ne 0 ] || ! command -v mmdebstrap >/dev/null; then
    echo "check_packages.sh: needs root and mmdebstrap (scripts/install-packages.sh --packages)" >&2
    exit 1
fi
folder=$(mktemp -d /var/tmp/liana-packages-XXXXXX)
debian=$folder/debian
finish() {
    if [ -n "${training:-}" ]; then kill "$training" 2>/dev/null || true; fi
    rm -rf "$folder"
}
trap finish EXIT
fail() {
    echo "check_packages.sh: $*" >&2
    exit 1
}

# inside COMMAND: as root in that Debian. The mounts live in a namespace of their own and end with the command.
inside() {
    unshare --mount --propagation private /bin/sh -c '
        root=$1 && shift && mount --bind "$root" "$root" && cd "$root" && mount -t proc proc "$root/proc" &&
        mount --rbind /dev "$root/dev" && mount -t sysfs sysfs "$root/sys" && exec chroot "$root" "$@"' sh "$debian" \
        /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive /bin/bash -euo pipefail -c "$1" </dev/null
}
# quietly COMMAND: its output is shown if it fails
quietly() {
    inside "$1" >"$folder/log" 2>&1 || { tail -n 40 "$folder/log" >&2; fail "failed: $1"; }
}

echo "== a bare Debian"
archive=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
    sed -n 's/ Debian$//p' | grep bookworm | sort -u | awk '{ print "deb " $1 " " $2 " " $3 }')
[ -n "$archive" ] || fail "this machine's apt has no Debian 12 (bookworm) archive"
proxy=$(apt-config dump Acquire::http::Proxy)
mmdebstrap --quiet --variant=apt --include=gcc,libc6-dev,pkg-config,cmake,make,man-db,bash-completion,zsh,fish \
    ${proxy:+"--aptopt=$proxy"} bookworm "$debian" - <<<"$archive" ||
    fail "mmdebstrap could not make a Debian"
cp /etc/resolv.conf "$debian/etc/resolv.conf"
mkdir -p "$debian/packages" "$debian/newer" "$debian/work"
cp "$packages"/*.deb "$debian/packages"
rm -f "$debian"/packages/*-dbgsym_*.deb
cp "$root"/tests/install/{CMakeLists.txt,use_liana.c} "$root/examples/line.c" "$debian/work"
version=$(dpkg-deb -f "$debian"/packages/liana_*.deb Version)
whole=${version/\~dev/-dev}

# The same packages under the next version.
newer=$version+newer
for file in "$debian"/packages/*.deb; do
    dpkg-deb -R "$file" "$folder/package"
    sed -i "s/^Version: .*/Version: $newer/; s/(= $version)/(= $newer)/g" "$folder/package/DEBIAN/control"
    dpkg-deb -Zgzip -z1 --root-owner-group -b "$folder/package" "$debian/newer" >/dev/null
    rm -rf "$folder/package"
done

echo "== install"
# First what they need, so that a removal can be seen.
quietly 'apt-get update -q && apt-get install -y -q --no-install-recommends $(apt-get install -s /packages/*.deb |
    sed -n "s/^Inst \([^ ]*\).*/\1/p" | grep -vE "^(lib)?liana") && apt-get clean'
snapshot() {
    inside "find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /work -o -path /var/cache -o -path /var/lib/dpkg \
        -o -path /var/lib/apt -o -path /var/log -o -path /tmp -o -path /root \) -prune -o -print | sort"
}
snapshot >"$folder/before"
quietly 'apt-get install -y -q /packages/*.deb'

echo "== the command"
found=$(inside 'liana version')
[ "$found" = "liana $whole" ] || fail "liana version: found '$found', expected 'liana $whole'"
quietly 'cd /work && liana synth flowers classes=3 images=90 image_size=32 seed=1 --out flowers'
cat >"$debian/work/tiny.yaml" <<TEXT
data: {train: flowers/train, validation: flowers/val, class_names: flowers/classes.txt, image_size: [32, 32]}
model: {layers: [{Conv2D: {filters: 8, kernel_size: 3, activation: relu}}, Flatten, Dense]}
train: {epochs: 2, batch_size: 16}
output: run
TEXT
quietly 'cd /work && liana train tiny.yaml && liana evaluate run && liana predict run flowers/val --top 1 && liana report run --html'
for file in curves.png report.html model.json; do [ -s "$debian/work/run/$file" ] || fail "liana report left no $file"; done

echo "== pages and completion"
quietly 'man -w liana && man liana | grep -q "train"'
quietly 'source /usr/share/bash-completion/bash_completion; _completion_loader liana || [ $? -eq 124 ]; complete -p liana | grep -q _liana'
quietly "zsh -fc 'autoload -Uz compinit; compinit -u -D; [[ \$_comps[liana] == _liana ]]'"
quietly "fish -c 'complete -C \"liana tra\"' | grep -q ^train"

echo "== programs"
quietly "cd /work && gcc -std=c17 -Wall -Wextra -Werror use_liana.c -o use \$(pkg-config --cflags --libs liana) && ./use $whole"
quietly "cd /work && readelf -d use | grep -q 'NEEDED.*libliana.so.1\]'"
quietly 'cd /work && gcc -std=c17 -Wall -Wextra -Werror line.c -o line $(pkg-config --cflags --libs liana) && ./line | grep -q "^y = 3"'
quietly "cd /work && gcc -std=c17 use_liana.c -o static \$(pkg-config --cflags liana) \$(pkg-config --static --libs liana |
    sed 's/-lliana/-Wl,-Bstatic -lliana -Wl,-Bdynamic/') && ./static $whole && ! readelf -d static | grep -q NEEDED.*libliana"
quietly "cd /work && cmake -S . -B made && cmake --build made && made/use_liana $whole && made/use_static $whole"
quietly '[ -s /usr/share/doc/liana/docs/training.md ] && [ -s /usr/share/doc/liana/examples/mnist.c ] &&
    [ -s /usr/share/doc/libliana1/copyright ] && zcat /usr/share/doc/liana/changelog.gz | grep -q Changes'

echo "== an upgrade under a training"
inside 'cd /work && exec liana train tiny.yaml train.epochs=100000 --out long --log-every 1' >"$folder/training" 2>&1 &
training=$!
for _ in $(seq 100); do
    if grep -q '^epoch 2/' "$folder/training"; then break; fi
    sleep 0.2
done
grep -q '^epoch 2/' "$folder/training" || fail "the long training does not begin: $(tail -n 5 "$folder/training")"
quietly 'apt-get install -y -q --allow-downgrades /newer/*.deb'
found=$(inside "dpkg-query -W -f '\${Version}' libliana1")
[ "$found" = "$newer" ] || fail "after the upgrade libliana1 has version $found, expected $newer"
epochs() {
    grep -c '^epoch ' "$folder/training"
}
then=$(epochs)
for _ in $(seq 100); do
    if [ "$(epochs)" -gt $((then + 2)) ]; then break; fi
    sleep 0.2
done
[ "$(epochs)" -gt $((then + 2)) ] || fail "the training does not go on after the upgrade: $(tail -n 5 "$folder/training")"
# It saves what it has when it is stopped, and the new version goes on with it and draws it.
pid=$(pgrep -f '^liana train tiny.yaml train.epochs=100000' | head -n 1)
kill -INT "$pid"
status=0
wait "$training" || status=$?
training=
[ "$status" = 130 ] || fail "the stopped training ends with $status, expected 130: $(tail -n 5 "$folder/training")"
quietly 'cd /work && epochs=$(($(ls -d long/checkpoints/* | grep -c .) + 100000)) && [ -e long/config.yaml ] &&
    timeout -s INT 5 liana train long --resume || [ $? -eq 124 ] || [ $? -eq 130 ]; liana report long --html --curves'

echo "== removal"
quietly "apt-get purge -y -q liana libliana1 libliana-dev liana-doc && apt-get clean"
snapshot >"$folder/after"
if ! diff "$folder/before" "$folder/after" >"$folder/log"; then
    cat "$folder/log" >&2
    fail "removing the packages left or took the files above"
fi
echo "the packages of $version work"
