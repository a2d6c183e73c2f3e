# A small network by each door of the C interface (programs/doors.c): whole batches, cut ones, replicas, processes.

# The program of this build's interface. A base from before this program was there has its own.
build() {
    source=$TREE/scripts/compare/programs/doors.c
    [ -e "$source" ] || source=$TOOLS/programs/base/doors.c
    cc -std=c17 -O1 -I"$TREE/include" "$source" -o "$TMPDIR/doors" -L"$BIN" -Wl,-rpath,"$BIN" -lliana
    cat >"$TMPDIR/ranked" <<'SH'
#!/bin/sh
RANKED=$(printf %s "$LIANA_CLUSTER" | sed 's/^{"rank": \([0-9]*\),.*/\1-/') exec "$(dirname "$0")/doors" "$@"
SH
    chmod +x "$TMPDIR/ranked"
}
# by DOOR NAME STRATEGY [MORE]: on one device.
by() {
    mkdir "$2"
    (cd "$2" && say said "$TMPDIR/doors" "$1" "$3" ${4:+"$4"})
}
# by_processes DOOR NAME COUNT STRATEGY MORE [OPTIONS]: by several processes.
by_processes() {
    mkdir "$2"
    # shellcheck disable=SC2086
    (cd "$2" && say said liana launch -n "$3" ${6:-} --program "$TMPDIR/ranked" -- "$1" "$4" ${5:+"$5"} &&
        in_any_order said)
}
# everywhere DOOR [MORE]: under each strategy.
everywhere() {
    by "$1" one "" ${2:+"$2"}
    by "$1" mirrored "{name: mirrored, replicas: 2, threads: 1}" ${2:+"$2"}
    by_processes "$1" workers 2 multi_worker "${2:-}"
    by_processes "$1" servers 3 parameter_server "${2:-}" "--servers 1"
}
case_on_batch() { build && everywhere on_batch; }
case_fit() { build && everywhere fit; }
case_fit_with_more() {
    build
    for more in stages control groups precision weights; do
        by fit "$more" "" $more
        by_processes fit "$more-workers" 2 multi_worker $more
    done
    (cd stages && say resumed "$TMPDIR/doors" fit "" resume || true)
    (cd groups && say resumed "$TMPDIR/doors" fit "" resume)
}
case_estimator() { build && everywhere estimator 24; }
case_own_update() { build && everywhere own_update 24; }
case_step() { build && everywhere step; }
case_many() { build && everywhere many; }
case_replicas() { build && everywhere replicas; }
# What the base has trained goes on.
case_resume() {
    build
    TREE=$BASE_TREE BIN=$BASE_BIN
    mv "$TMPDIR/doors" "$TMPDIR/own"
    build
    by estimator estimator "" 15
    by own_update own_update "" 15
    by fit fit ""
    by_processes estimator workers 2 multi_worker 15
    mv "$TMPDIR/own" "$TMPDIR/doors"
    (cd estimator && say resumed "$TMPDIR/doors" estimator "" 24)
    (cd own_update && say resumed "$TMPDIR/doors" own_update "" 24)
    (cd fit && say resumed "$TMPDIR/doors" fit "" resume)
    (cd workers && say resumed "$TMPDIR/doors" estimator "" 24)
}
