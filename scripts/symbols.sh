#!/bin/sh
# Prints debian/libliana1.symbols: the functions of the library, each with the first version that has it. Those of the
# present file keep theirs.
#   scripts/symbols.sh LIBRARY.so
set -eu
library=$1
root=$(cd "$(dirname "$0")/.." && pwd)
known=$root/debian/libliana1.symbols
number=$(sed 's/[-+].*//' "$root/VERSION")
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ -e "$known" ] || known=/dev/null
echo "$soname libliana${soname##*.} #MINVER#"
echo "* Build-Depends-Package: libliana-dev"
LC_ALL=C nm -D --defined-only "$library" | LC_ALL=C awk -v number="$number" '
    FNR == NR { if ($1 ~ /@Base$/) version[$1] = $2; next }
    $2 ~ /[A-Z]/ { name = $3 "@Base"; print " " name " " (name in version ? version[name] : number) }' "$known" - | LC_ALL=C sort
