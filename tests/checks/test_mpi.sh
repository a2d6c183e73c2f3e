#!/bin/sh
# The transport mpi under both kinds of mpirun: messages arrive, the wrong module is named, a death ends the job with words
# about it, a signal stops all after one step, and --resume goes on to the bytes of an undisturbed run.
#   test_mpi.sh BUILD_FOLDER
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Two modules and their processes lie on this machine alone.
export OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 OMPI_MCA_btl_vader_single_copy_mechanism=none
# More processes than cores.
export OMPI_MCA_rmaps_base_oversubscribe=1 LIANA_THREADS=1
fail() {
    echo "test_mpi.sh: $*" >&2
    exit 1
}

cd "$folder"
"$build/liana" synth flowers classes=2 images=60 image_size=16 --out flowers >log
cat >tiny.yaml <<'YAML'
data: {train: flowers/train/*.tfrec, validation: flowers/val/*.tfrec, class_names: flowers/classes.txt}
model: {layers: [Flatten, Dense: {units: 2, activation: softmax}]}
train: {epochs: 2, batch_size: 16, microbatch: 2}
YAML
"$build/liana" train tiny.yaml --out one >log 2>&1 || fail "$(cat log)"

# ---- deaths and signals ----

# Long enough for a signal to come in time.
"$build/liana" synth flowers classes=3 images=150 image_size=16 --out plot >log
cat >config.yaml <<'YAML'
data: {train: plot/train/*.tfrec, validation: plot/val/*.tfrec, class_names: plot/classes.txt}
model:
  layers:
    - Conv2D: {filters: 32, kernel_size: 3, activation: relu}
    - Conv2D: {filters: 96, kernel_size: 5, activation: relu}
    - GlobalAveragePooling2D
    - Dropout: {rate: 0.2}
    - Dense: {units: 3, activation: softmax}
train: {epochs: 30, batch_size: 4, microbatch: 1, optimizer: {name: adam}}
output: run
YAML
cat >large.yaml <<'YAML'
data: {train: plot/train/*.tfrec, class_names: plot/classes.txt}
model: {layers: [Flatten, Dense: {units: 2048, activation: relu}, Dense: {units: 3, activation: softmax}]}
train: {epochs: 100, batch_size: 4, microbatch: 1}
YAML
"$build/liana" train config.yaml --out whole >log 2>&1 || fail "$(cat log)"
steps_of() { basename "$(ls -d "$1"/checkpoints/step-* | tail -n 1)" | sed 's/^step-0*//'; }
epoch=$(($(steps_of whole) / 30)) # updates
last=checkpoints/$(basename "$(ls -d whole/checkpoints/step-* | tail -n 1)")
assert_whole() { # a folder; the test's story
    for file in history.json validation_predictions.csv "$last/variables.safetensors"; do
        cmp "whole/$file" "$1/$file" || fail "$2: another $file than that of an undisturbed run"
    done
}

# A process that writes its number, for its killer, and how it ends. Open MPI's mpirun kills all others one second after the
# first that ends with an error: on a busy machine before they have written how they end. So those that stop end together.
cat >member <<'SH'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
trap : TERM
"$@" &
echo $! >"process.$rank"
while wait $!; code=$?; kill -0 $! 2>/dev/null; do :; done
echo $code >"code.$rank"
waits=0
while [ $code -eq 75 ] && [ "$(cat code.? | wc -l)" -lt 3 ] && [ $waits -lt 100 ]; do
    waits=$((waits + 1))
    sleep 0.1
done
exit $code
SH
chmod +x member

# Three processes train in the folder $1, and the signal $2 goes to rank $3, or to mpirun, once something is saved.
# code: mpirun's exit code. 0: the training was over before; then once more.
disturb() {
    code=0
    tries=0
    while [ $code -eq 0 ]; do
        tries=$((tries + 1))
        [ $tries -le 10 ] || fail "$library: each training is over before the signal comes"
        rm -rf "$1" out process.* code.*
        # shellcheck disable=SC2086
        "$mpirun" -n 3 $member "$build/liana" train config.yaml --requeue --out "$1" >out 2>&1 &
        job=$!
        until ls "$1"/checkpoints/step-*/state.json >/dev/null 2>&1 && [ "$(cat process.? | wc -l)" -eq 3 ]; do
            kill -0 $job 2>/dev/null || fail "$library: $(cat out)"
            sleep 0.02
        done
        target=$job
        [ "$3" = mpirun ] || target=$(cat "process.$3")
        kill "-$2" "$target" 2>/dev/null || true
        if wait $job; then code=0; else code=$?; fi
    done
}
resume() { # a folder, processes
    timeout 300 "$mpirun" -n "$2" "$build/liana" train config.yaml --resume --out "$1" >out 2>&1 ||
        fail "$library, --resume on $2 processes: $(cat out)"
}

# The commands of docs/guides/cluster.md, as they stand there: one trains, the other one finds that all is done.
check_docs() {
    rm -rf run programs
    mkdir programs
    # No link: MPICH's mpirun looks for its parts in the folder of the name that it is called by.
    printf '#!/bin/sh\nexec %s "$@"\n' "$mpirun" >programs/mpirun
    chmod +x programs/mpirun
    ln -s "$build/liana" programs/liana
    commands=$(sed -n '/^## With MPI/,/^## The key/p' "$source/docs/guides/cluster.md" | grep '^mpirun ')
    [ "$(echo "$commands" | wc -l)" -eq 2 ] || fail "docs/guides/cluster.md has other commands than this check knows: $commands"
    echo "$commands" | while read -r line; do
        PATH="$folder/programs:$PATH" timeout 300 sh -c "$line" >out 2>&1 </dev/null || fail "$line: $(cat out)"
    done
    assert_whole run "$library, docs/guides/cluster.md"
}

# A process is killed while it sends sums of 6 MB: those that wait for the rest of them notice it, too. mpirun would
# kill them after a second; here they have longer.
check_death_in_a_message() {
    for try in 1 2 3 4; do
        rm -rf cut out process.* code.*
        OMPI_MCA_odls_base_sigkill_timeout=3 "$mpirun" -n 3 ./member "$build/liana" train large.yaml --requeue --out cut \
            >out 2>&1 &
        job=$!
        until [ -s process.1 ] && grep -qi 'epoch [0-9]' out; do # a bar, or a line where mpirun gives no terminal
            kill -0 $job 2>/dev/null || fail "$library: $(cat out)"
            sleep "0.0$try"
        done
        kill -KILL "$(cat process.1)"
        wait $job || true
        [ "$(cat code.0 code.2)" = "$(printf '75\n75')" ] ||
            fail "$library: the others do not end with 75, but with $(cat code.*): $(cat out)"
    done
}

# A process is killed in the middle. The run goes on from its checkpoints, on any number of processes.
check_death() {
    disturb killed KILL 1
    grep -q 'over mpi the death of a process ends the job; start it again with --resume' out ||
        fail "$library: nothing says what to do: $(cat out)"
    if [ $library = openmpi ]; then
        grep -q "rank 1 has died: it was process $(cat process.1) of this machine; over mpi" out ||
            fail "$library: nobody says who has died: $(cat out)"
        ! cat code.0 code.2 | grep -v '^75$' || fail "$library: the others do not end with 75"
        check_death_in_a_message
    fi
    # Each goes on in the folder itself. A lease that a killed chief has left there is taken at once; in a copy it is waited for.
    rm -rf saved
    cp -R killed saved
    for count in 1 2 3; do
        find killed -mindepth 1 -delete
        cp -R saved/. killed
        resume killed $count
        grep -q 'resumed from' out || fail "$library: begins anew: $(cat out)"
        assert_whole killed "$library, a death and $count processes"
    done
}

# A signal to one process, or to mpirun. All stop after the same update, which is mostly in the middle of an epoch, and save.
check_signal() { # its receiver, mpirun's exit code
    tries_of_all=0
    until disturb stopped TERM "$1" && [ $(($(steps_of stopped) % epoch)) -ne 0 ]; do
        tries_of_all=$((tries_of_all + 1))
        [ $tries_of_all -lt 10 ] || fail "$library: a signal to $1: nothing is saved in the middle of an epoch: $(cat out)"
    done
    [ $code -eq "$2" ] || fail "$library: a signal to $1: mpirun returns $code and not $2: $(cat out)"
    # Open MPI's mpirun, told to end, lets nobody leave MPI: it kills them while they wait for that.
    ranks='0 1 2'
    [ "$library $1" != 'openmpi mpirun' ] || ranks=
    for rank in $ranks; do
        [ "$(cat code.$rank)" -eq 75 ] || fail "$library: a signal to $1: rank $rank ends with $(cat code.$rank): $(cat out)"
    done
    resume stopped 2
    assert_whole stopped "$library, a signal to $1"
}

run=0
for library in openmpi mpich; do
    mpirun=$(command -v mpirun.$library || true)
    if [ -z "$mpirun" ] || [ ! -e "$build/liana_$library.so" ]; then
        echo "skipped: no mpirun of $library, or no module for it (scripts/install-packages.sh --tests)"
        continue
    fi
    options=
    [ $library = mpich ] || options=--oversubscribe
    timeout 120 "$mpirun" $options -n 4 "$build/bench_transport" check >"$folder/out" 2>&1 ||
        fail "$library: $(cat "$folder/out")"
    [ "$(grep -c 'of 4 has heard all, over mpi' "$folder/out")" -eq 4 ] || fail "$library: $(cat "$folder/out")"

    # The other module, given by name: the message says that it is not the right one.
    other=mpich
    [ $library = openmpi ] || other=openmpi
    if [ -e "$build/liana_$other.so" ]; then
        if LIANA_MPI_MODULE="$build/liana_$other.so" timeout 120 "$mpirun" $options -n 2 "$build/bench_transport" check \
            >"$folder/out" 2>&1; then fail "$library: runs with the module for $other"; fi
        grep -q "module liana_$library.so .*of another version of liana, or of another MPI" "$folder/out" ||
            fail "$library: $(cat "$folder/out")"
    fi
    if LIANA_MPI_MODULE="$folder/none.so" timeout 120 "$mpirun" $options -n 2 "$build/bench_transport" check \
        >"$folder/out" 2>&1; then fail "$library: runs without a module"; fi
    grep -q "none.so: it is not there" "$folder/out" || fail "$library: $(cat "$folder/out")"

    # A process that ends before it has met the others ends the job.
    if timeout 120 "$mpirun" $options -n 2 sh -c \
        "[ \"\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-}}\" = 0 ] || kill -9 \$\$; exec '$build/bench_transport' check" \
        >"$folder/out" 2>&1; then fail "$library: a job with a dead process succeeds"; fi
    # A training has the history of one process.
    timeout 300 "$mpirun" $options -n 3 "$build/liana" train tiny.yaml --out "run-$library" >"$folder/out" 2>&1 ||
        fail "$library: $(cat "$folder/out")"
    cmp one/history.json "run-$library/history.json" || fail "$library: another history than that of one process"

    member=./member
    check_docs
    check_death
    check_signal 2 75
    # Open MPI's own end of a job is an error of its own.
    if [ $library = openmpi ]; then check_signal mpirun 1; else check_signal mpirun 75; fi
    run=$((run + 1))
done
[ $run -gt 0 ] || exit 77
echo "$run kinds of MPI"
