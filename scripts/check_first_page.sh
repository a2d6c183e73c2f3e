#!/bin/bash
# Measures a newcomer's way on two cores: from `git clone` in a bare Debian 12 to the page of a trained run (`make demo`, the
# first command of README.md). Fails if it takes more than five minutes. make check-first-page (root; minutes; nothing else
# should run)
#   scripts/check_first_page.sh [FOLDER]    where the Debian is made, and removed (default: build/first-page)
# The clone is of the last commit. The time of the packages is that of the machine's mirror and network.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=300
folder=${1:-build/first-page}
fail() {
    echo "check_first_page.sh: $*" >&2
    exit 1
}
. scripts/bare_debian.sh
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
trap 'rm -rf "$folder/debian"' EXIT
debian=$folder/debian

echo "== a bare Debian with git and make"
bare_debian "$debian" git,make
git clone -q --bare . "$debian/srv/origin.git"
# Packages' lists are as old as the Debian, which was made a moment ago.
cores=$(taskset -cp $$ | sed 's/.*: //' | awk -v RS=, '{ split($1, ends, "-"); for (i = ends[1]; i <= (ends[2] == "" ? ends[1] : ends[2]); i++) print i }' |
    head -n 2 | paste -sd,)

echo "== git clone and make demo, on the processors $cores; load before: $(cut -d ' ' -f 1 /proc/loadavg)"
begin=$(date +%s.%N)
taskset -c "$cores" bash -c "$(declare -f inside); inside \"\$@\"" bash "$debian" '
    cd /srv && TIMEFORMAT="%R s  git clone" && time git clone -q origin.git liana && cd liana && make demo' >"$folder/log" 2>&1 || {
    tail -n 40 "$folder/log" >&2
    fail "make demo failed"
}
end=$(date +%s.%N)
page=$debian/srv/liana/runs/demo/report.html
[ -s "$page" ] || fail "make demo left no runs/demo/report.html"
grep -qi '</html>' "$page" || fail "runs/demo/report.html is no whole page"
accuracy=$(sed -n 's/.*"val_accuracy": *\([0-9.]*\).*/\1/p' "$debian/srv/liana/runs/demo/history.json" | tail -n 1)
grep -E '^ *[0-9.]+ s  ' "$folder/log"
awk -v begin="$begin" -v end="$end" -v limit="$limit" -v accuracy="${accuracy:-?}" -v model="$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" '
    BEGIN {
        printf "%.1f s  in all, of %d; load after: ", end - begin, limit
        getline load < "/proc/loadavg"
        split(load, word, " ")
        printf "%s; %s; accuracy of validation %s\n", word[1], model, accuracy
        exit end - begin > limit
    }' || fail "more than $limit s. Other programs take time from it: the load stands above. $folder/log has all of it"
