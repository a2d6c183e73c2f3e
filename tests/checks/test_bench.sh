#!/bin/sh
# `make bench` keeps running, says what it left out, and its reports say what was measured. Nothing is timed here.
#   test_bench.sh BUILD_FOLDER
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "test_bench.sh: $1" >&2
    exit 1
}

# Numbers that were made up: medians, ratios in both directions, what failed, and the variants worth going on with.
record() {
    printf '{"workload": "%s", "program": "%s", "variant": "%s", "round": %s, "seconds": 2.5, "peak_memory": %s, %s}\n' "$@"
}
rate() {
    printf '"result": {"images_per_second_median": %s, "images_per_second": 1}' "$1"
}
{
    record train-ResNet50 liana float32 1 104857600 "$(rate 40)"
    record train-ResNet50 PyTorch 'fp32 channels_last' 1 209715200 "$(rate 10)"
    record train-ResNet50 PyTorch 'fp32 contiguous' 1 209715200 "$(rate 8)"
    record train-ResNet50 PyTorch 'bf16 channels_last' 1 419430400 "$(rate 16)"
    record train-ResNet50 PyTorch 'bf16 contiguous' 1 419430400 '"error": "not implemented for BFloat16"'
    record train-ResNet50 PyTorch 'tuned bf16 channels_last' 1 419430400 "$(rate 25)"
    record train-ResNet50 liana float32 2 104857600 "$(rate 60)"
    record train-ResNet50 liana float32 3 104857600 "$(rate 50)"
    record start-mnist liana float32 1 1048576 "$(rate 1)"
    record mnist-files liana float32 1 1048576 \
        '"result": {"epochs": [{"images_per_second": 1000}, {"images_per_second": 2000}]}'
} >"$folder/records.jsonl"
[ "$("$build/bench_report" best "$folder/records.jsonl" train-ResNet50 | tr '\n' '|')" = \
    "fp32 channels_last|bf16 channels_last|tuned bf16 channels_last|" ] || fail "the best variants are not chosen"
"$build/bench_report" write "$folder/records.jsonl" "$folder" "a machine" >"$folder/said"
cmp -s "$folder/said" "$folder/table.txt" || fail "the table that is shown is not the one that is written"
expect() {
    grep -Eq "$1" "$folder/table.txt" || { cat "$folder/table.txt" >&2; fail "the table lacks: $1"; }
}
expect '^a machine$'
expect '^ResNet50 +float32 +50\.0 \(40\.0 to 60\.0\) +10\.0 +5\.00x +16\.0 +3\.12x +25\.0 +2\.00x$'
expect '^ResNet50 +float32 +100 \(100 to 100\) +200 +2\.00x +200 +2\.00x +400 +4\.00x$' # MiB
expect '^MNIST convnet +float32 +2\.50 +- +- '
expect '^MNIST convnet, epochs +float32 +2,000 +- +- '
expect '^train-ResNet50, PyTorch bf16 contiguous: not implemented for BFloat16$'
[ "$(head -c 8 "$folder/plot.png" | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ] || fail "plot.png is no PNG"
grep -q '<svg' "$folder/plot.svg" || fail "plot.svg is no SVG"

# Records that are none.
echo '{"workload": 1}' >"$folder/records.jsonl"
! "$build/bench_report" write "$folder/records.jsonl" "$folder" x 2>"$folder/said" || fail "a bad record is taken"
grep -q 'without workload, program or variant' "$folder/said" || fail "a bad record: $(cat "$folder/said")"

# A command that fails is recorded with what it said.
status=0
"$build/bench_run" "$folder/failed.jsonl" w p v 1 - sh -c 'echo no such thing >&2; exit 3' 2>/dev/null || status=$?
[ "$status" -eq 1 ] || fail "bench_run's status is $status for a command that failed, expected 1"
grep -q '"error": "no such thing"' "$folder/failed.jsonl" || fail "the record lacks the command's words"
"$build/bench_run" "$folder/failed.jsonl" w p v 1 - sh -c 'echo hello' 2>/dev/null && fail "'hello' is no report"

# bench_step says what is wrong.
wrong() {
    expected=$1
    shift
    ! "$build/bench_step" "$@" 2>"$folder/said" >/dev/null || fail "bench_step $* should fail"
    grep -q -- "$expected" "$folder/said" || fail "bench_step $*: $(cat "$folder/said")"
}
wrong "did you mean 'ResNet50'" ResNet5O
wrong "batch is '0', expected a number from 1" mlp --batch 0
wrong "steps is '1.5', expected a whole number" mlp --steps 1.5
wrong "network of one size" mnist --image-size 64

# The whole script, without a peer, on copies of a folder so that nothing real is overwritten.
mkdir "$folder/build"
for program in liana bench_step bench_run bench_report; do ln -s "$build/$program" "$folder/build/$program"; done
WORKLOADS='mlp* infer1-MobileNet*' ROUNDS=1 STEPS=1 SECONDS_EACH=0 PYTHON="$folder/no-python" \
    bench/bench.sh "$folder/build" >"$folder/said" 2>&1 || fail "bench.sh failed: $(cat "$folder/said")"
grep -q '^skipped: the peer' "$folder/said" || fail "bench.sh does not say that there is no peer"
grep -q '^MLP 784-512-10, steps *float32 *[0-9]' "$folder/build/bench/table.txt" || fail "no row for mlp-step"
grep -q '"workload": "infer1-MobileNetV2"' "$folder/build/bench/table.json" || fail "no row for infer1-MobileNetV2"
status=0
WORKLOADS='train-VGG*' bench/bench.sh "$folder/build" 2>"$folder/said" || status=$?
[ "$status" -eq 2 ] || fail "an unknown workload gives status $status, expected 2"

# One thread, two, and two processes: what the columns are. On whichever core there is.
core=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
ROUNDS=2 SECONDS_EACH=0 CORES="$core $core" bench/bench_threads.sh "$build" "mlp --batch 64" >"$folder/said"
grep -q '^mlp --batch 64\( *[0-9][0-9.]*\)\{5\}$' "$folder/said" || fail "no line of rates: $(cat "$folder/said")"
