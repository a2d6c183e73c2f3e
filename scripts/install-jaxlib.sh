#!/bin/sh
# Installs JAX with jaxlib for the tests of StableHLO (tests/test_stablehlo.c): they run what liana writes by StableHLO's
# own interpreter and by XLA's compiler, which jaxlib brings along. What is there already costs nothing.
#
#   JAXLIB_DIR=~/.local/share/liana/jaxlib   where it goes, about 500 MiB ($XDG_DATA_HOME/liana/jaxlib if that is set)
#   PYTHON=python3                           a Python of at least 3.11 with pip (Debian: python3-pip)
#
# pip takes the packages from where it is set up to. Without them those tests say that they are skipped.
set -eu
folder=${JAXLIB_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/liana/jaxlib}
python=${PYTHON:-python3}
packages="jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 ml_dtypes==0.6.0 scipy==1.17.1 opt_einsum==3.4.0"
wanted="$packages for $("$python" -c 'import sys; print("Python %d.%d" % sys.version_info[:2])')"

if [ "$(cat "$folder/installed.txt" 2>/dev/null)" = "$wanted" ]; then
    echo "jaxlib is installed."
    exit 0
fi
if ! "$python" -m pip --version >/dev/null 2>&1; then
    echo "scripts/install-jaxlib.sh: $python has no pip; on Debian: apt-get install python3-pip" >&2
    exit 1
fi
rm -rf "$folder"
mkdir -p "$folder"
# shellcheck disable=SC2086
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --only-binary=:all: \
    --target "$folder/packages" $packages
PYTHONPATH=$folder/packages "$python" -c 'import jaxlib.mlir.dialects.stablehlo'
# Written last: a folder without it is not finished.
echo "$wanted" >"$folder/installed.txt"
echo "Installed jaxlib in $folder."
