#!/bin/sh
# `make bench` keeps running, says which parts it left out, and its reports name the measurements. Nothing is timed
# here.
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

# Numbers that were made up: medians, ratios in both directions, failures, and the variants worth going on with.
record() {
    printf '{"workload": "%s", "program": "%s", "variant": "%s", "round": %s, "seconds": 2.5, "peak_memory": %s, %s}\n' "$@"
}
rate() {
    printf '"result": {"images_per_second_median": %s, "images_per_second": 1}' "$1"
}
{
    record train-ResNet50 liana float32 1 104857600 "$(rate 40)"
    record train-ResNet50 'PyTorch 1.13' 'fp32 channels_last' 1 209715200 "$(rate 10)"
    record train-ResNet50 'PyTorch 1.13' 'fp32 contiguous' 1 209715200 "$(rate 14)"
    record train-ResNet50 'PyTorch 1.13' 'bf16 channels_last' 1 419430400 "$(rate 16)"
    record train-ResNet50 'PyTorch 1.13' 'bf16 contiguous' 1 419430400 '"error": "not implemented for BFloat16"'
    record train-ResNet50 'PyTorch 1.13' 'tuned bf16 channels_last' 1 419430400 "$(rate 25)"
    record train-ResNet50 'PyTorch 2' 'bf16 eager' 1 314572800 "$(rate 20)"
    record train-ResNet50 'PyTorch 2' 'bf16 compile' 1 314572800 "\"version\": \"2.13.0\", $(rate 40)"
    record train-ResNet50 JAX 'fp32' 1 157286400 "\"version\": \"0.10.2\", $(rate 5)"
    record train-ResNet50 JAX 'bf16' 1 157286400 '"error": "took longer than 300 s"'
    record train-ResNet50 TensorFlow 'bf16 graph' 1 524288000 "$(rate 30)"
    record train-ResNet50 liana mixed_bfloat16 1 94371840 "$(rate 60)"
    record train-ResNet50 liana float32 2 104857600 "$(rate 60)"
    record train-ResNet50 JAX 'fp32' 2 157286400 "$(rate 15)"
    record train-ResNet50 liana float32 3 104857600 "$(rate 50)"
    record train-ResNet50 JAX 'fp32' 3 157286400 "$(rate 5)"
    record start-mnist liana float32 1 1048576 "$(rate 1)"
    record infer1-ResNet50 liana float32 1 1048576 "$(rate 100)"
    record infer1-ResNet50 TensorFlow 'bf16 frozen' 1 1048576 "$(rate 80)"
    record infer1-ResNet50 JAX 'fp32 taps' 1 1048576 "$(rate 125)"
    record layers-lstm liana float32 1 1048576 "$(rate 80)"
    record layers-lstm JAX fp32 1 1048576 "$(rate 10)"
    record layers-gru liana float32 1 1048576 "$(rate 70)"
    record layers-gru 'PyTorch 2' 'fp32 channels_last eager' 1 1048576 "$(rate 30)"
    record mnist-files liana float32 1 1048576 \
        '"result": {"epochs": [{"images_per_second": 1000}, {"images_per_second": 2000}]}'
} >"$folder/records.jsonl"
# best WORKLOAD PROGRAM VARIANTS: the variants of the next round.
best() {
    [ "$("$build/bench_report" best "$folder/records.jsonl" "$1" "$2" | tr '\n' '|')" = "$3" ] ||
        fail "the best of $2 are not chosen: $("$build/bench_report" best "$folder/records.jsonl" "$1" "$2")"
}
best train-ResNet50 'PyTorch 1.13' 'fp32 contiguous|bf16 channels_last|tuned bf16 channels_last|'
best train-ResNet50 'PyTorch 2' 'bf16 compile|'
best train-ResNet50 JAX 'fp32|'
best start-mnist JAX ''
"$build/bench_report" write "$folder/records.jsonl" "$folder" "a machine" >"$folder/said"
cmp -s "$folder/said" "$folder/table.txt" || fail "the table that is shown is not the one that is written"
expect() {
    grep -Eq "$1" "$folder/table.txt" || { cat "$folder/table.txt" >&2; fail "the table lacks: $1"; }
}
expect '^a machine$'
expect 'images/s +liana +PT 1\.13 +tuned +PT 2 +JAX +TF +ratio$'
# Peers' numbers are of the same precision, ratios those of each round: 40 / 5, 60 / 15, 50 / 5.
expect '^ResNet50 +float32 +50\.0 \(40\.0 to 60\.0\) +14\.0 +- +- +5\.00 +- +8\.00x \(4\.00 to 10\.00\)$'
expect '^ +mixed_bfloat16 +60\.0 +16\.0 +25\.0 +40\.0 +- +30\.0 +1\.50x$'
expect '^ +mixed_bfloat16 +90\.0 +400 +400 +300 +- +500 +3\.33x$' # MiB: less is better
expect '^ResNet50 +float32 +100 +- +- +- +125 +- +0\.80x$'
expect '^geometric mean +float32 +4\.32x in 2 rows, least 2\.33x: layers-gru$'
expect '^in the same precision +float32 +3\.31x in 4 rows, least 0\.80x: infer1-ResNet50$'
expect '^in either precision +float32 +1\.97x in 4 rows, least 0\.80x: infer1-ResNet50$'
expect '^MNIST convnet +float32 +2\.50( +-){6}$'
expect '^MNIST convnet, epochs +float32 +2,000( +-){6}$'
expect '^PyTorch 2 is 2\.13\.0\. JAX is 0\.10\.2\.$'
expect '^train-ResNet50 +fp32 contiguous +- +- +fp32 +-$'
expect '^ +bf16 channels_last +bf16 channels_last +bf16 compile +- +bf16 graph$'
expect '^infer1-ResNet50 +- +- +- +fp32 taps +-$'
expect '^ +- +- +- +- +bf16 frozen$'
expect '^train-ResNet50, PyTorch 1\.13 bf16 contiguous: not implemented for BFloat16$'
expect '^train-ResNet50, JAX bf16: took longer than 300 s$'
longest=$(awk '{ if (length > longest) longest = length } END { print longest }' "$folder/table.txt")
[ "$longest" -le 140 ] || fail "a line of the table has $longest characters, expected 140 at most"
best_of_today=$(tr -d ' \n' <"$folder/table.json" | grep -o '"program":"[^"]*"[^{]*"best_of_today":true' | cut -d'"' -f4 | tr '\n' '|')
[ "$best_of_today" = 'PyTorch2|JAX|JAX|JAX|PyTorch2|' ] || fail "table.json says that the best are $best_of_today"
tr -d ' \n' <"$folder/table.json" |
    grep -q '"means":\[{"variant":"float32","peers_in":"sameprecision","rows":4,"geometric_mean":3.30[0-9]*,"least":0.8' ||
    fail "table.json lacks the mean of all rows: $(grep -A 8 '"means"' "$folder/table.json")"
[ "$(head -c 8 "$folder/plot.png" | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ] || fail "plot.png is no PNG"
grep -q '<svg' "$folder/plot.svg" || fail "plot.svg is no SVG"

# Wrong records.
echo '{"workload": 1}' >"$folder/records.jsonl"
! "$build/bench_report" write "$folder/records.jsonl" "$folder" x 2>"$folder/said" || fail "a bad record is taken"
grep -q 'without workload, program or variant' "$folder/said" || fail "a bad record: $(cat "$folder/said")"

# A failing command is recorded with its message.
status=0
"$build/bench_run" "$folder/failed.jsonl" w p v 1 - sh -c 'echo no such thing >&2; exit 3' 2>/dev/null || status=$?
[ "$status" -eq 1 ] || fail "bench_run's status is $status for a command that failed, expected 1"
grep -q '"error": "no such thing"' "$folder/failed.jsonl" || fail "the record lacks the command's words"
"$build/bench_run" "$folder/failed.jsonl" w p v 1 - sh -c 'echo hello' 2>/dev/null && fail "'hello' is no report"
# One that takes too long ends with the processes that it started; a version is kept.
! "$build/bench_run" --limit 1 "$folder/late.jsonl" w p v 1 - sh -c 'sleep 600 & echo $! >"$1"; wait' sh "$folder/pid" \
    2>/dev/null || fail "what takes too long should fail"
grep -q '"error": "took longer than 1 s"' "$folder/late.jsonl" || fail "the record: $(cat "$folder/late.jsonl")"
# It is gone soon, or dead and not yet buried.
tries=0
while state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$(cat "$folder/pid")/status" 2>/dev/null || true); do
    case $state in "" | Z | X) break ;; esac
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || fail "what the command started goes on, in state $state"
    sleep 0.1
done
"$build/bench_run" --limit 60 "$folder/good.jsonl" w p v 1 - echo '{"version": "1.2", "x": 1}'
grep -q '^{"workload": "w", "program": "p", "version": "1.2", "variant": "v"' "$folder/good.jsonl" ||
    fail "the record: $(cat "$folder/good.jsonl")"

# bench_step names the fault.
wrong() {
    expected=$1
    shift
    ! "$build/bench_step" "$@" 2>"$folder/said" >/dev/null || fail "bench_step $* should fail"
    grep -q -- "$expected" "$folder/said" || fail "bench_step $*: $(cat "$folder/said")"
}
wrong "did you mean 'ResNet50'" ResNet5O
wrong "batch is '0', expected a number from 1" mlp --batch 0
wrong "steps is '1.5', expected a whole number" mlp --steps 1.5
wrong "'cpu' is no device of a PJRT plugin" mlp --against none.mlir
wrong "network of one size" mnist --image-size 64
wrong "converged is for training" mnist --converged --infer

# The converged state is one: next to no loss, and denormal numbers, which a fresh state has none of.
for precision in float32 mixed_bfloat16; do
    "$build/bench_step" mnist --batch 16 --converged --precision $precision --steps 1 --seconds 0 >"$folder/said"
    grep -Eq '"converged_loss": [0-9.]+e-[0-9]+, "denormals": [1-9][0-9]{2}' "$folder/said" ||
        fail "no converged state: $(cat "$folder/said")"
done

# The whole script, without a peer, on copies of a folder so that nothing real is overwritten.
mkdir "$folder/build"
for program in liana bench_step bench_run bench_report; do ln -s "$build/$program" "$folder/build/$program"; done
WORKLOADS='mlp* infer1-MobileNet*' ROUNDS=1 STEPS=1 SECONDS_EACH=0 PYTHON="$folder/no-python" LIANA_PEERS="$folder/none" \
    bench/bench.sh "$folder/build" >"$folder/said" 2>&1 || fail "bench.sh failed: $(cat "$folder/said")"
[ "$(grep -c '^skipped: the peer' "$folder/said")" -eq 4 ] || fail "bench.sh does not say that there is no peer"
grep -q '^MLP 784-512-10, steps *float32 *[0-9]' "$folder/build/bench/table.txt" || fail "no row for mlp-step"
grep -q '"workload": "infer1-MobileNetV2"' "$folder/build/bench/table.json" || fail "no row for infer1-MobileNetV2"
# Peers that answer at once: which settings of which are asked for, and that the best one goes on.
mkdir -p "$folder/peers/torch/bin" "$folder/peers/jax/bin"
cat >"$folder/peers/torch/bin/python" <<'END'
#!/bin/sh
case "$*" in *--compile*) rate=7 ;; *--help*) exit 0 ;; *) rate=5 ;; esac
echo "{\"version\": \"9\", \"images_per_second_median\": $rate, \"images_per_second\": 1}"
END
printf '#!/bin/sh\nexit 77\n' >"$folder/peers/jax/bin/python"
chmod +x "$folder/peers/torch/bin/python" "$folder/peers/jax/bin/python"
BENCH_BF16=yes WORKLOADS=mlp-step ROUNDS=2 STEPS=1 SECONDS_EACH=0 PEERS="pytorch2 jax" LIANA_PEERS="$folder/peers" \
    bench/bench.sh "$folder/build" >"$folder/said" 2>&1 || fail "bench.sh failed: $(cat "$folder/said")"
grep -q '^skipped: the peer JAX' "$folder/said" || fail "bench.sh does not say that JAX is missing"
asked=$(grep -o '"PyTorch 2", "version": "9", "variant": "[^"]*", "round": [12]' "$folder/build/bench/records.jsonl" |
    sed 's/.*variant": "\(.*\)", "round": /\1 /' | tr '\n' '|')
[ "$asked" = 'fp32 eager 1|fp32 compile 1|bf16 eager 1|bf16 compile 1|fp32 compile 2|bf16 compile 2|' ] ||
    fail "PyTorch 2 was asked for $asked"
status=0
PEERS=caffe bench/bench.sh "$folder/build" 2>"$folder/said" || status=$?
[ "$status" -eq 2 ] || fail "an unknown peer gives status $status, expected 2"
status=0
WORKLOADS='train-AlexNet*' bench/bench.sh "$folder/build" 2>"$folder/said" || status=$?
[ "$status" -eq 2 ] || fail "an unknown workload gives status $status, expected 2"

# Long training: the contents of its line, and its limits.
status=0
LIANA_TEST_DATA="$folder/none" bench/bench_long.sh "$folder/build" 2>"$folder/said" || status=$?
[ "$status" -eq 77 ] || fail "bench_long.sh without data gives status $status, expected 77"
if [ -d "${LIANA_TEST_DATA:-../shared/data}/mnist" ]; then
    status=0
    EPOCHS=20 bench/bench_long.sh "$folder/build" 2>"$folder/said" || status=$?
    [ "$status" -eq 2 ] || fail "too few epochs give status $status, expected 2"
    EPOCHS=21 STEPS=1 bench/bench_long.sh "$folder/build" >"$folder/said"
    for precision in float32 mixed_bfloat16; do
        grep -Eq "^$precision +epochs 2 to 11: +[1-9][0-9]* images/s, 12 to 21: +[1-9][0-9]* images/s, [0-9.]+ times" \
            "$folder/said" || fail "bench_long.sh says $(cat "$folder/said")"
    done
fi

# One thread, two, and two processes: the columns. On whichever core there is.
core=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
ROUNDS=2 SECONDS_EACH=0 CORES="$core $core" bench/bench_threads.sh "$build" "mlp --batch 64" >"$folder/said"
grep -q '^mlp --batch 64\( *[0-9][0-9.]*\)\{5\}$' "$folder/said" || fail "no line of rates: $(cat "$folder/said")"

# Two processes against one: each way has its line, and so has the start.
NETWORKS=tiny WAYS="process mirrored zmq encrypted one" ROUNDS=1 IMAGES=120 START=tiny PORT=29527 bench/bench_cluster.sh "$build" \
    >"$folder/said" 2>"$folder/why" || fail "bench_cluster.sh: $(tail -n 3 "$folder/why")"
for way in process mirrored zmq encrypted one; do
    grep -Eq "^tiny +$way +[1-9][0-9.]*" "$folder/said" || fail "bench_cluster.sh: no $way: $(cat "$folder/said")"
done
grep -Eq '^start of 4 of tiny, s: [0-9]+[.][0-9]+$' "$folder/said" || fail "bench_cluster.sh: no start: $(cat "$folder/said")"
