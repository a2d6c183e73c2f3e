#!/bin/sh
# The manual pages of the build: groff and mandoc read each without a warning; the pages of a subcommand, a function, the
# configuration and a kind of thing say what they must; pages that only lead to others lead somewhere.
#   test_manual.sh BUILD_FOLDER
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ ! -d "$build/manual" ]; then
    echo "skipped: this build has no manual pages, since python3 is missing (scripts/install-packages.sh)"
    exit 77
fi
has_program man && has_program groff && has_program mandoc || exit 77
fail() {
    echo "test_manual.sh: $*" >&2
    exit 1
}

cd "$build/manual"
# Warnings are caught where there are some.
printf '.TH X 1\n.SH NAME\nx \\- y\n.nonsense\n.PP\n.PP\n' >"$folder/bad.1"
LC_ALL=C.UTF-8 groff -man -ww -z -Tutf8 "$folder/bad.1" 2>&1 | grep -q nonsense || fail "groff does not warn of an unknown request"
mandoc -T lint -W warning "$folder/bad.1" | grep -q 'skipping paragraph macro' || fail "mandoc does not warn of an empty paragraph"

find . -type f | sort >"$folder/all"
xargs grep -l '^\.TH ' <"$folder/all" >"$folder/pages"
[ "$(wc -l <"$folder/pages")" -gt 600 ] || fail "only $(wc -l <"$folder/pages") pages were found"
xargs env LC_ALL=C.UTF-8 groff -man -ww -z -Tutf8 <"$folder/pages" >"$folder/said" 2>&1 || true
[ ! -s "$folder/said" ] || fail "groff warns: $(head -n 20 "$folder/said")"
# The version says more than a date; files without one are the same in each build.
xargs mandoc -T lint -W warning <"$folder/pages" 2>&1 | grep -v 'missing date' >"$folder/said" || true
[ ! -s "$folder/said" ] || fail "mandoc warns: $(head -n 20 "$folder/said")"
xargs grep -L '^\.TH ' <"$folder/all" | while read -r page; do
    target=$(sed -n 's/^\.so //p' "$page")
    grep -q '^\.TH ' "$target" || fail "$page leads to $target, which is no page"
done

# shown PAGE WORDS...: `man` shows each without a warning
shown() {
    page=$1
    shift
    LC_ALL=C.UTF-8 MANWIDTH=100 man -l --warnings "$page" >"$folder/page" 2>"$folder/said"
    [ ! -s "$folder/said" ] || fail "man warns of $page: $(cat "$folder/said")"
    for word in "$@"; do
        grep -qF -- "$word" "$folder/page" || fail "$page does not say '$word'"
    done
}
shown man1/liana.1 'liana-train(1)' LIANA_THREADS 'stopped by it (130' 'liana.yaml(5)'
shown man1/liana-train.1 --resume-from "'liana train RUN --resume' goes on" 'EXIT STATUS'
shown man1/liana-help.1 'liana help'
shown man3/liana_fit.3 'liana_status liana_fit(liana_model *model, const liana_fit_options *options);' 'int64_t epochs;'
shown man3/liana_dense.3 'units' 'liana_layer liana_dense('
shown man3/LIANA_OUT_OF_MEMORY.3 liana_status
shown man5/liana.yaml.5 train.epochs 'number of passes over the training examples'
shown man5/liana-sweep.yaml.5 'file of a sweep'
shown man7/liana-layers.7 Conv2D glorot_uniform
shown man7/liana-events.7 'the end of an epoch'
echo "$(wc -l <"$folder/all") manual pages, $(wc -l <"$folder/pages") of them with a text, are read without a warning"
