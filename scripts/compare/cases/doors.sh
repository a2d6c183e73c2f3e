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
# A training of the base goes on.
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
# A worker of an estimator dies; the others go on. (A death ends steps of a program's own.)
case_death() {
    build
    for try in 1 2 3 4 5; do
        rm -rf model_dir
        env -u COMPARE_KEEP -u LIANA_DUMP liana launch -n 3 --program "$TMPDIR/ranked" -- estimator multi_worker 900 \
            >said.out 2>said.err &
        launched=$!
        until [ -n "$(ls model_dir/checkpoints 2>/dev/null)" ]; do sleep 0.01; done
        kill -9 "$(pgrep -P $launched | sed -n 3p)" || true
        code=0
        wait $launched || code=$?
        if grep -q 'rank 2 was ended by signal 9' said.err; then break; fi
        [ $try -lt 5 ] || { cat said.out said.err && return 1; } >&2
    done
    echo $code >said.code
    cat said.out said.err | sed 's/after step [0-9]*/after step N/' | LC_ALL=C sort -u >said.words
    rm said.out said.err
    ls -d model_dir/checkpoints/step-* | sed '$d' | xargs rm -r
}
