# Several processes: strategies, transports, deaths. The processes print in any order.

problem() {
    configure problem "epochs: 2, batch_size: 20, microbatch: 4, seed: 4, callbacks: [CSVLogger]${1:+, $1}" "${2:-}"
}
# launch NAME OPTIONS ...: processes that `liana launch` starts; they meet at sockets in a folder.
launch() {
    name=$1
    shift
    say "$name" liana launch "$@" --out "run-$name"
}

case_workers() {
    problem
    launch two -n 2 problem.yaml
    launch three -n 3 problem.yaml
    launch groups -n 2 problem.yaml 'train.strategy={name: multi_worker, replicas: 2, threads: 1}'
    launch rounded -n 2 problem.yaml 'train.strategy={name: multi_worker, wire: bfloat16}'
    launch executions -n 2 problem.yaml train.steps_per_execution=3
    launch mixed -n 2 problem.yaml train.precision=mixed_bfloat16 train.optimizer.global_clipnorm=0.2
}
case_servers() {
    problem
    launch one -n 3 --servers 1 problem.yaml
    launch two -n 3 --servers 2 problem.yaml train.optimizer.name=Lamb
    launch executions -n 3 --servers 1 problem.yaml train.steps_per_execution=3
    # In turn: reproducible for one worker.
    launch free -n 2 --servers 1 problem.yaml 'train.strategy={name: parameter_server, synchronous: false}'
}
case_json() {
    problem
    say json liana launch -n 2 problem.yaml --json --out run
    in_any_order json
}
case_shared_commands() {
    problem
    say train liana train problem.yaml --out run
    say evaluate liana launch -n 2 -- evaluate run --by-class
    say predict liana launch -n 3 -- predict run --data "$DRAWN/flowers/test/*.tfrec" --out predictions.csv
}
case_other_parts() {
    problem "class_weights: {1: 2.0}" "checkpoint: {every_steps: 4, keep: 9, best: val_loss}"
    launch weighted -n 2 problem.yaml data.cache=none
    problem "" "stages: [{epochs: 1, trainable_from: dense}, {epochs: 1, train_all: true}]"
    launch stages -n 2 problem.yaml train.epochs=2
    problem "control: {name: annealing, monitor: val_loss, every_steps: 2, energy: 0.001, factor_low: 0.1,
        factor_high: 0.5}"
    launch annealing -n 2 problem.yaml
}
# Over TCP with a key, found by the variables of torchrun.
case_tcp() {
    problem
    say keys liana cluster keys "$TMPDIR/keys"
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    export LIANA_CLUSTER_KEYS="$TMPDIR/keys" LIANA_THREADS=1 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT="$port"
    RANK=1 liana train problem.yaml --out run >one.out 2>one.err &
    RANK=0 liana train problem.yaml --out run >zero.out 2>zero.err
    wait $!
    rm keys.out
}
# Under MPI, where it is.
under_mpi() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 LIANA_THREADS=1
    export OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 OMPI_MCA_btl_vader_single_copy_mechanism=none
    problem
    mpirun=$(command -v "mpirun.$1") || return 0
    [ -e "$BIN/liana_$1.so" ] || return 0
    # Open MPI gives its processes a terminal, where a bar is drawn.
    say train timeout 120 "$mpirun" -n 3 sh -c 'liana train problem.yaml --out run | cat'
    in_any_order train
}
case_openmpi() { under_mpi openmpi; }
case_mpich() { under_mpi mpich; }
case_refused() {
    problem
    refused servers liana launch -n 2 --servers 2 problem.yaml --out run
    refused strategy liana launch -n 2 problem.yaml train.strategy=mirrored --out run
    refused wire liana launch -n 2 problem.yaml 'train.strategy={name: multi_worker, wire: float8}' --out run
    # The process that fails first is chance.
    for name in servers strategy wire; do
        sed -i 's/^\[rank [0-9]\] //; s/rank [0-9]/rank N/' $name.err
        LC_ALL=C sort -u -o $name.err $name.err
    done
}

# ---- deaths ----

# die NAME WHICH OPTIONS ...: a training of which one process is killed when the first checkpoint is there. The run
# folder is compared, and the names of the dead. The time of a death is not, so nothing else is kept. A training that
# was over before is tried again.
die() {
    name=$1 which=$2
    shift 2
    for try in 1 2 3 4 5; do
        rm -rf "run-$name"
        env -u COMPARE_KEEP -u LIANA_DUMP liana launch "$@" --out "run-$name" >"$name.out" 2>"$name.err" &
        launched=$!
        until [ -n "$(ls "run-$name/checkpoints" 2>/dev/null)" ]; do sleep 0.01; done
        kill -9 "$(pgrep -P $launched | sed -n "${which}p")" || true
        code=0
        wait $launched || code=$?
        if grep -q 'has died\|is gone\|has failed\|goes on without' "$name.out" "$name.err"; then break; fi
        [ $try -lt 5 ] || { echo "the training was over before the death" && return 1; } >&2
    done
    echo $code >"$name.code"
    cat "$name.out" "$name.err" | grep 'died\|gone\|failed\|without' | sed 's/[0-9][0-9]*/N/g' |
        LC_ALL=C sort >"$name.words"
    rm "$name.out" "$name.err"
    rm -rf "run-$name"/*.log
}
deaths() { problem "" "checkpoint: {every_steps: 3, keep: 3}"; }
case_death_of_a_worker() {
    deaths
    die worker 3 -n 3 problem.yaml train.epochs=40 cluster.heartbeat=2
}
case_death_of_the_chief() {
    deaths
    die chief 1 -n 3 problem.yaml train.epochs=40 cluster.heartbeat=2 cluster.lease=3
}
case_death_of_a_server() {
    deaths
    die server 4 -n 4 --servers 2 problem.yaml train.epochs=40 cluster.heartbeat=2
}
case_death_and_return() {
    deaths
    die worker 3 -n 3 --restarts 1 problem.yaml train.epochs=60 cluster.heartbeat=2
}
