#!/bin/sh
# The requests of `make bench` to a peer of today work, in tiny workloads: its networks have the parameters that they
# are known to have, a step learns, and settings that must not change results do not. Nothing is timed.
#   test_peers.sh torch|jax|tensorflow
set -eu
peer=$1
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_peer "$peer"
python=$peers/$peer/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "test_peers.sh: $1" >&2
    exit 1
}

case $peer in
torch) script=pytorch_peer.py program=PyTorch ;;
jax) script=jax_peer.py program=JAX ;;
tensorflow) script=keras_peer.py program=TensorFlow ;;
esac

# report OPTIONS...: one measured step after the warm-up; the last line of output is the report.
report() {
    "$python" "bench/$script" "$@" --threads 1 --seconds 0 >"$folder/out" 2>"$folder/err" ||
        fail "$script $*: $(tail -n 20 "$folder/err")"
    tail -n 1 "$folder/out" >"$folder/report"
    grep -q "^{\"program\": \"$program\", \"version\": \"[0-9]" "$folder/report" ||
        fail "$script $*: no report: $(cat "$folder/report")"
    awk -v rate="$(number images_per_second_median)" 'BEGIN { exit !(rate > 0) }' || fail "$script $*: no rate"
}

# number NAME: of the last report
number() {
    grep -o "\"$1\": [0-9.e+-]*" "$folder/report" | sed 's/.*: //'
}

# expect_loss FROM TO: the last step's
expect_loss() {
    loss=$(number loss)
    awk -v loss="$loss" -v from="$1" -v to="$2" 'BEGIN { exit !(loss >= from && loss <= to) }' ||
        fail "the loss is '$loss', expected $1 to $2: $(cat "$folder/report")"
}

# same NAME VALUE: up to rounding
same() {
    value=$(number loss)
    awk -v a="$value" -v b="$2" 'BEGIN { d = a - b; exit !(d < 1e-3 * b && -d < 1e-3 * b) }' ||
        fail "$1 gives $value instead of $2"
}

case $peer in
torch) "$python" bench/pytorch_networks.py >"$folder/said" || fail "wrong networks" ;;
jax) "$python" bench/jax_networks.py >"$folder/said" || fail "wrong networks" ;;
esac

# The first answer is a guess, whose loss is ln(10), give or take; some steps later one small batch is known (under
# dropout less so).
case $peer in torch) low=bf16 ;; jax) low=bfloat16 ;; *) low=mixed_bfloat16 ;; esac
report mlp --batch 8 --warmup 0 --steps 1
expect_loss 1.5 4
report mlp --batch 8 --warmup 40 --steps 1
expect_loss 0 0.1
report mnist --batch 8 --warmup 100 --steps 1 --precision $low
expect_loss 0 1.2

# Inference answers with the probability of the likeliest class, however it is computed.
small="MobileNetV2 --image-size 32 --batch 2 --infer --warmup 0 --steps 1"
case $peer in
torch)
    report mnist --batch 8 --converged --steps 1
    expect_loss 0 1e-3 # learned by heart: before, it is about 2.3
    [ "$(number denormals)" -gt 0 ] || fail "the converged state has no denormal numbers"
    # shellcheck disable=SC2086
    report $small
    expect_loss 0.009 1
    if command -v g++ >/dev/null; then
        report mlp --batch 8 --infer --warmup 0 --steps 1
        eager=$(number loss)
        report mlp --batch 8 --infer --warmup 0 --steps 1 --compile
        same "torch.compile" "$eager"
    fi
    ;;
jax)
    # shellcheck disable=SC2086
    report $small
    groups=$(number loss)
    expect_loss 0.009 1
    # shellcheck disable=SC2086
    report $small --depthwise taps
    same "a depthwise convolution by taps" "$groups"
    ;;
tensorflow)
    # shellcheck disable=SC2086
    report $small
    graph=$(number loss)
    expect_loss 0.009 1
    # shellcheck disable=SC2086
    report $small --frozen
    same "a graph with constant weights" "$graph"
    ;;
esac
