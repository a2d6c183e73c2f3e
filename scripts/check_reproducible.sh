#!/bin/bash
# Builds the Debian packages and the tarball twice and compares the bytes: in folders with other names, at other times, with
# another umask, locale, time zone and, as root, another user. make check-reproducible
#   scripts/check_reproducible.sh [--quick] [--folder FOLDER] [packages|tarball]
# --quick: without optimization and wide vectors, minutes instead of an hour. FOLDER (default: build/reproducible) is made
# anew, and removed at the end. Another user needs a folder that others may enter.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$root/build/reproducible
while [ $# -gt 0 ]; do
    case $1 in
    --quick)
        export DEB_BUILD_OPTIONS="noopt nocheck"
        export LIANA_PACKAGE_OPTIONS="-DLIANA_X86=OFF -DLIANA_KERNEL_OPTIMIZATION=-O0"
        ;;
    --folder)
        folder=$2
        shift
        ;;
    *) break ;;
    esac
    shift
done
export KINDS="${*:-packages tarball}"
# A compiler cache would give the second build the objects of the first.
export CCACHE_DISABLE=1
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
# One by git, and one by a copy without it, as from a source archive. Others may enter.
chmod 755 "$folder"
mkdir "$folder/first" "$folder/the-second-one"
"$root/scripts/source_tree.sh" "$folder/first/source" >/dev/null
cp -a "$folder/first/source" "$folder/the-second-one/another-name"

# build TREE NAME: packages and tarball, into the folder of the tree
build() {
    for kind in $KINDS; do
        PACKAGE_SOURCE=$1/../$kind-$2/source "$1/scripts/$kind.sh" "$1/../$kind" >"$1/../$kind.log" 2>&1 || {
            tail -n 40 "$1/../$kind.log" >&2
            return 1
        }
    done
}
export -f build
echo "== the first build"
(umask 022 && LANG=C TZ=UTC build "$folder/first/source" one)
echo "== the second build"
as_other=
other="setpriv --reuid 65534 --regid 65534 --clear-groups"
if [ "$(id -u)" -eq 0 ] && $other test -x "$folder"; then
    chown -R 65534:65534 "$folder/the-second-one"
    as_other=$other
else
    echo "Both builds are by the same user: this one is not root, or others may not enter $folder."
fi
env HOME="$folder/the-second-one" USER=somebody LOGNAME=somebody LANG=de_DE.UTF-8 LC_ALL=de_DE.UTF-8 TZ=Asia/Tokyo \
    $as_other bash -c 'umask 077 && build "$1" two-with-a-longer-name' bash "$folder/the-second-one/another-name"

# The first difference: the file, and where in it.
bad=
compared=0
shopt -s nullglob
for file in "$folder"/first/packages/*.deb "$folder"/first/tarball/*.tar.xz; do
    other=$folder/the-second-one/$(basename "$(dirname "$file")")/$(basename "$file")
    compared=$((compared + 1))
    cmp -s "$file" "$other" && continue
    bad=yes
    echo "check_reproducible.sh: $(basename "$file") differs" >&2
    mkdir -p "$folder/a" "$folder/b"
    rm -rf "$folder/a/"* "$folder/b/"*
    case $file in
    *.deb) dpkg-deb -R "$file" "$folder/a" && dpkg-deb -R "$other" "$folder/b" ;;
    *) tar -C "$folder/a" -xf "$file" && tar -C "$folder/b" -xf "$other" ;;
    esac
    (cd "$folder/a" && find . -printf '%p %m %s %T@\n' | sort) >"$folder/list-a"
    (cd "$folder/b" && find . -printf '%p %m %s %T@\n' | sort) >"$folder/list-b"
    diff "$folder/list-a" "$folder/list-b" | head -n 5 >&2 || true
    (cd "$folder/a" && find . -type f | sort) | while read -r name; do
        cmp "$folder/a/$name" "$folder/b/$name" >&2 || break
    done
done
[ $compared -ge 1 ] || { echo "check_reproducible.sh: found only $compared files" >&2; exit 1; }
[ -z "$bad" ] || exit 1
sha256sum "$folder"/first/packages/*.deb "$folder"/first/tarball/*.tar.xz | sed "s|$folder/first/||"
echo "$compared files have the same bytes in both builds"
