# The peers that bench.sh measures against liana: read by it with `.`, not run alone. It sets here, build, out, records,
# round, rounds, workload, steps, seconds and threads.
#
# A peer has a name for PEERS, a program as records and tables call it, a Python and a script.
#   pytorch1    Debian's PyTorch 1.13        PYTHON             pytorch_peer.py
#   pytorch2    PyTorch 2                    LIANA_PEERS/torch    pytorch_peer.py
#   jax         JAX                          LIANA_PEERS/jax      jax_peer.py
#   tensorflow  TensorFlow with Keras        LIANA_PEERS/tensorflow    keras_peer.py
# shellcheck shell=sh shellcheck disable=SC2154
known_peers="pytorch1 pytorch2 jax tensorflow"
peers_dir=${LIANA_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/liana-peers}
# Whether the processor has instructions for bf16.
bf16=${BENCH_BF16:-$(grep -Eqw 'avx512_bf16|amx_bf16|bf16' /proc/cpuinfo && echo yes || echo no)}
available=
# What tells a peer to use no instructions beyond AVX2: oneDNN, MKL, PyTorch's own kernels and XLA's compiler. cap is that,
# or nothing.
avx2_cap="ONEDNN_MAX_CPU_ISA=AVX2 DNNL_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 ATEN_CPU_CAPABILITY=avx2"
avx2_cap="$avx2_cap XLA_FLAGS=--xla_cpu_max_isa=AVX2"
cap=

# describe_peer NAME: sets program, python and script
describe_peer() {
    case $1 in
    pytorch1) program="PyTorch 1.13" python=${PYTHON:-/usr/bin/python3} script=pytorch_peer.py ;;
    pytorch2) program="PyTorch 2" python=$peers_dir/torch/bin/python script=pytorch_peer.py ;;
    jax) program="JAX" python=$peers_dir/jax/bin/python script=jax_peer.py ;;
    tensorflow) program="TensorFlow" python=$peers_dir/tensorflow/bin/python script=keras_peer.py ;;
    esac
}

# find_peers NAME...: those that can run here become available; of the others it says why not, loudly.
find_peers() {
    for name in "$@"; do
        case " $known_peers " in
        *" $name "*) ;;
        *)
            echo "bench.sh: there is no peer '$name', expected some of: $known_peers" >&2
            exit 2
            ;;
        esac
        describe_peer "$name"
        if "$python" "$here/$script" --help >/dev/null 2>"$out/peer.err"; then
            available="$available $name"
        elif [ "$name" = pytorch1 ]; then
            skip "the peer $program, $python cannot import torch and numpy (scripts/install-packages.sh --bench installs them)"
        else
            skip "the peer $program, $python cannot run $script (scripts/install-peers.sh installs what it needs)"
        fi
    done
}

# likely NAME VARIANT: whether this setting may be the best one of the workload in its precision. SETTINGS=all measures the others too, which
# takes several times as long; after a change of machine or version that shows whether this list still holds.
likely() {
    [ "$settings" != all ] || return 0
    # Without instructions for bf16 it is computed in f32 after all, or worse.
    if [ "$bf16" = no ]; then
        case "$2" in *bf16*) return 1 ;; *) return 0 ;; esac
    fi
    case "$1 $2 $workload" in
    # Debian's PyTorch has bf16 for channels_last only.
    "pytorch1 "*bf16*contiguous*" train-"* | "pytorch1 "*bf16*contiguous*" infer"*) return 1 ;;
    # Today's is as fast with channels_last, or faster.
    "pytorch2 "*" eager contiguous "* | "pytorch2 "*" compile contiguous "*) return 1 ;;
    # Inference with weights that are constants, batch normalisation folded in.
    "pytorch2 "*" eager infer"* | "tensorflow "*" graph infer"*) return 1 ;;
    # XLA calls no oneDNN.
    "tensorflow "*" jit train-"* | "tensorflow "*" jit infer"* | "tensorflow "*" jit flowers"*) return 1 ;;
    # Loops that are unrolled are slower, and take minutes to compile.
    "jax fp32 unrolled "* | "tensorflow "*" unrolled "*) return 1 ;;
    # XLA converts bf16 to f32 and back around what it computes.
    "jax bf16"*" train-"* | "jax bf16"*" infer"* | "jax bf16"*" flowers"*) return 1 ;;
    esac
}

# peer NAME VARIANT OPTIONS...: in the first round every variant, later those that were best.
peer() {
    peer_name=$1 variant=$2
    shift 2
    case " $available " in *" $peer_name "*) ;; *) return 0 ;; esac
    likely "$peer_name" "$variant" || return 0
    describe_peer "$peer_name"
    if [ "$round" -gt 1 ] &&
        ! "$build/bench_report" best "$records" "$workload" "$program" | grep -qxF "$variant"; then return; fi
    set -- "$python" "$here/$script" "$@" --threads "$threads"
    # shellcheck disable=SC2086 # words are meant
    set -- $cap "$@"
    # malloc keeps its pages: all of today's, and Debian's where it is tuned.
    case "$peer_name $variant" in
    "pytorch1 tuned"* | pytorch2* | jax* | tensorflow*)
        set -- MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184 "$@"
        ;;
    esac
    # Programs that were compiled in an earlier run are not compiled again, but where a process's start is measured.
    case "$peer_name $workload" in
    *" start-"*) ;;
    pytorch2*) set -- TORCHINDUCTOR_CACHE_DIR="$peers_dir/cache/torch" "$@" ;;
    jax*) set -- JAX_COMPILATION_CACHE_DIR="$peers_dir/cache/jax" "$@" ;;
    esac
    # Failures and time limits are part of the result.
    "$build/bench_run" --limit "$limit" "$records" "$workload" "$program" "$variant" "$round" - env "$@" || true
}

# choose_steps: sets count and least. The first round only chooses: where a step takes long, one is enough.
choose_steps() {
    count=$steps least=$seconds
    case $workload in infer*) least=$(half "$seconds") ;; esac
    if [ "$round" -eq 1 ] && [ "$rounds" -gt 1 ]; then count=1 least=1; fi
}

# old_pytorch MODEL OPTIONS...: one batch, in each precision and layout.
old_pytorch() {
    for precision in fp32 bf16; do
        for layout in channels_last contiguous; do
            peer pytorch1 "$precision $layout" "$@" --precision "$precision" --layout "$layout" --steps "$count" \
                --warmup 1 --seconds "$least"
        done
        case $workload in infer*) continue ;; esac
        peer pytorch1 "tuned $precision channels_last" "$@" --precision "$precision" --steps "$count" --warmup 1 \
            --seconds "$least"
    done
    case $workload in infer*) ;; *) return 0 ;; esac
    # torch.jit's program is ready after a few calls.
    peer pytorch1 "tuned fp32 contiguous torch.jit" "$@" --frozen --layout contiguous --steps "$count" --warmup 2 \
        --seconds "$least"
    peer pytorch1 "tuned bf16 channels_last torch.jit" "$@" --frozen --precision bf16 --steps "$count" --warmup 2 \
        --seconds "$least"
}

# new_pytorch MODEL OPTIONS...: eager and through torch.compile, in both layouts; the warm-up compiles.
new_pytorch() {
    for precision in fp32 bf16; do
        for layout in channels_last contiguous; do
            suffix=
            [ "$layout" = channels_last ] || suffix=" contiguous"
            peer pytorch2 "$precision eager$suffix" "$@" --precision "$precision" --layout "$layout" \
                --steps "$count" --warmup 1 --seconds "$least"
            peer pytorch2 "$precision compile$suffix" "$@" --precision "$precision" --layout "$layout" --compile \
                --steps "$count" --warmup 2 --seconds "$least"
        done
    done
}

# jax MODEL OPTIONS...: depthwise convolutions in XLA's groups, and as one product for each tap.
jax() {
    for precision in float32 bfloat16; do
        short=fp32
        [ "$precision" = float32 ] || short=bf16
        peer jax "$short" "$@" --precision "$precision" --steps "$count" --warmup 1 --seconds "$least"
        case $1 in
        MobileNetV2 | EfficientNetB0 | Xception | flowers)
            peer jax "$short taps" "$@" --precision "$precision" --depthwise taps --steps "$count" --warmup 1 \
                --seconds "$least"
            ;;
        esac
    done
}

# tensorflow MODEL OPTIONS...: as a graph, compiled by XLA, and for inference with constant weights.
tensorflow() {
    for precision in float32 mixed_bfloat16; do
        short=fp32
        [ "$precision" = float32 ] || short=bf16
        peer tensorflow "$short graph" "$@" --precision "$precision" --steps "$count" --warmup 2 --seconds "$least"
        peer tensorflow "$short jit" "$@" --precision "$precision" --jit --steps "$count" --warmup 2 --seconds "$least"
        case $workload in infer*) ;; *) continue ;; esac
        peer tensorflow "$short frozen" "$@" --precision "$precision" --frozen --steps "$count" --warmup 2 \
            --seconds "$least"
    done
}

# peers_steps MODEL OPTIONS...: all peers on one batch.
peers_steps() {
    choose_steps
    old_pytorch "$@"
    new_pytorch "$@"
    jax "$@"
    tensorflow "$@"
}

# peers_layers LAYER: the networks of one family of layers in float32, of today's peers.
peers_layers() {
    choose_steps
    [ "$count" -gt 1 ] || least=$(half "$seconds")
    for layout in channels_last contiguous; do
        case "$1 $layout" in conv* | "decoder "* | *" channels_last") ;; *) continue ;; esac
        peer pytorch2 "fp32 $layout eager" "$1" --layout "$layout" --steps "$count" --warmup 2 --seconds "$least"
        peer pytorch2 "fp32 $layout compile" "$1" --layout "$layout" --compile --steps "$count" --warmup 2 \
            --seconds "$least"
    done
    peer jax "fp32" "$1" --steps "$count" --warmup 2 --seconds "$least"
    peer tensorflow "fp32 graph" "$1" --steps "$count" --warmup 2 --seconds "$least"
    peer tensorflow "fp32 jit" "$1" --jit --steps "$count" --warmup 2 --seconds "$least"
    case $1 in lstm | gru) ;; *) return 0 ;; esac
    peer jax "fp32 unrolled" "$1" --unroll 10 --steps "$count" --warmup 2 --seconds "$least"
    peer tensorflow "fp32 graph unrolled" "$1" --unroll --steps "$count" --warmup 2 --seconds "$least"
    peer tensorflow "fp32 jit unrolled" "$1" --jit --unroll --steps "$count" --warmup 2 --seconds "$least"
}

# peers_flowers: PyTorch in both paddings, since TensorFlow's costs it a copy.
peers_flowers() {
    choose_steps
    for padding in keras symmetric; do
        peer pytorch1 "fp32 contiguous-$padding" flowers --layout contiguous --padding "$padding"
        for precision in fp32 bf16; do
            peer pytorch1 "$precision channels_last-$padding" flowers --precision "$precision" --padding "$padding"
            peer pytorch1 "tuned $precision channels_last-$padding" flowers --precision "$precision" \
                --padding "$padding"
        done
    done
    new_pytorch flowers --padding symmetric
    jax flowers
    tensorflow flowers
}

# peers_files OPTIONS...: flowers from files. Whole epochs have no first steps to leave out but those that start workers.
peers_files() {
    for precision in fp32 bf16; do
        for padding in keras symmetric; do
            peer pytorch1 "$precision channels_last-$padding" flowers "$@" --precision "$precision" \
                --padding "$padding" --steps 12 --warmup 2 --seconds "$seconds"
        done
        peer pytorch2 "$precision eager" flowers "$@" --precision "$precision" --padding symmetric --steps 12 \
            --warmup 2 --seconds "$seconds"
        peer pytorch2 "$precision compile" flowers "$@" --precision "$precision" --padding symmetric --compile \
            --steps 12 --warmup 2 --seconds "$seconds"
    done
    peer tensorflow "fp32 graph" flowers "$@" --steps 12 --warmup 2 --seconds "$seconds"
    peer tensorflow "bf16 graph" flowers "$@" --precision mixed_bfloat16 --steps 12 --warmup 2 --seconds "$seconds"
}

# peers_start MODEL INPUT: one step, in the program that starts fastest.
peers_start() {
    for name in pytorch1 pytorch2 jax tensorflow; do
        variant="fp32 eager"
        case "$name $1" in
        "jax flowers") continue ;; # It has no reader of TFRecords.
        pytorch1*) variant="fp32 channels_last" ;;
        jax*) variant="fp32" ;;
        tensorflow*) variant="fp32 graph" ;;
        esac
        peer "$name" "$variant" "$1" --input "$2" --steps 1 --warmup 0 --seconds 0
    done
}
