#!/bin/sh
# scripts/check_includes.sh must catch each kind of violation: a small tree that passes, then one wrong file at a time.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check_includes.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

write() { # FILE LINE...: the lines, in C behind a comment that opens the file
    mkdir -p "$tree/$(dirname "$1")"
    file=$tree/$1
    shift
    case $file in
    *.[ch]) printf '/* What it is. */\n' >"$file" ;;
    *) : >"$file" ;;
    esac
    printf '%s\n' "$@" >>"$file"
}
start_clean() {
    rm -rf "${tree:?}"/*
    write include/liana/status.h '#include <stdint.h>' '#include <liana/context.h>'
    write src/base/text.c '#include "base/text.h"' '#include <liana/status.h>' '#include <stdio.h>'
    write src/train/fit.c '#include "data/source.h"' '#include "optimizers/adam.h"' '#include "base/text.h"'
    write src/kernels/onednn.c '#include <oneapi/dnnl/dnnl.h>' '#include "ir/shape.h"'
    write src/ops/relu.samples.c '#include "harness/op_samples.h"'
    write tests/base/test_text.c '#include "cli/anything.h"'
    write docs/guide.md 'Look into /tmp/liana and src/home/ and $HOME/home/.'
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
"$check" "$tree" >/dev/null

write src/base/bad.c '' '#include "ir/graph.h"'
must_fail 'src/base/bad.c:3: base must not include ir ("ir/graph.h")'
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
must_fail 'which only src/formats/hdf5/hdf5_calls.* may'
write src/report/bad.c '#include <cairo-svg.h>'
must_fail 'which only src/formats/cairo_calls.* may'
write src/report/bad.c '#include <pango/pangocairo.h>'
must_fail 'which only src/formats/pango_calls.* may'
write src/remote/bad.c '#include <curl/curl.h>'
must_fail 'which only src/remote/calls.* may'
write include/liana/bad.h '#include "base/text.h"'
must_fail 'a public header includes only'
write include/liana/bad.h '#include <pthread.h>'
must_fail 'a public header includes only'
write src/base/bad.h '/* see /ho''me/somebody/notes */'
must_fail 'paths of one machine'
# shellcheck disable=SC2046  # 900 words are meant
write src/base/bad.c $(seq 900)
must_fail 'src/base/bad.c: 901 lines'

# Circles: of two, of three through a part of a module, and of a header that is the inside of another.
write src/base/a.h '#include "base/b.h"'
write src/base/b.c '#include "base/a.h"'
must_fail 'in a circle: base/a (src/base/a.h) -> base/b (src/base/b.c) -> base/a'
write src/base/a.avx2.c '#include "base/b.h"'
write src/base/b.h '#include "base/c.h"'
write src/base/c.c '#include "base/a.h"'
write src/base/d.c '#include "base/a.h"'
write src/base/e.h '#include "base/d.h"'
must_fail 'in a circle: base/a (src/base/a.avx2.c) -> base/b (src/base/b.h) -> base/c (src/base/c.c) -> base/a'
write src/base/a.c '#include "base/b_internal.h"'
write src/base/b.c '#include "base/a.h"'
must_fail 'in a circle: base/a (src/base/a.c) -> base/b (src/base/b.c) -> base/a'
write src/base/a.c '#include "base/a_internal.h"'
write src/base/a_internal.h '#include "base/a.h"'
write src/base/a.samples.c '#include "base/b.h"'
write src/base/b.c '#include "base/a_internal.h"'
"$check" "$tree" >/dev/null
start_clean

body() { seq "$1" | sed 's/.*/    x();/'; }
write src/base/bad.c 'static int f(int a,' '             int b)' '{' "$(body 59)" '}'
must_fail 'src/base/bad.c:4: f has 61 lines'
write src/base/good.c 'int g(void)' '{' "$(body 58)" '}' 'static const int h[] = {' "$(body 80)" '};'
"$check" "$tree" >/dev/null
for stem in $(seq 39); do write "src/base/s$stem.c" ''; done
must_fail 'src/base has 41 stems'
printf '#include <stdio.h>\n' >"$tree/src/base/bad.c"
must_fail 'src/base/bad.c:1: opens with no comment'
printf '/* */\n' >"$tree/tests/base/test_bad.c"
must_fail 'tests/base/test_bad.c:1: opens with no comment'

# Long lines of comments, whatever they stand in; long strings that look like them, and two bytes for a character.
long=$(printf 'word %.0s' $(seq 30))
for room in include/liana/bad.h src/base/bad.c src/base/bad.def tests/base/bad.h bench/bad.c examples/bad.c; do
    write "$room" '/* Opens the file. */' "/* $long */"
    must_fail "$room:$(case $room in *.def) echo 2 ;; *) echo 3 ;; esac): a line of a comment has 156 columns"
done
write src/base/bad.c '/* Short.' " * $long" ' */'
must_fail 'src/base/bad.c:3: a line of a comment has 153 columns'
write src/base/bad.c '/* Short.' " * $long*/"
must_fail 'src/base/bad.c:3: a line of a comment has 155 columns'
write src/base/bad.c "int a = '\"'; // $long"
must_fail 'src/base/bad.c:2: a line of a comment has 166 columns'
write src/base/good.c "const char *a = \"/* $long\";" "const char *b = \"// $long\";" "int c[] = {$(seq -s, 99)};" \
    "// $(printf 'è%.0s' $(seq 117))" '/* a */ int d; /* b */' "int e[] = {$(seq -s, 99)};"
"$check" "$tree" >/dev/null
start_clean

# Where tests lie, and how many in one folder.
write tests/test_bad.c ''
must_fail 'tests/test_bad.c: lies in no room of tests'
write tests/extra/test_bad.c ''
must_fail 'tests/extra/test_bad.c: tests/extra is like no room of src'
write tests/extra/inner/test_bad.c ''
must_fail 'tests/extra is like no room of src'
write tests/public/test_good.c ''
write tests/data/loader/test_good.c ''
write tests/harness/good.c ''
"$check" "$tree" >/dev/null
for stem in $(seq 41); do write "tests/data/loader/test_s$stem.c" ''; done
must_fail 'tests/data/loader has 42 stems'

# Assertions that print no operands; a line of strings, names and comments that look like it.
for assertion in 'assert_true(fabs(a - b) < 1e-6);' 'if (x) assert_true(fabsf(a - b) <= 1e-6f);' 'assert_true(a == b);' \
    'assert_false(a != b);' 'assert_true(ready && a >= b);' 'assert_true(strcmp(a, b) == 0);' 'assert_false(memcmp(a, b, 3));' \
    'assert_non_null(strstr(text, "a; b"));' 'assert_null(strstr(text, "a"));' 'assert_true(liana__starts_with(a, b));'; do
    write tests/base/test_bad.c '' "    $assertion"
    must_fail 'tests/base/test_bad.c:3: this comparison does not print its operands'
done
write tests/base/test_bad.c 'assert_true(is_a_long_name_of_a_function(a) &&' '            b <' '            c);'
must_fail 'tests/base/test_bad.c:2: this comparison'
write tests/base/test_bad.c 'assert_true(' '    fabs(a - b) < c);'
must_fail 'tests/base/test_bad.c:2: this comparison'
write tests/base/test_good.c 'for (int i = 0; i < 3; i++) assert_true(seen[i]); /* a < b */' 'assert_true(has(text, "a < b; c"));' \
    'assert_true(p->x && !(bits >> 3 & 1));' 'assert_compare(fabs(a - b), <, c);' 'if (a < b) assert_false(c);' \
    'const bool same = a == b;' 'assert_true(isfinite(a));' 'assert_near(a, b, 1e-6);' 'assert_says(a, "b == c");'
write src/base/good.c 'assert_true(a == b);'
"$check" "$tree" >/dev/null
start_clean

# shellcheck disable=SC2046
write src/base/long.c $(seq 800)
"$check" "$tree" | grep -q 'src/base/long.c: 801 lines, more than 800'
echo "every violation is caught"
