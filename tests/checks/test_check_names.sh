#!/bin/sh
# scripts/check_names.sh must catch each name that is given twice, and nothing else.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check_names.sh
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
    write include/liana/model.h '#ifndef LIANA_MODEL_H' 'typedef struct liana_model liana_model;' \
        'typedef enum liana_padding {' '    LIANA_SAME,' '} liana_padding;' 'int liana_model_add(liana_model *model);'
    write src/layers/model.h '#ifndef LIANA_LAYERS_MODEL_H' 'struct liana_model {' '    int x;' '};' \
        'typedef struct liana__node {' '    struct {' '        int y;' '    } z;' '} liana__node;' \
        'typedef int (*liana__visit)(int x);' 'typedef void liana__take(int x);' 'typedef long liana__count;' \
        'static inline int liana__twice(int x)' '{' '    return 2 * x;' '}'
    write src/layers/model.c 'static int find(int x)' '{' '    return x;' '}' '#if X' 'int liana_model_add(liana_model *m)' '{' '}' \
        '#else' 'int liana_model_add(liana_model *m)' '{' '}' '#endif' 'struct slot {' '};'
    write src/layers/other.c 'static int find(int x)' '{' '    return x;' '}' 'struct slot {' '};' \
        'static const liana__node nodes[] = {' '};'
    write src/layers/model_missing.c 'int liana_model_add(liana_model *m)' '{' '}'
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

write src/data/bad.h 'typedef struct liana__node {' '} liana__node;'
must_fail 'liana__node is defined in src/data/bad.h:1 already'
write src/data/bad.c 'struct liana__node {' '};'
must_fail 'src/layers/model.h:5: liana__node is defined in src/data/bad.c:1 already'
write src/data/bad.h 'typedef struct liana__node liana__node;'
must_fail 'liana__node is defined'
write src/data/bad.h 'typedef enum liana_padding {' '} liana_padding;'
must_fail 'liana_padding is defined in include/liana/model.h:3 already'
write src/data/bad.h 'typedef double (*liana__visit)(void);'
must_fail 'liana__visit is defined'
write src/data/bad.h 'typedef int liana__take(void);'
must_fail 'liana__take is defined'
write src/data/bad.h 'typedef int liana__count;'
must_fail 'liana__count is defined'
write src/data/bad.c 'const char *liana_model_add(int a,' '                            int b)' '{' '}'
must_fail 'liana_model_add is defined in src/data/bad.c:3 already'
write src/data/bad.h 'static inline int liana__twice(int x)' '{' '}'
must_fail 'liana__twice is defined'
write src/data/bad.c 'int liana__node(int x)' '{' '}'
must_fail 'liana__node is'
write src/data/bad.c 'int liana_model(int x)' '{' '}'
must_fail 'liana_model is'
write src/data/bad.h '#ifndef LIANA_MODEL_H'
must_fail 'LIANA_MODEL_H is defined'
echo "every name that is given twice is caught"
