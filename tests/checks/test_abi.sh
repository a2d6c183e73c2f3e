#!/bin/sh
# scripts/check_abi.sh refuses what breaks programs, and nothing else: small libraries, each changed in one way.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/checks/needs.sh"
has_program abidw || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "test_abi.sh: $*" >&2
    exit 1
}

# library NAME SONAME SED_SCRIPT: a library whose header and source are changed by the script
library() {
    mkdir -p "$folder/$1/include"
    cat >"$folder/$1/include/small.h" <<'TEXT'
typedef enum small_kind { SMALL_ONE, SMALL_TWO } small_kind;
typedef struct small_options {
    int threads;
    double rate;
} small_options;
typedef struct small_context small_context;
int small_open(const small_options *options, small_context **context);
int small_kind_of(const small_context *context, small_kind kind);
void small_close(small_context *context);
TEXT
    cat >"$folder/$1/small.c" <<'TEXT'
#include "include/small.h"
#include <stdlib.h>
struct small_context {
    int threads;
};
int small_open(const small_options *options, small_context **context)
{
    *context = malloc(sizeof **context);
    if (*context) (*context)->threads = options->threads;
    return *context ? 0 : 1;
}
int small_kind_of(const small_context *context, small_kind kind)
{
    return context->threads + (int)kind;
}
void small_close(small_context *context)
{
    free(context);
}
TEXT
    sed -i "$3" "$folder/$1/include/small.h" "$folder/$1/small.c"
    (cd "$folder/$1" && cc -g -O0 -shared -fPIC -Wl,-soname,"$2" small.c -o small.so)
}
check() {
    "$root/scripts/check_abi.sh" "$folder/$1/small.so" --baseline "$folder/small.abi" --headers "$folder/$1/include" >"$folder/log" 2>&1
}
# allowed NAME SED_SCRIPT; refused NAME WORDS SED_SCRIPT
allowed() {
    library "$1" libsmall.so.1 "$2"
    check "$1" || fail "$1: it is refused: $(cat "$folder/log")"
}
refused() {
    library "$1" libsmall.so.1 "$3"
    if check "$1"; then fail "$1: it is accepted"; fi
    grep -q "$2" "$folder/log" || fail "$1: another message: $(cat "$folder/log")"
    grep -q 'a new major version' "$folder/log" || fail "$1: the remedy is not told"
}

library first libsmall.so.1 ''
"$root/scripts/check_abi.sh" "$folder/first/small.so" --write "$folder/small.abi" --headers "$folder/first/include"
allowed same ''
allowed moved-lines 's/^int small_open/\n\n&/'
allowed new-function '/^void small_close.*;$/a int small_more(void);
    /^void small_close(small_context \*context)$/i int small_more(void) { return 1; }'
nm -D "$folder/new-function/small.so" | grep -q ' T small_more$' || fail "new-function: there is none"
allowed hidden-struct 's/^    int threads;$/    int threads, more;/; /small_options {/,/}/s/, more//'
refused removed-function "small_close" 's/^void small_close/static void gone/; s/^static void gone(small_context \*context);//'
refused other-argument "small_open" 's/int small_open(const small_options \*options,/int small_open(const small_options *options, long size,/'
refused larger-struct "small_options" 's/^    double rate;/&\n    double decay;/'
refused other-order "small_options" 's/^    double rate;/    double rated;/; /^typedef struct small_options/a\    char first;'
refused other-value "small_kind" 's/{ SMALL_ONE, SMALL_TWO }/{ SMALL_TWO, SMALL_ONE }/'
refused other-result "small_kind_of" 's/^int small_kind_of/double small_kind_of/'
library next-major libsmall.so.2 's/^    double rate;/&\n    double decay;/'
check next-major || fail "another SONAME: $(cat "$folder/log")"
grep -q 'libsmall.so.1 became libsmall.so.2' "$folder/log" || fail "another SONAME: it is not told: $(cat "$folder/log")"
# Without debugging lines nothing is known, which is no success.
cc -O0 -shared -fPIC -Wl,-soname,libsmall.so.1 "$folder/first/small.c" -o "$folder/first/small.so"
if check first; then fail "a library without debugging lines is accepted"; fi
grep -q 'no debugging lines' "$folder/log" || fail "no debugging lines: $(cat "$folder/log")"
echo "changes that break programs are refused"
