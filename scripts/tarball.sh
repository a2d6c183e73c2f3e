#!/bin/sh
# Builds a tarball that runs from any folder: liana-VERSION-SYSTEM.tar.xz. bin/liana finds its library, and the library its
# modules, from where they lie. LIBRARIES in it lists the libraries of the system that it needs.
#   scripts/tarball.sh [FOLDER]
# FOLDER (default: build/tarball) is made anew. The sources are those of scripts/source_tree.sh, built in FOLDER/source or
# in the folder PACKAGE_SOURCE.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/build/tarball}
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
source=${PACKAGE_SOURCE:-$folder/source}
SOURCE_DATE_EPOCH=$("$root/scripts/source_tree.sh" "$source")
source=$(cd "$source" && pwd)
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
umask 022
name=liana-$(cat "$source/VERSION")-$(uname -s | tr A-Z a-z)-$(uname -m)
flags="-ffile-prefix-map=$source=."
{
    cmake -S "$source" -B "$source/build" $(command -v ninja >/dev/null && echo -G Ninja) -DLIANA_TESTS=OFF \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS="$flags" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX=/liana -Wno-dev ${LIANA_PACKAGE_OPTIONS-} &&
        nice cmake --build "$source/build" --parallel "${JOBS:-$(nproc)}" --target liana_product &&
        DESTDIR='' cmake --install "$source/build" --strip --prefix "$folder/$name"
} >"$folder/build.log" 2>&1 || {
    tail -n 40 "$folder/build.log" >&2
    echo "tarball.sh: the build failed; $folder/build.log has all of it" >&2
    exit 1
}
cp "$source/LICENSE" "$source/CHANGELOG.md" "$folder/$name"

# needed FILE: the libraries that it is linked with
needed() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}
# Debian's package of a library.
package() {
    dpkg-query -S "*/$1" 2>/dev/null | sed 's/[:,].*//' | sort -u | head -n 1
}
rows() {
    for library in "$@"; do printf '  %-26s %s\n' "$library" "$(package "$library")"; done
}
{
    echo "Libraries of the system that liana needs, with the packages that have them in Debian 12."
    echo
    echo "Always:"
    rows $( (needed "$folder/$name/bin/liana" && needed "$folder/$name/lib/libliana.so") | grep -v '^libliana' | sort -u)
    echo
    echo "Loaded when they are needed, for pictures, formats of images and files, and networks:"
    rows $(grep -rhoE 'LIANA_[A-Z0-9]+_FILE=[^ ]*"' "$source/build/build.ninja" | grep -oE 'lib[^"\\]+' | sort -u)
    for module in "$folder/$name"/lib/liana/*/*.so; do
        [ -e "$module" ] || continue
        echo
        echo "For ${module#"$folder/$name/"}, by mpirun alone:"
        rows $(needed "$module" | grep -v '^libc\.' | sort -u)
    done
} >"$folder/$name/LIBRARIES"

find "$folder/$name" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
# xz with one thread: more cut the file into blocks.
tar -C "$folder" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=u+rwX,go=rX \
    --mtime="@$SOURCE_DATE_EPOCH" -c "$name" | xz -6 -T1 >"$folder/$name.tar.xz"
rm -rf "${folder:?}/$name"
[ -n "${KEEP_SOURCE:-}" ] || rm -rf "$source"
ls -l "$folder/$name.tar.xz"
