#!/bin/sh
# The gain of a second core, and the machine's limit: bench/bench_threads.sh [BUILD] WORKLOAD... Nothing else should
# run.
#
#   WORKLOAD    a model of bench_step and its options in one word: "ResNet50 --precision mixed_bfloat16"
#   ROUNDS=3    turns of the three; the median counts
#   SECONDS_EACH=1.5   a measurement lasts at least so long, and 2 steps
#   CORES="0 1" the two cores
#
# One line for each workload, images per second: one process with one thread on the first core; one with two threads;
# two with one thread each, one on either core, added up: they share nothing but memory, the last cache and the clock,
# so that no program gets more out of the second core than that.
set -eu
build=build
if [ $# -gt 0 ] && [ -x "$1/bench_step" ]; then
    build=$1
    shift
fi
rounds=${ROUNDS:-3}
seconds=${SECONDS_EACH:-1.5}
# shellcheck disable=SC2086
set -- "$@" -- ${CORES:-0 1}
for second; do :; done
first=${CORES:-0 1}
first=${first%% *}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# step CORES THREADS OPTIONS...: images per second
step() {
    cores=$1
    LIANA_THREADS=$2
    export LIANA_THREADS
    shift 2
    taskset -c "$cores" "$build/bench_step" "$@" --steps 2 --warmup 1 --seconds "$seconds" |
        sed 's/.*"images_per_second": \([0-9.]*\)}.*/\1/'
}

median() {
    sort -g "$1" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

printf '%-52s %10s %10s %10s %7s %7s\n' "images/s" "1 thread" "2 threads" "2 x 1" "ratio" "ceiling"
while [ "$1" != -- ]; do
    rm -f "$folder"/*
    for round in $(seq "$rounds"); do
        # shellcheck disable=SC2086
        {
            step "$first" 1 $1 >>"$folder/one"
            step "$first,$second" 2 $1 >>"$folder/two"
            step "$first" 1 $1 >"$folder/left.$round" &
            step "$second" 1 $1 >"$folder/right.$round"
            wait
        }
        cat "$folder/left.$round" "$folder/right.$round" | awk '{ sum += $1 } END { print sum }' >>"$folder/both"
    done
    printf '%s|%s|%s|%s\n' "$1" "$(median "$folder/one")" "$(median "$folder/two")" "$(median "$folder/both")" |
        awk -F'|' '{ printf "%-52s %10.1f %10.1f %10.1f %7.2f %7.2f\n", $1, $2, $3, $4, $3 / $2, $4 / $2 }'
    shift
done
