#!/bin/sh
# The builders' macros override defaults and leave out braces; a user who asks for all warnings must not hear of it.
set -eu
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
for compiler in gcc clang-14; do
    has_program "$compiler" || continue
    for optimise in -O0 -O2; do
        "$compiler" -std=c17 -Wall -Wextra -Wshadow -pedantic -Werror "$optimise" -Iinclude -c -o /dev/null \
            tests/checks/builders.c
        # Compilers that get the text preprocessed (as from ccache) see other lines.
        "$compiler" -std=c17 -E -Iinclude tests/checks/builders.c |
            "$compiler" -std=c17 -Wall -Wextra -Wshadow -pedantic -Werror "$optimise" -xcpp-output -c -o /dev/null -
    done
done
