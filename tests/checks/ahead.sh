#!/bin/sh
# Whole updates of large networks, compiled for devices that are not there: one TPU chip (v5e) and eight, by libtpu; one
# H200 and eight, by the plugin for GPUs.
#   ahead.sh BUILD_FOLDER [NETWORK...]     default MobileNetV2 ResNet50 EfficientNetB7
#   DEVICES="tpu gpu"                      both; or one of them
#   QUICK=1                                the compilers make their least effort: half to a quarter of the time
# libtpu is TPU_LIBRARY_PATH, or comes from PyPI: the wheel libtpu 0.0.40, about 350 MB, unpacked 800 MB, under the
# terms of Google Cloud Platform (https://cloud.google.com/terms), which the user of this script accepts. It goes into
# LIBTPU_DIR (~/.local/share/liana/libtpu), and nowhere into this project. The plugin for GPUs is CUDA_LIBRARY_PATH, or
# comes from PyPI into the same folder: jax-cuda13-pjrt 0.11.2, 150 MB, with NVIDIA's nvidia-cuda-nvcc and nvidia-nvvm,
# under the terms of their CUDA toolkit (https://docs.nvidia.com/cuda/eula). No driver is needed. Without a GPU
# algorithms are not measured, so the program of a real one may differ. A network takes some gigabytes of memory and
# minutes. Prints for each: seconds, and MiB of a core by part; then the compiled update, and MiB that its steps write,
# of which are padding, are only copied, and are added over devices. Ends with 1 if something does not compile, or does
# not fit into a core's memory; with 77, and why, where there is no libtpu to be had.
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")" && pwd)
shift
[ $# -gt 0 ] || set -- MobileNetV2 ResNet50 EfficientNetB7
folder=${LIBTPU_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/liana/libtpu}
version=0.0.40
cuda_version=0.11.2
devices=${DEVICES:-tpu gpu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap "exit 1" HUP INT TERM

fetch() {
    echo "Fetching $* into $folder"
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --only-binary=:all: \
        --target "$folder" "$@" || {
        echo "skipped: $1 cannot be had; TPU_LIBRARY_PATH or CUDA_LIBRARY_PATH may name a plugin"
        exit 77
    }
}
for device in $devices; do
    case $device in
    tpu)
        [ -n "${TPU_LIBRARY_PATH:-}" ] || [ -e "$folder/libtpu/libtpu.so" ] || fetch "libtpu==$version"
        export TPU_LIBRARY_PATH="${TPU_LIBRARY_PATH:-$folder/libtpu/libtpu.so}"
        ;;
    gpu)
        cuda=${CUDA_LIBRARY_PATH:-$folder/jax_plugins/xla_cuda13/xla_cuda_plugin.so}
        [ -e "$cuda" ] || fetch "jax-cuda13-pjrt==$cuda_version"
        [ -e "$folder/nvidia/cu13/bin/ptxas" ] || fetch nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt
        tools="--xla_gpu_cuda_data_dir=$folder/nvidia/cu13" # libtpu would refuse it
        ;;
    *)
        echo "ahead.sh: DEVICES has '$device', expected tpu or gpu" >&2
        exit 1
        ;;
    esac
done

cd "$work"
"$build/liana" synth flowers classes=3 images=12 image_size=32 --out bed >/dev/null

# compile NETWORK SIZE BATCH MICROBATCH TOPOLOGY CHIPS DEVICE GIB FLAGS
compile() {
    cat >config.yaml <<EOT
data: {train: bed/train/*.tfrec, class_names: bed/classes.txt, image_size: [$2, $2]}
model: {base: $1}
train: {epochs: 1, batch_size: $3, microbatch: $4, precision: auto, optimizer: Adam}
EOT
    XLA_FLAGS="$9" "$build/liana" plan config.yaml --device "$7" --topology "$5" --compile --replicas "$6" --json ${QUICK:+--quick} \
        >log 2>err || {
        echo "$1 for $5 does not compile: $(tail -n 1 err)" >&2
        exit 1
    }
    grep '"compiled"' log | python3 -c '
import json, sys
name, chips, size, batch = sys.argv[1:5]
event = json.loads(sys.stdin.read())
print("%-16s %5s %5s %6s" % (name, chips, size, batch), *("%11.1f" % (event[part] / 2**20) for part in (
    "arguments", "results", "aliased", "temporaries", "code", "total")), "%7.0f %8.0f" % (event["rounds"], event["seconds"]))
if "steps" not in event:
    sys.exit(name + ": the plugin does not say what it has made of the update")
print("    steps %d, fused %d, convolutions and products %d, copies %d, sums over devices %d;" % tuple(event[part] for part in (
    "steps", "fused", "products", "copies", "device_sums")), "MiB written %.0f, padding %.0f, copied %.0f, over devices %.0f;"
    % tuple(event[part] / 2**20 for part in ("written", "padding", "copied", "device_bytes")), "%.0f GFLOP" % (event["flops"] / 1e9))
if event["products"] < 50 or (int(chips) > 1) != (event["device_sums"] > 0):
    sys.exit(name + ": these cannot be the steps of its update")
if event["program"] != "update" or event["total"] > float(sys.argv[5]) * 2**30:
    sys.exit("%s: that does not fit into %s GiB" % (name, sys.argv[5]))' "$1" "$6" "$2" "$3" "$8"
}

for device in $devices; do
    printf '\n%-16s %5s %5s %6s %11s %11s %11s %11s %11s %11s %7s %8s\n' "MiB of a $device" "$device"s size batch arguments results \
        aliased temporaries code total rounds seconds
    for network; do
        size=224 microbatch=32
        case $network in EfficientNetB7) size=600 microbatch=4 ;; esac
        batch=$((8 * microbatch))
        case $device in
        tpu)
            compile "$network" $size $batch $microbatch v5e:1x1 1 'tpu?chips_per_host_bounds=1,1,1' 16 "${XLA_FLAGS:-}"
            compile "$network" $size $batch $microbatch v5e:2x4 8 tpu 16 "${XLA_FLAGS:-}"
            ;;
        gpu)
            compile "$network" $size $batch $microbatch "$source/h200.txtpb" 1 "pjrt:$cuda" 140 "$tools ${XLA_FLAGS:-}"
            compile "$network" $size $batch $microbatch "$source/h200.txtpb" 8 "pjrt:$cuda" 140 "$tools ${XLA_FLAGS:-}"
            ;;
        esac
    done
done
