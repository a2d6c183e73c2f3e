# Runs that the base has written, cut, are gone on with by each build: the bits must be those that the base itself
# gives.

# begun NAME TRAIN [MORE]: the base trains, and saves after every third update.
begun() {
    configure "$@"
    by_base say begin liana train "$1.yaml" --out run
}
# cut RUN STEP: only the checkpoint of one update is left.
cut_run() {
    find "$1/checkpoints" -mindepth 1 -maxdepth 1 ! -name "step-$(printf %010d "$2")" -exec rm -r {} +
    [ -n "$(ls "$1/checkpoints")" ]
}
every="checkpoint: {every_steps: 3, keep: 99}"

case_between_epochs() {
    begun flowers "epochs: 3, batch_size: 20, callbacks: [CSVLogger], seed: 3" "$every"
    cut_run run 6
    say resume liana train flowers.yaml --resume --out run
    say more liana train run --resume train.epochs=4
}
case_in_an_epoch() {
    begun flowers "epochs: 3, batch_size: 20, callbacks: [CSVLogger, {EarlyStopping: {monitor: val_loss,
        patience: 9}}, {ReduceLROnPlateau: {monitor: val_loss, patience: 0, factor: 0.5}}], seed: 3" "$every"
    cut_run run 9
    say resume liana train flowers.yaml --resume --out run
}
case_with_slots() {
    begun flowers "epochs: 2, batch_size: 16, microbatch: 4, optimizer: {name: Adam, amsgrad: true, use_ema: true,
        ema_momentum: 0.9, learning_rate: {name: CosineDecay, initial_learning_rate: 3.0e-3, warmup_epochs: 0.5}},
        metrics: [accuracy, auc, confusion_matrix], class_weights: balanced, precision: mixed_bfloat16" "$every"
    cut_run run 9
    say resume liana train flowers.yaml --resume --out run
}
case_groups_of_updates() {
    begun flowers "epochs: 2, batch_size: 8, steps_per_execution: 4" "$every"
    ls run/checkpoints >begun.txt
    step=$(ls run/checkpoints | sed -n '2s/step-0*//p')
    cut_run run "$step"
    say resume liana train flowers.yaml --resume --out run
}
case_stages() {
    begun flowers "batch_size: 20" "$every
stages: [{epochs: 1, trainable_from: dense}, {epochs: 2, train_all: true}]"
    cut_run run 9
    say resume liana train flowers.yaml --resume --out run
}
case_annealing() {
    begun flowers "epochs: 3, batch_size: 20, control: {name: annealing, monitor: val_loss, every_steps: 2,
        energy: 0.001, factor_low: 0.1, factor_high: 0.5}" "$every"
    cut_run run 9
    say resume liana train flowers.yaml --resume --out run
}
case_rewound() {
    begun flowers "epochs: 2, batch_size: 20" "$every"
    say branch liana train flowers.yaml train.epochs=3 --out branch --resume-from run/checkpoints/step-0000000003
    say rewind liana train flowers.yaml --out run --resume-from step-0000000009
    say changed liana train flowers.yaml train.epochs=3 train.optimizer.learning_rate=0.01 --out run \
        --resume --allow-changed
    refused other liana train flowers.yaml train.batch_size=10 --resume --out run
}
# A run is looked at, and used, with the other build.
case_used() {
    begun flowers "epochs: 2, batch_size: 20, metrics: [accuracy, class_f1_score]" "checkpoint: {best: val_loss}"
    say evaluate liana evaluate run
    say best liana evaluate run --checkpoint best --json
    say predict liana predict run --data "$DRAWN/flowers/test/*.tfrec" --out predictions.csv --probabilities
    say report liana report run
    say warm liana train flowers.yaml model.warm_start.from=run --out warm
}
case_cluster() {
    configure flowers "epochs: 2, batch_size: 20, microbatch: 4" "$every"
    by_base say begin liana launch -n 3 flowers.yaml --out run
    cut_run run 9
    say resume liana launch -n 2 flowers.yaml --resume --out run
}
case_servers() {
    configure flowers "epochs: 2, batch_size: 20, microbatch: 4" "$every"
    by_base say begin liana launch -n 3 --servers 1 flowers.yaml --out run
    cut_run run 3
    say resume liana launch -n 4 --servers 2 flowers.yaml --resume --out run
    cut_run run 9
    say alone liana train flowers.yaml --resume --out run
}
# A signal stops the base somewhere: the end is the same, and the output and checkpoints before it are not compared.
case_signal() {
    configure flowers "epochs: 60, batch_size: 8, microbatch: 2, callbacks: [CSVLogger]" "$every"
    for try in 1 2 3 4 5; do
        rm -rf run
        (PATH=$BASE_BIN:$PATH && unset COMPARE_KEEP LIANA_DUMP &&
            exec liana train flowers.yaml --out run) >begin.out 2>&1 &
        until [ -n "$(ls run/checkpoints 2>/dev/null)" ]; do sleep 0.01; done
        kill -TERM $!
        code=0
        wait $! || code=$?
        [ $code -eq 0 ] || break
    done
    rm begin.out
    env -u COMPARE_KEEP -u LIANA_DUMP liana train flowers.yaml --resume --out run >resume.out 2>&1
    rm resume.out
    ls -d run/checkpoints/* | sed '$d' | xargs rm -r
}
# The model_dir of an estimator.
case_estimator() {
    digits
    say begin "$BASE_BIN/example_estimator" 250
    say resume "$BIN/example_estimator" 600
}
case_sweep() {
    configure flowers "epochs: 2, batch_size: 20" "$every"
    cat >sweep.yaml <<'YAML'
base: flowers.yaml
output: sweep
seeds: [1, 2]
grid: {train.optimizer.learning_rate: [1.0e-3, 1.0e-2]}
metrics: [val_accuracy, val_loss]
YAML
    by_base say begin liana sweep sweep.yaml --jobs 1
    # One run is cut, one is gone, two are there.
    set -- sweep/*/seed-*
    cut_run "$1" 9
    rm -f "$1/history.json" sweep/results.*
    rm -r "$2"
    say resume liana sweep sweep.yaml --jobs 1
}
# Decoded images and element files that the base has kept.
case_cache() {
    configure flowers "epochs: 1, batch_size: 20"
    by_base say begin liana train flowers.yaml data.cache=file data.cache_dir=cache --out run
    say again liana train flowers.yaml data.cache=file data.cache_dir=cache --out again
}
