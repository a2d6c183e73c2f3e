#!/bin/sh
# Whole updates of large networks, compiled by libtpu for TPUs that are not there: one v5e chip, and eight.
#   ahead.sh BUILD_FOLDER [NETWORK...]     default MobileNetV2 ResNet50 EfficientNetB7
# libtpu is TPU_LIBRARY_PATH, or comes from PyPI: the wheel libtpu 0.0.40, about 350 MB, unpacked 800 MB, under the terms of
# Google Cloud Platform (https://cloud.google.com/terms), which whoever runs this accepts. It goes into LIBTPU_DIR
# (~/.local/share/liana/libtpu), and nowhere into this project. A network takes some gigabytes of memory and minutes.
# Prints for each: seconds, and MiB of a core by part. Ends with 1 if something does not compile, or does not fit into a
# core's memory; with 77, and why, where there is no libtpu to be had.
set -eu
build=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- MobileNetV2 ResNet50 EfficientNetB7
folder=${LIBTPU_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/liana/libtpu}
version=0.0.40
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap "exit 1" HUP INT TERM

if [ -z "${TPU_LIBRARY_PATH:-}" ]; then
    if [ ! -e "$folder/libtpu/libtpu.so" ]; then
        echo "Fetching libtpu $version (350 MB, under the terms of Google Cloud Platform) into $folder"
        python3 -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --only-binary=:all: \
            --target "$folder" "libtpu==$version" || {
            echo "skipped: libtpu $version cannot be had; TPU_LIBRARY_PATH may name another libtpu.so"
            exit 77
        }
    fi
    export TPU_LIBRARY_PATH="$folder/libtpu/libtpu.so"
fi

cd "$work"
"$build/liana" synth flowers classes=3 images=12 image_size=32 --out bed >/dev/null

# compile NETWORK SIZE BATCH MICROBATCH TOPOLOGY CHIPS DEVICE
compile() {
    cat >config.yaml <<EOT
data: {train: bed/train/*.tfrec, class_names: bed/classes.txt, image_size: [$2, $2]}
model: {base: $1}
train: {epochs: 1, batch_size: $3, microbatch: $4, precision: auto, optimizer: Adam}
EOT
    "$build/liana" plan config.yaml --device "$7" --topology "$5" --compile --replicas "$6" --json >log 2>err || {
        echo "$1 for $5 does not compile: $(tail -n 1 err)" >&2
        exit 1
    }
    grep '"compiled"' log | python3 -c '
import json, sys
name, chips, size, batch = sys.argv[1:]
event = json.loads(sys.stdin.read())
print("%-16s %5s %5s %6s" % (name, chips, size, batch), *("%11.1f" % (event[part] / 2**20) for part in (
    "arguments", "results", "aliased", "temporaries", "code", "total")), "%7.0f %8.0f" % (event["rounds"], event["seconds"]))
if event["program"] != "update" or event["total"] > 16 * 2**30:
    sys.exit("%s: that does not fit into the 16 GiB of a v5e" % name)' "$1" "$6" "$2" "$3"
}

printf '%-16s %5s %5s %6s %11s %11s %11s %11s %11s %11s %7s %8s\n' "MiB of a core" chips size batch arguments results aliased \
    temporaries code total rounds seconds
for network; do
    size=224 microbatch=32
    case $network in EfficientNetB7) size=600 microbatch=4 ;; esac
    compile "$network" $size $((8 * microbatch)) $microbatch v5e:1x1 1 'tpu?chips_per_host_bounds=1,1,1'
    compile "$network" $size $((8 * microbatch)) $microbatch v5e:2x4 8 tpu
done
