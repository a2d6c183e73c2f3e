#!/bin/sh
# Installs the peers that liana is compared with, in fixed versions (tests/peers/): make check-peers and make bench use
# them.
#
#   scripts/install-peers.sh [PEER...]    of: torch networks jax tensorflow onnx plugin tfjs browser; default: all. What
#                                         is there is not fetched again.
#
#   torch        PyTorch 2, its CPU build: a virtual environment
#   networks     torchvision and timm, for the Python of torch: folders
#   jax          JAX with jaxlib, which brings StableHLO's interpreter: another one
#   tensorflow   TensorFlow for CPUs with Keras: another one
#   onnx         ONNX's checker and onnxruntime: another one
#   plugin       Google's PJRT plugin for CPUs
#   tfjs         TensorFlow.js
#   browser      playwright-core and axe-core, which drive and look at pages in Debian's chromium
#
#   LIANA_PEERS=~/.cache/liana-peers   where they go, about 4 GiB in all ($XDG_CACHE_HOME/liana-peers if that is set)
#   PYTHON=python3                     a Python of at least 3.11 with its venv module (scripts/install-packages.sh --peers)
#
# pip and npm take the packages from where they are set up to. PyPI's own torch brings CUDA along, some GiB that nothing
# here uses, so the list asks for the CPU build by its name: pip finds it where PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL
# names a place that has it, and takes no other. torch.compile needs g++. A peer that cannot be had is named at the end
# with the reason, and the status is 1; the others are there.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
lists=$source/tests/peers
folder=${LIANA_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/liana-peers}
python=${PYTHON:-python3}
known="torch networks jax tensorflow onnx plugin tfjs browser"

for peer in "$@"; do
    case " $known " in
    *" $peer "*) ;;
    *)
        echo "install-peers.sh: there is no peer '$peer', expected some of: $known" >&2
        exit 2
        ;;
    esac
done
# shellcheck disable=SC2086 # words are meant
[ $# -gt 0 ] || set -- $known
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Two at once would write into the same folders.
if command -v flock >/dev/null; then
    exec 9>"$folder/lock"
    flock 9
fi

# The packages of a peer. One that was made of other things is made anew.
wanted() {
    case $1 in
    tfjs) cksum <"$lists/package-lock.json" ;;
    browser) cksum <"$lists/browser/package-lock.json" ;;
    *)
        awk -v peer="$1" '/^# peer: / { inside = $3 == peer } inside && !/^#/ && NF' "$lists/requirements.txt"
        "$python" -c 'import sys; print("# for Python %d.%d" % sys.version_info[:2])'
        ;;
    esac
}
# Nothing that the list does not name is fetched, and nothing is compiled.
fetch() { # PYTHON OPTION...
    program=$1
    shift
    "$program" -m pip install --quiet --disable-pip-version-check --retries 2 --timeout 60 --no-deps --no-compile \
        --only-binary=:all: "$@"
}
in_environment() { # HOME MODULE
    "$python" -m venv "$1" && fetch "$1/bin/python" -r "$work/list" && "$1/bin/python" -W ignore -c "import $2"
}
from_npm() { # LIST HOME MODULE...
    mkdir -p "$2" && cp "$1/package.json" "$1/package-lock.json" "$2" || return 1
    (cd "$2" && npm ci --silent --no-audit --no-fund --ignore-scripts --fetch-retries 2) || return 1
    home=$2
    shift 2
    for module in "$@"; do NODE_PATH=$home/node_modules node -e "require('$module')" || return 1; done
}
install() { # PEER HOME
    case $1 in
    tensorflow) in_environment "$2" keras ;;
    torch | jax) in_environment "$2" "$1" ;;
    onnx) in_environment "$2" onnxruntime ;;
    plugin | networks) "$python" -m venv "$work/venv" && fetch "$work/venv/bin/python" --target "$2" -r "$work/list" ;;
    tfjs) from_npm "$lists" "$2" @tensorflow/tfjs-layers ;;
    browser) from_npm "$lists/browser" "$2" playwright-core axe-core ;;
    esac
}

missing=
for peer in "$@"; do
    home=$folder/$peer
    wanted "$peer" >"$work/list"
    # installed.txt is written last: a folder without it is not finished.
    if cmp -s "$work/list" "$home/installed.txt"; then continue; fi
    echo "Installing $peer into $home"
    rm -rf "$home" "$home.missing"
    if TF_CPP_MIN_LOG_LEVEL=3 install "$peer" "$home" >"$work/log" 2>&1; then
        cp "$work/list" "$home/installed.txt"
        continue
    fi
    rm -rf "$home"
    # The last complaint is the one that counts; the tests repeat it. No address is in it.
    reason=$(grep -E 'ERROR|[Ee]rror|not found|unable' "$work/log" | tail -n 1 | sed -E 's#(https?|file)://[^ ]*#...#g; s/^ERROR: //')
    echo "${reason:-$(tail -n 1 "$work/log")}" | tee "$home.missing" >"$work/reason"
    missing="$missing
  $peer: $(cat "$work/reason")"
done
if [ -n "$missing" ]; then
    echo "install-peers.sh: THESE COULD NOT BE INSTALLED, and what needs them is skipped:$missing" >&2
    exit 1
fi
