#!/bin/sh
# Unpacks the tarball (scripts/tarball.sh) in a folder with a blank in its name, on a file system that is read-only, and uses
# it from there: make check-tarball
#   scripts/check_tarball.sh [FOLDER]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
tarball=$(ls "${1:-$root/build/tarball}"/liana-*.tar.xz)
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
fail() {
    echo "check_tarball.sh: $*" >&2
    exit 1
}
mkdir "$folder/another place" "$folder/trial"
tar -C "$folder/another place" -xf "$tarball"
there=$(ls -d "$folder/another place"/liana-*)
for file in LICENSE LIBRARIES CHANGELOG.md bin/liana lib/libliana.so.1 include/liana/liana.h share/man/man1/liana.1 \
    share/zsh/site-functions/_liana share/fish/vendor_completions.d/liana.fish share/bash-completion/completions/liana; do
    [ -e "$there/$file" ] || fail "the tarball has no $file"
done
cmp "$root/LICENSE" "$there/LICENSE" || fail "another LICENSE"
awk '/^  / && NF < 2 { print; bad = 1 } END { exit bad }' "$there/LIBRARIES" || fail "LIBRARIES names no package for these"
version=$("$there/bin/liana" version)
[ "$(basename "$there")" = "liana-${version#liana }-$(uname -s | tr A-Z a-z)-$(uname -m)" ] ||
    fail "$(basename "$there") has liana of the version '$version'"
# Nothing of this machine's own libliana, and nothing is written there.
LD_DEBUG=libs "$there/bin/liana" version 2>&1 | grep -q "calling init: $there/bin/../lib/libliana.so.1" ||
    fail "bin/liana does not load the library next to it"
if grep -rlF -e "$root" "$there" >"$folder/log"; then fail "these name the folder they were built in: $(cat "$folder/log")"; fi

cat >"$folder/tests.sh" <<'TEXT'
set -eu
cd "$2"
"$1/bin/liana" synth flowers classes=3 images=90 image_size=32 seed=1 --out flowers
"$1/bin/liana" train data.train=flowers/train data.validation=flowers/val data.class_names=flowers/classes.txt \
    'data.image_size=[32, 32]' 'model.layers=[{Conv2D: {filters: 8, kernel_size: 3, activation: relu}}, Flatten, {Dense: {units: 3, activation: softmax}}]' \
    train.epochs=1 output=run
"$1/bin/liana" report run --html
if touch "$1/bin/file" 2>/dev/null; then echo "the folder is not read-only" >&2; exit 1; fi
TEXT
if [ "$(id -u)" -eq 0 ]; then
    # Permissions do not hold root.
    unshare --mount --propagation private sh -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && sh "$3" "$1" "$2"' \
        sh "$there" "$folder/trial" "$folder/tests.sh" >"$folder/log" 2>&1 || { cat "$folder/log"; fail "in a read-only folder"; }
else
    chmod -R a-w "$there"
    sh "$folder/tests.sh" "$there" "$folder/trial" >"$folder/log" 2>&1 || { cat "$folder/log"; fail "in a read-only folder"; }
fi
[ -s "$folder/trial/run/report.html" ] || fail "no report was written"
# A program finds it by the files that it has.
PKG_CONFIG_LIBDIR="$there/lib/pkgconfig"
export PKG_CONFIG_LIBDIR
case $there in
*\ *) mv "$there" "$folder/moved" && there=$folder/moved && PKG_CONFIG_LIBDIR=$there/lib/pkgconfig ;;
esac
cc -std=c17 -Wall -Werror "$root/tests/install/use_liana.c" -o "$folder/use" $(pkg-config --cflags --libs liana)
LD_LIBRARY_PATH=$there/lib "$folder/use" "${version#liana }"
echo "the tarball of ${version#liana } works"
