# Commands such as those of README.md and docs/: their output and their files.

quick() { configure "$1" "epochs: 2, batch_size: 20, optimizer: {name: Adam, learning_rate: 3.0e-3}"; }

# A run that the other commands look at.
case_use_a_run() {
    quick flowers
    say summary liana summary flowers.yaml
    say train liana train flowers.yaml --out run
    say evaluate liana evaluate run
    say by_class liana evaluate run --by-class --json
    say predict liana predict run --data "$DRAWN/flowers/test/*.tfrec" --out predictions.csv
    say probabilities liana predict run --data "$DRAWN/flowers/test/*.tfrec" --out - --probabilities
    say top liana predict run --data "$DRAWN/flowers/val/*.tfrec" --top 3
    say json liana predict run --data "$DRAWN/flowers/val/*.tfrec" --json
    say model liana evaluate --model run/model.json --weights run/checkpoints/step-0000000012/variables.safetensors \
        --data "$DRAWN/flowers/val/*.tfrec" data.class_names="$DRAWN/flowers/classes.txt"
    say summary_of_run liana summary run
}
case_report_and_compare() {
    quick flowers
    say train liana train flowers.yaml --out run
    say other liana train flowers.yaml train.epochs=3 train.optimizer.name=SGD --out other
    say report liana report run
    say compare liana compare run other
    say compare_json liana compare run other --json
    say plot liana plot run other --out both.png
}
case_json_events() {
    quick flowers
    say train liana train flowers.yaml --json --out run
    say evaluate liana evaluate run --json
}
case_check_and_data() {
    quick flowers
    say check liana check flowers.yaml --quarantine bad.csv
    say train liana train flowers.yaml data.quarantine=bad.csv train.epochs=1 --out run
    say data liana data flowers.yaml --out pictures
    say inspect liana inspect "$DRAWN"/flowers/val/*.tfrec
    say inspect_run liana inspect run/checkpoints/*/variables.safetensors
}
case_lists() {
    say list liana list
    for kind in $(awk 'NF > 1 { print $1 }' list.out); do
        say "$kind" liana list "$kind"
        say "$kind.json" liana list "$kind" --json
    done
    liana list train >unknown.out 2>unknown.err || true
    say layer liana list layers Conv2D
    say help liana help
    for command in train find-lr sweep evaluate predict report compare plot summary check data replay profile plan \
        inspect convert synth devices compare-devices launch cluster server list; do
        say "help_$command" liana $command --help
    done
}
case_synth_and_convert() {
    say synth liana synth flowers classes=3 images=30 image_size=24 shards=2 --out drawn
    say convert liana convert drawn/train --out converted --shards 3
}
case_find_lr() {
    quick flowers
    say find liana find-lr flowers.yaml --updates 40 --max-rate 3
}
case_sweep() {
    quick flowers
    cat >sweep.yaml <<'YAML'
base: flowers.yaml
output: sweep
seeds: [1, 2]
set: {train.steps_per_epoch: 3}
grid: {train.optimizer.learning_rate: [1.0e-3, 1.0e-2]}
metrics: [val_accuracy, val_loss]
YAML
    say dry liana sweep sweep.yaml --dry-run
    say sweep liana sweep sweep.yaml --jobs 1 --report page.md
    say again liana sweep sweep.yaml --jobs 1
}
case_plan() {
    quick flowers
    say plan liana plan flowers.yaml --workers 4 --bandwidth 25Gb --latency 20us --seconds 0.01
    say devices liana devices
}
# Mistakes: the messages.
case_refused() {
    quick flowers
    refused key liana train flowers.yaml train.epoch=3
    refused option liana train flowers.yaml --epochs 3
    refused value liana train flowers.yaml train.epochs=many
    refused optimizer liana train flowers.yaml train.optimizer.name=Adamm
    refused loss liana train flowers.yaml train.loss=crossentropy
    refused metric liana train flowers.yaml 'train.metrics=[acuracy]'
    refused strategy liana train flowers.yaml train.strategy=miror
    refused microbatch liana train flowers.yaml train.microbatch=30
    refused batch liana train flowers.yaml train.batch_size=0
    refused file liana train missing.yaml
    refused data liana train flowers.yaml data.train=missing.tfrec
    refused run liana evaluate missing
    refused resume liana train flowers.yaml --resume --out nothing train.epochs=0
    refused layer liana train flowers.yaml 'model.layers=[Conf2D]'
    refused shapes liana train flowers.yaml 'model.layers=[{Dense: {units: 5, activation: softmax}}]'
    refused outputs liana train flowers.yaml 'model.layers=[Flatten, {Dense: {units: 4, activation: softmax}}]'
    refused steps liana train flowers.yaml train.steps_per_execution=0
    refused callback liana train flowers.yaml 'train.callbacks=[EarlyStoping]'
    refused control liana train flowers.yaml train.control=anealing
    refused precision liana train flowers.yaml train.precision=float8
    refused device liana train flowers.yaml train.device=gpu:7
    refused server liana launch -n 2 --servers 2 flowers.yaml --out servers
}
