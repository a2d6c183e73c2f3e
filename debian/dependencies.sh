#!/bin/sh
# Prints substitution variables: packages of libraries that no ELF header names.
#   dependencies.sh SOURCE_FOLDER                  liana:Loaded: libraries that are loaded when they are needed
#   dependencies.sh SOURCE_FOLDER static FILE.pc   liana:Static: those that programs with libliana.a link
set -eu
source=$1

# The package of a file that dpkg knows, without its architecture. A path may lie behind a link (/lib, libX.so).
owner() {
    dpkg-query -S "$1" 2>/dev/null | sed 's/[:,].*//' | sort -u | head -n 1
}
found=
add() {
    [ -n "$2" ] || { echo "dependencies.sh: no package has $1" >&2; exit 1; }
    case ", $found, " in *", $2, "*) ;; *) found=${found:+$found, }$2 ;; esac
}

triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
if [ "${2-}" = static ]; then
    for library in $(sed -n 's/^Libs.private://p' "$3" | tr ' ' '\n' | sed -n 's/^-l//p' | sort); do
        case $library in
        pthread | m | dl | gomp | :*) continue ;;
        esac
        add "$library" "$(owner "*/$triplet/lib$library.so")"
    done
    echo "liana:Static=$found"
    exit 0
fi
# LIANA_CAIRO_FILE="libcairo.so.2" in the commands of the build.
for file in $(grep -rhoE 'LIANA_[A-Z0-9]+_FILE=[^ ]*"' "$source"/obj-*/build.ninja | grep -oE 'lib[^"\\]+' | sort -u); do
    add "$file" "$(owner "*/$triplet/$file")"
done
echo "liana:Loaded=$found"
