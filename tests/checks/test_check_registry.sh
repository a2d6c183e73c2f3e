#!/bin/sh
# scripts/check_registry.sh must catch each kind of disorder: a small tree that passes, then one wrong thing at a time.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check_registry.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

write() { # FILE LINE...
    mkdir -p "$tree/$(dirname "$1")"
    file=$tree/$1
    shift
    printf '%s\n' "$@" >"$file"
}
start_clean() {
    rm -rf "${tree:?}"/*
    write src/base/env.def '/* Environment. Rows name no files. */' 'LIANA__ENV(LIANA_THREADS, "threads")'
    write src/ops/ops.def '/* Every op. Without a row: ops,' ' * shapes. */' 'LIANA__OP(unary, abs)' \
        'LIANA__OP(unary, exp)' 'LIANA__OP(matmul, matmul)'
    write src/ops/ops.c
    write src/ops/shapes.c
    write src/ops/unary.c
    write src/ops/unary.avx2.c
    write src/ops/unary.samples.c
    write src/ops/matmul.c
    write src/ops/matmul.samples.c
    write src/data/sources.def 'LIANA__SOURCE(tfrecord, "reads files, all of them")'
    write src/data/dataset.c
    write src/data/source/tfrecord.c
    write src/backends/backends.def '/* Without a row: backend. */' 'LIANA__BACKEND(cpu, big_cpu2)'
    write src/backends/backend.c
    write src/backends/cpu/cpu.c
    write tests/test_things.c 'tfrecord("x"); backend = "BigCPU2";'
    write tests/harness/harness.c 'said_by_the_harness'
}
must_fail() { # TEXT: part of the message
    if output=$("$check" "$tree" 2>&1); then
        echo "not caught: $1"
        exit 1
    fi
    case $output in
    *"$1"*) ;;
    *)
        echo "expected a message with '$1', got: $output"
        exit 1
        ;;
    esac
    start_clean
}

start_clean
"$check" "$tree" | grep -q '^5 rows'

write src/ops/extra.c
must_fail 'src/ops/extra.c: no row in src/ops/ops.def'
write src/ops/extra.avx512.c
must_fail 'src/ops/extra.avx512.c: no row'
write src/data/source/extra.c
must_fail 'src/data/source/extra.c: no row in src/data/sources.def'
rm "$tree/src/ops/matmul.c"
must_fail 'the row of matmul: there is no src/ops/matmul.c'
rm -r "$tree/src/backends/cpu"
must_fail 'the row of big_cpu2: there is no src/backends/cpu.c'
rm "$tree/src/ops/unary.samples.c"
must_fail 'the row of exp: no samples'
write tests/test_things.c 'tfrecords BigCPU2'
must_fail 'the row of tfrecord: no test below tests/'
write src/backends/backends.def '/* Without a row: backend. */' 'LIANA__BACKEND(cpu, said_by_the_harness)'
must_fail 'the row of said_by_the_harness: no test'
rm "$tree/src/ops/shapes.c"
must_fail 'says that shapes is without a row, but there is no src/ops/shapes.c'
echo "every disorder is caught"
