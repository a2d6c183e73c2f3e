#!/bin/sh
# Two processes in network namespaces of their own: they meet over an encrypted connection, and when the cable between
# them is cut, both notice.
#   test_cut_network.sh BUILD_FOLDER
set -eu
build=$(cd "$1" && pwd)
folder=$(mktemp -d)
first=liana-a-$$
second=liana-b-$$
finish() {
    ip netns del "$first" 2>/dev/null || true
    ip netns del "$second" 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT
fail() {
    echo "test_cut_network.sh: $*" >&2
    cat "$folder"/rank* >&2 2>/dev/null || true
    exit 1
}

if ! command -v ip >/dev/null || ! ip netns add "$first" 2>"$folder/why" || ! ip netns add "$second" 2>"$folder/why"; then
    echo "skipped: no network namespaces can be made (Debian: iproute2; root): $(cat "$folder/why" 2>/dev/null)"
    exit 77
fi
ip link add cable netns "$first" type veth peer name cable netns "$second" || {
    echo "skipped: no pair of connected interfaces can be made"
    exit 77
}
ip -n "$first" addr add 10.77.0.1/24 dev cable
ip -n "$second" addr add 10.77.0.2/24 dev cable
for space in "$first" "$second"; do
    ip -n "$space" link set lo up
    ip -n "$space" link set cable up
done

"$build/liana" cluster keys "$folder/keys" >/dev/null
export LIANA_CLUSTER_KEYS="$folder/keys" WORLD_SIZE=2 MASTER_ADDR=10.77.0.1 MASTER_PORT=29499
RANK=0 ip netns exec "$first" timeout 100 "$build/bench_transport" check >"$folder/rank0" 2>&1 &
RANK=1 ip netns exec "$second" timeout 100 "$build/bench_transport" check >"$folder/rank1" 2>&1 || fail "they do not meet"
wait $! || fail "they do not meet"
grep -q 'rank 1 of 2 has heard all, over zmq' "$folder/rank1" || fail "they have not heard all"

# Files of their own: those of the first meeting say already that they have met.
RANK=0 ip netns exec "$first" timeout 100 "$build/bench_transport" wait >"$folder/rank0.cut" 2>&1 &
rank0=$!
RANK=1 ip netns exec "$second" timeout 100 "$build/bench_transport" wait >"$folder/rank1.cut" 2>&1 &
rank1=$!
tries=0
until grep -q 'met after' "$folder/rank0.cut"; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail "they do not meet again"
    sleep 0.1
done
ip -n "$first" link set cable down
wait $rank0 || fail "rank 0 fails"
wait $rank1 || fail "rank 1 fails"
grep -q 'rank 1 was silent for more than 3 s' "$folder/rank0.cut" || fail "rank 0 does not say that rank 1 is silent"
grep -q 'rank 0 was silent for more than 3 s' "$folder/rank1.cut" || fail "rank 1 does not say that rank 0 is silent"
cat "$folder/rank0.cut" "$folder/rank1.cut"
