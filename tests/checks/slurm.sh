#!/bin/sh
# Slurm itself, on this machine alone: a script with `srun liana train` gives the run of one process, and a job that is
# told to stop is queued again, goes on, and ends with the same bytes.
#   slurm.sh BUILD_FOLDER
# Needs root. Slurm is that of this machine, or Debian's, unpacked into a temporary folder (apt-get download); nothing is
# installed, and its daemons end with this script. Exits 77, and says why, where that cannot be.
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
ended=
finish() {
    for name in slurmctld slurmd munged; do
        [ ! -s "$folder/$name.pid" ] || kill "$(cat "$folder/$name.pid")" 2>/dev/null || true
    done
    sleep 1
    [ -n "$ended" ] || tail -n 20 "$folder"/*.log "$folder"/jobs/*.out 2>/dev/null >&2 || true
    rm -rf "$folder"
}
trap finish EXIT
trap "exit 1" HUP INT TERM
fail() {
    echo "slurm.sh: $*" >&2
    exit 1
}
skip() {
    echo "skipped: $*"
    ended=yes
    exit 77
}

# ---- the programs ----

[ "$(id -u)" = 0 ] || skip "Slurm's daemons need root"
if ! command -v slurmctld >/dev/null || ! command -v slurmd >/dev/null || ! command -v munged >/dev/null; then
    mkdir "$folder/packages"
    (cd "$folder/packages" && apt-get download slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2 \
        libhwloc15 libjwt0 liblua5.1-0 libb64-0d >"$folder/apt.log" 2>&1) ||
        skip "no Slurm is installed, and Debian's cannot be fetched: $(tail -n 1 "$folder/apt.log")"
    for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder/system"; done
    for program in slurmctld slurmd slurmstepd; do
        [ -e "$folder/system/usr/sbin/$program" ] || ln -s $program-wlm "$folder/system/usr/sbin/$program"
    done
    libraries=$folder/system/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo x86_64-linux-gnu)
    export PATH="$folder/system/usr/sbin:$folder/system/usr/bin:$PATH"
    export LD_LIBRARY_PATH="$libraries:$libraries/slurm-wlm"
    plugins="PluginDir=$libraries/slurm-wlm"
    stepd="-d $folder/system/usr/sbin/slurmstepd"
else
    plugins=
    stepd=
fi
slurmctld -V >/dev/null 2>&1 || skip "slurmctld does not run: $(slurmctld -V 2>&1 | tail -n 1)"
host=$(hostname -s)
getent hosts "$host" >/dev/null || skip "the name of this machine, $host, has no address"

# ---- one node ----

chmod 755 "$folder"
mkdir -m 700 "$folder/munge"
mkdir "$folder/state" "$folder/spool" "$folder/jobs"
dd if=/dev/urandom of="$folder/munge/key" bs=128 count=1 2>/dev/null
chmod 600 "$folder/munge/key"
munged --force --key-file="$folder/munge/key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munge/seed" || skip "munged does not start"
port=$((20000 + $$ % 20000))
cat >"$folder/slurm.conf" <<CONF
ClusterName=liana
SlurmctldHost=$host
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$folder/munge.socket,cred_expire=5
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
ReturnToService=2
$plugins
NodeName=$host CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF="$folder/slurm.conf"
slurmctld
# shellcheck disable=SC2086
slurmd $stepd
tries=0
until sinfo -h -o %T 2>/dev/null | grep -q '^idle'; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || fail "the node does not become idle: $(sinfo 2>&1)"
    [ $tries -ne 100 ] || scontrol update NodeName="$host" State=RESUME 2>/dev/null || true
    sleep 0.2
done

# ---- jobs ----

cd "$folder/jobs"
"$build/liana" synth flowers classes=3 images=240 image_size=32 --out plot >log
cat >config.yaml <<'YAML'
data: {train: plot/train/*.tfrec, validation: plot/val/*.tfrec, class_names: plot/classes.txt}
model:
  layers:
    - Conv2D: {filters: 16, kernel_size: 5, strides: 2, activation: relu}
    - GlobalAveragePooling2D
    - Dense: {units: 3, activation: softmax}
train: {epochs: 3, batch_size: 32, microbatch: 4}
YAML
"$build/liana" cluster keys keys >log
"$build/liana" train config.yaml --out one >log 2>&1 || fail "$(cat log)"

# The script of docs/guides/cluster.md, with the numbers of this node, its keys and other words for liana train.
sed -n '/^#!\/bin\/sh$/,/^```$/p' "$source/docs/guides/cluster.md" | sed -e '/^```$/d' \
    -e 's/--nodes=4 --ntasks-per-node=1 --cpus-per-task=16 --time=04:00:00/--ntasks=4 --cpus-per-task=1 --time=00:30:00/' \
    -e 's|\$HOME/.liana-keys|$PWD/keys|' -e 's|train config.yaml|train "$@"|' >job.sh
for part in ntasks=4 'PWD/keys' 'train "$@"'; do
    grep -qF -- "$part" job.sh || fail "docs/guides/cluster.md has another script than this check knows: $(cat job.sh)"
done
export PATH="$build:$PATH"
wait_for_end() {
    tries=0
    while squeue -h -j "$1" -o %T 2>/dev/null | grep -q .; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || fail "job $1 does not end: $(squeue -j "$1" 2>&1)"
        sleep 0.2
    done
}
job=$(sbatch --parsable --output=first.out job.sh config.yaml --out four)
wait_for_end "$job"
cmp one/history.json four/history.json || fail "four tasks: another history than that of one process"
cmp one/validation_predictions.csv four/validation_predictions.csv || fail "four tasks: other predictions"
echo "a job of 4 tasks ends with the files of one process"

# The command of docs/guides/cluster.md, over MPI.
command=$(sed -n '/^## With MPI/,/^## The key/p' "$source/docs/guides/cluster.md" | grep '^srun ')
[ "$command" = 'srun -n 4 --mpi=pmix liana train config.yaml' ] || fail "docs/guides/cluster.md has another command: $command"
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
# $command with Slurm's plugin $1, over the MPI $2.
train_over() {
    if [ ! -e "$build/liana_$2.so" ] || ! srun --mpi=list 2>&1 | grep -q "$1"; then
        echo "skipped: srun --mpi=$1: no module liana_$2.so, or Slurm has no plugin $1"
        return
    fi
    words=$(echo "$command" | sed "s/--mpi=pmix/--mpi=$1/")
    LIANA_THREADS=1 timeout 300 sh -c "$words --out $1" >"$1.out" 2>&1 || fail "srun --mpi=$1: $(cat "$1.out")"
    grep -q 'over mpi the death of a process ends the job' "$1.out" || fail "srun --mpi=$1: not over MPI: $(cat "$1.out")"
    cmp one/history.json "$1/history.json" || fail "srun --mpi=$1: another history than that of one process"
    echo "srun --mpi=$1 ends with the files of one process, over $2"
}
train_over pmix openmpi
train_over pmi2 mpich

"$build/liana" train config.yaml --out long train.epochs=100 >log 2>&1 || fail "$(cat log)"
job=$(sbatch --parsable --output=second.out job.sh config.yaml --out again train.epochs=100 checkpoint.every_steps=20)
tries=0
until ls again/checkpoints/*/state.json >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail "job $job has no checkpoint"
    sleep 0.1
done
scancel --signal=TERM "$job"
wait_for_end "$job"
grep -q 'resumed from' second.out || fail "the job was not queued again, or did not go on: $(cat second.out)"
cmp long/history.json again/history.json || fail "a job that went on: another history"
cmp long/validation_predictions.csv again/validation_predictions.csv || fail "a job that went on: other predictions"
echo "a job that was told to stop was queued again, and ends with the same bytes"
ended=yes
