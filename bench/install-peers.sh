#!/bin/sh
# Installs the peers of today that `make bench` measures beside liana, each into a virtual environment of its own:
#
#   bench/install-peers.sh [PEER...]    of: torch jax tensorflow; default: all. What is there already costs nothing.
#
#   PEERS_DIR=build/peers   where they go: PEERS_DIR/torch, /jax and /tensorflow, about 3 GiB in all
#   PYTHON=python3          the Python that the environments are made of (3.11 or newer, with its venv module)
#
# pip takes packages from where it is set up to. PyPI's torch brings CUDA along, some GiB that nothing here uses; its
# CPU build comes where PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS names a place that has it. torch.compile needs g++.
# A peer that cannot be had is named at the end, and the status is 1; the others are there, and the bench does without it.
# (Debian's PyTorch 1.13 comes with scripts/install-packages.sh --bench.)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${PEERS_DIR:-$here/../build/peers}
python=${PYTHON:-python3}

# packages_of PEER: what pip is asked for, and the module that has to be there afterwards
packages_of() {
    case $1 in
    torch) echo "torch==2.13.0 numpy==2.4.6 pillow==13.0.0" ;;
    jax) echo "jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6" ;;
    tensorflow) echo "tensorflow-cpu==2.21.0 keras==3.15.1 numpy==2.4.6" ;;
    *)
        echo "install-peers.sh: there is no peer '$1', expected torch, jax or tensorflow" >&2
        exit 2
        ;;
    esac
}

# install PEER
install() {
    packages=$(packages_of "$1")
    home=$folder/$1
    # The list of what was installed is written last: an environment without it is not finished.
    if [ "$(cat "$home/installed.txt" 2>/dev/null)" = "$packages" ]; then
        echo "$1: already there"
        return 0
    fi
    echo "$1: $packages"
    rm -rf "$home"
    "$python" -m venv "$home" || return 1
    # shellcheck disable=SC2086
    "$home/bin/pip" install --quiet --disable-pip-version-check --no-compile $packages || return 1
    "$home/bin/python" -c "import $1" || return 1
    echo "$packages" >"$home/installed.txt"
}

if [ $# -eq 0 ]; then set -- torch jax tensorflow; fi
for peer in "$@"; do packages_of "$peer" >/dev/null; done
mkdir -p "$folder"
missing=
for peer in "$@"; do
    install "$peer" || missing="$missing $peer"
done
if [ -n "$missing" ]; then
    echo "install-peers.sh: COULD NOT BE INSTALLED, and will be missing from the bench:$missing" >&2
    exit 1
fi
