#!/bin/sh
# Builds the Debian packages: liana, libliana1, libliana-dev, python3-liana, liana-doc, and those of debugging symbols.
#   scripts/packages.sh [FOLDER]
# FOLDER (default: build/packages) has then the packages, and build.log. It is made anew. The sources are those of
# scripts/source_tree.sh; they are built in FOLDER/source, or in the folder PACKAGE_SOURCE.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/build/packages}
for program in dpkg-buildpackage dh lintian; do
    command -v $program >/dev/null ||
        { echo "packages.sh: no $program; scripts/install-packages.sh --packages installs it" >&2; exit 1; }
done
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
source=${PACKAGE_SOURCE:-$folder/source}

SOURCE_DATE_EPOCH=$("$root/scripts/source_tree.sh" "$source")
source=$(cd "$source" && pwd)
export SOURCE_DATE_EPOCH
cd "$source"
# Debian sorts 1.0.0~dev before 1.0.0.
version=$(sed 's/-dev/~dev/' VERSION)
if [ "$(dpkg-parsechangelog -S Version)" != "$version" ]; then
    maintainer=$(sed -n 's/^Maintainer: //p' debian/control)
    {
        printf 'liana (%s) unstable; urgency=medium\n\n  * Built between releases.\n\n -- %s  %s\n\n' "$version" \
            "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
        cat debian/changelog
    } >debian/changelog.new
    mv debian/changelog.new debian/changelog
fi
# Permissions of what is packed are those that the build gives, whatever the user's are.
umask 022
LC_ALL=C.UTF-8 TZ=UTC dpkg-buildpackage -b -us -uc -j"${JOBS:-$(nproc)}" >"$folder/build.log" 2>&1 || {
    tail -n 40 "$folder/build.log" >&2
    echo "packages.sh: the build failed; $folder/build.log has all of it" >&2
    exit 1
}
if [ "$source" != "$folder/source" ]; then
    for file in "$(dirname "$source")"/liana_*.changes "$(dirname "$source")"/liana_*.buildinfo "$(dirname "$source")"/*.deb; do
        mv "$file" "$folder"
    done
fi
cd "$folder"
[ -n "${KEEP_SOURCE:-}" ] || rm -rf "$source"
# An override needs a reason, in debian/.
lintian --fail-on error,warning --tag-display-limit 0 "$folder"/liana_*.changes
ls -l "$folder"/*.deb
