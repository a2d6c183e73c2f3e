#!/bin/sh
# scripts/check_includes.sh must catch each kind of violation: a small tree that passes, then one wrong file at a time.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check_includes.sh
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
    write include/liana/status.h '#include <stdint.h>' '#include <liana/context.h>'
    write src/base/text.c '#include "base/text.h"' '#include <liana/status.h>' '#include <stdio.h>'
    write src/train/fit.c '#include "data/source.h"' '#include "optimizers/adam.h"' '#include "base/text.h"'
    write src/kernels/onednn.c '#include <oneapi/dnnl/dnnl.h>' '#include "ir/shape.h"'
    write src/ops/relu.samples.c '#include "harness/op_samples.h"'
    write tests/test_text.c '#include "cli/anything.h"'
    write docs/guide.md 'Look into /tmp/liana and src/home/ and $HOME/home/.'
}
must_fail() { # TEXT: what the message must say
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
"$check" "$tree" >/dev/null

write src/base/bad.c '' '#include "ir/graph.h"'
must_fail 'src/base/bad.c:2: base must not include ir ("ir/graph.h")'
write src/formats/bad.h '#include "ir/dtype.h"'
must_fail 'formats must not include ir'
write src/data/bad.c '#include "ops/cast.h"'
must_fail 'data must not include ops'
write src/ops/bad.c '#  include  "layers/layer.h"'
must_fail 'ops must not include layers'
write src/report/bad.c '#include "cli/main.h"'
must_fail 'report must not include cli'
write src/models/bad.c '#include "losses/loss.h"'
must_fail 'models must not include losses'
write src/base/bad.c '#include "text.h"'
must_fail 'write the room as well: "base/text.h"'
write src/base/bad.c '#include "bass/text.h"'
must_fail 'src/bass is no room'
write src/extra/new.c '#include "base/text.h"'
must_fail 'src/extra is no room'
write src/ops/bad.c '#include "harness/op_samples.h"'
must_fail 'src/harness is no room'
write src/ops/bad.c '#include <dnnl.h>'
must_fail 'which only src/kernels/onednn.* may'
write src/data/bad.c '#include <hdf5.h>'
must_fail 'which only src/formats/hdf5_calls.* may'
write src/report/bad.c '#include <cairo-svg.h>'
must_fail 'which only src/formats/cairo_calls.* may'
write src/report/bad.c '#include <fontconfig/fontconfig.h>'
must_fail 'which only src/formats/fontconfig_calls.* may'
write src/remote/bad.c '#include <curl/curl.h>'
must_fail 'which only src/remote/calls.* may'
write include/liana/bad.h '#include "base/text.h"'
must_fail 'a public header includes only'
write include/liana/bad.h '#include <pthread.h>'
must_fail 'a public header includes only'
write src/base/bad.h '/* see /ho''me/somebody/notes */'
must_fail 'paths of one machine'
# shellcheck disable=SC2046  # 901 words are meant
write src/base/bad.c $(seq 901)
must_fail 'src/base/bad.c: 901 lines'
# shellcheck disable=SC2046
write src/base/long.c $(seq 801)
"$check" "$tree" | grep -q 'src/base/long.c: 801 lines, more than 800'
echo "every violation is caught"
