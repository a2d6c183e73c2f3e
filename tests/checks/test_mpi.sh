#!/bin/sh
# The transport mpi under both kinds of mpirun: messages arrive, a death ends the job, the wrong module is named.
#   test_mpi.sh BUILD_FOLDER
set -eu
build=$(cd "$1" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Two modules and their processes lie on this machine alone.
export OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 OMPI_MCA_btl_vader_single_copy_mechanism=none
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
    run=$((run + 1))
done
[ $run -gt 0 ] || exit 77
echo "$run kinds of MPI"
