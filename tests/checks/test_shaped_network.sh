#!/bin/sh
# Clusters in network namespaces, a bridge between them, each worker's sending and receiving shaped by tc tbf.
#   test_shaped_network.sh BUILD_FOLDER           two workers: the training is that of one process, and what tc counts is
#                                                 what `liana plan` says; no time decides
#   test_shaped_network.sh BUILD_FOLDER --times   2 and 4 workers at three bandwidths, and 2 at a latency of 5 ms, through
#                                                 relays: the plan's step is within 15% of the measured one
#                                                 (`make check-plan`). Nothing else may run; takes minutes
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/checks/needs.sh"
times=${2:-}
folder=$(mktemp -d)
spaces= processes= relays=
finish() {
    for process in $processes $relays; do kill "$process" 2>/dev/null || true; done
    for space in $spaces; do ip netns del "$space" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM
fail() {
    echo "test_shaped_network.sh: $*" >&2
    tail -n 5 "$folder"/rank* >&2 2>/dev/null || true
    exit 1
}
skip() {
    echo "skipped: $*: $(cat "$folder/why" 2>/dev/null)"
    exit 77
}

# ---- the network ----

switch=liana-switch-$$
command -v ip >/dev/null && command -v tc >/dev/null || skip "no ip or tc (Debian: iproute2)"
ip netns add "$switch" 2>"$folder/why" || skip "no network namespaces can be made (root may)"
spaces=$switch
ip -n "$switch" link add bridge type bridge 2>"$folder/why" || skip "no bridge can be made"
ip -n "$switch" link set bridge up

# shape SPACE DEVICE RATE: limits the traffic that goes out there. A burst holds two of the largest packets.
shape() {
    ip netns exec "$1" tc qdisc replace dev "$2" root tbf rate "$3" burst 128kb latency 300ms 2>"$folder/why" ||
        skip "tc tbf does not work here"
}

# add_worker NUMBER: a namespace with the address 10.78.0.(NUMBER + 1)
add_worker() {
    space=liana-worker-$1-$$
    ip netns add "$space"
    spaces="$spaces $space"
    ip link add cable netns "$space" type veth peer name "port$1" netns "$switch" 2>"$folder/why" ||
        skip "no pair of connected interfaces can be made"
    ip -n "$space" addr add "10.78.0.$(($1 + 1))/24" dev cable
    ip -n "$space" link set lo up
    ip -n "$space" link set cable up
    ip -n "$switch" link set "port$1" master bridge up
}

shape_all() {
    for number in $(seq 0 $(($1 - 1))); do
        shape "liana-worker-$number-$$" cable "$2"
        shape "$switch" "port$number" "$2"
    done
}

# Bytes that a worker has sent.
sent_by() {
    ip netns exec "liana-worker-$1-$$" cat /sys/class/net/cable/statistics/tx_bytes
}

# train WORKERS CONFIG OUT: one process in each namespace
train() {
    rm -rf "$3"
    export LIANA_CLUSTER_KEYS="$folder/keys" WORLD_SIZE="$1" MASTER_ADDR=10.78.0.1 MASTER_PORT=29498
    for number in $(seq 1 $(($1 - 1))); do
        RANK=$number ip netns exec "liana-worker-$number-$$" timeout -k 5 300 "$build/liana" train "$2" --out "$3" \
            >"$folder/rank$number" 2>&1 &
        processes="$processes $!"
    done
    RANK=0 ip netns exec "liana-worker-0-$$" timeout -k 5 300 "$build/liana" train "$2" --out "$3" >"$folder/rank0" 2>&1 ||
        fail "the chief of $1 workers fails"
    for process in $processes; do wait "$process" || fail "a worker of $1 fails"; done
    processes=
    unset LIANA_CLUSTER_KEYS WORLD_SIZE MASTER_ADDR MASTER_PORT
}

# train_far CONFIG OUT MILLISECONDS: two processes, each of which reaches the other one through a relay in its own namespace
# that delays all bytes both ways.
train_far() {
    rm -rf "$2"
    seconds=$(awk -v ms="$3" 'BEGIN { print ms / 1000 }')
    for number in 0 1; do
        space=liana-worker-$number-$$
        ip netns exec "$space" python3 "$source/tests/checks/delay_relay.py" 127.0.0.1:29497 \
            "10.78.0.$((2 - number)):29498" "$seconds" &
        relays="$relays $!"
        addresses='"127.0.0.1:29497", "10.78.0.2:29498"'
        [ $number = 1 ] || addresses='"10.78.0.1:29498", "127.0.0.1:29497"'
        LIANA_CLUSTER="{\"rank\": $number, \"num_workers\": 2, \"num_servers\": 0, \"id\": \"$folder $2\",
            \"addresses\": [$addresses], \"keys\": \"$folder/keys\"}" \
            ip netns exec "$space" timeout -k 5 300 "$build/liana" train "$1" --out "$2" >"$folder/rank$number" 2>&1 &
        processes="$processes $!"
    done
    for process in $processes; do wait "$process" || fail "a worker behind relays fails"; done
    for process in $relays; do
        kill "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    done
    processes= relays=
}

# ---- the problem ----

export LIANA_THREADS=1
cd "$folder"
"$build/liana" cluster keys "$folder/keys" >log

# plan CONFIG OPTIONS...: JSON lines
plan() {
    "$build/liana" plan "$@" --json >"$folder/plan" || fail "liana plan $*: $(cat "$folder/plan")"
}

# number KEY WORKERS: of the last plan
number() {
    grep "\"event\": *\"plan\", *\"workers\": *$2," "$folder/plan" | sed "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/"
}

if [ -z "$times" ]; then
    "$build/liana" synth flowers classes=2 images=200 image_size=16 --out photos >log
    cat >wide.yaml <<'YAML'
data: {train: photos/train/*.tfrec, class_names: photos/classes.txt}
model: {layers: [Flatten, Dense: {units: 400, activation: relu}, Dense: {units: 2, activation: softmax}]}
train: {epochs: 2, batch_size: 32, microbatch: 4, optimizer: SGD}
YAML
    "$build/liana" train wide.yaml --out one >log 2>&1 || fail "$(cat log)"
    for number in 0 1; do add_worker $number; done
    shape_all 2 400mbit
    before=$(sent_by 1)
    train 2 wide.yaml two
    after=$(sent_by 1)
    cmp one/history.json two/history.json || fail "two workers have another history than one process"
    plan wide.yaml --workers 2 --bandwidth 400Mb --seconds 0.05 --microbatch 4
    # 140 examples are 5 updates in each of two epochs, the last one smaller. Headers and the messages at the beginning
    # come to little, and so does the difference between the workers' slices.
    awk -v sent="$((after - before))" -v planned="$(number bytes_sent 2)" 'BEGIN {
        ratio = sent / (10 * planned)
        printf "sent %.2f MB in 10 updates, planned %.2f MB: %.3f\n", 1e-6 * sent, 1e-5 * planned, ratio
        exit !(ratio > 0.98 && ratio < 1.12)
    }' || fail "what the network has carried is not what the plan says"
    exit 0
fi

# ---- times ----

# How fast a machine computes changes from minute to minute. So plans and runs take turns, and medians are compared: of the
# plans, and of all epochs but each run's first, in which examples are decoded.
"$build/liana" synth flowers classes=5 images=1300 image_size=96 --out photos >log
cat >flowers.yaml <<'YAML'
data: {train: photos/train/*.tfrec, class_names: photos/classes.txt}
model: {base: MobileNetV2, alpha: 0.35}
train: {epochs: 5, batch_size: 64, microbatch: 8, steps_per_epoch: 12, precision: float32}
YAML
for number in 0 1 2 3; do add_worker $number; done

median() {
    sort -g "$1" | awk '{ value[NR] = $1 } END { print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'
}

# keep_plan NAME WORKERS and keep_times NAME: the last plan's numbers, and how long the steps of the last run took
keep_plan() {
    number step_seconds "$2" >>"planned.$1"
    number exchange_share "$2" >>"share.$1"
}

keep_times() {
    sed -n 's/.*"images_per_second": *\([0-9.]*\).*/\1/p' run/timing.json | tail -n +2 |
        awk '{ print 64 / $1 }' >>"measured.$1"
}

# take_turn RATE: a plan and a training, of each number of workers
take_turn() {
    for workers in ${WORKERS:-2 4}; do
        plan flowers.yaml --workers "$workers" --bandwidth "${1}Mb" --latency 20us --cores "$(nproc)" --microbatch 8
        keep_plan "$1.$workers" "$workers"
        train "$workers" flowers.yaml run
        keep_times "$1.$workers"
    done
}

# take_far_turn RATE MILLISECONDS
take_far_turn() {
    plan flowers.yaml --workers 2 --bandwidth "${1}Mb" --latency "${2}ms" --cores "$(nproc)" --microbatch 8
    keep_plan "far.2" 2
    train_far flowers.yaml run "$2"
    keep_times "far.2"
}

# compare NAME WORKERS LINK
compare() {
    awk -v workers="$2" -v link="$3" -v planned="$(median "planned.$1")" -v measured="$(median "measured.$1")" \
        -v share="$(median "share.$1")" 'BEGIN {
        printf "%8d %14s %12.1f %12.1f %9.0f%% %8.3f\n", workers, link, 1e3 * planned, 1e3 * measured, 100 * share,
            planned / measured
        exit !(planned / measured > 0.85 && planned / measured < 1.15)
    }' || wrong=$((wrong + 1))
}

wrong=0
printf '%8s %14s %12s %12s %10s %8s\n' workers link "planned ms" "measured ms" exchange ratio
for rate in ${RATES:-100 1000 10000}; do
    shape_all 4 "${rate}mbit"
    for turn in $(seq 1 "${TURNS:-3}"); do take_turn "$rate"; done
    for workers in ${WORKERS:-2 4}; do
        compare "$rate.$workers" "$workers" "${rate}Mb"
    done
done
if has_program python3; then
    shape_all 2 1000mbit
    for turn in $(seq 1 "${TURNS:-3}"); do take_far_turn 1000 "${LATENCY:-5}"; done
    compare far.2 2 "1000Mb ${LATENCY:-5} ms"
fi
[ $wrong -eq 0 ] || fail "$wrong predictions are more than 15% off"
