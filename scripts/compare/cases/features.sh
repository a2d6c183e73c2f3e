# The features of a training, one or a few at a time: weights, history, predictions, messages of each.

# train NAME TRAIN [MORE]: trains with these keys of `train`.
train() {
    configure "$@"
    say "$1" liana train "$1.yaml" --out "run-$1"
}

case_shards() {
    train whole "epochs: 2, batch_size: 20, seed: 3"
    train cut "epochs: 2, batch_size: 20, microbatch: 4, seed: 3"
    train uneven "epochs: 2, batch_size: 22, microbatch: 6, seed: 3, remainder: drop, threads: 3"
}
case_optimizers() {
    for name in SGD Adam AdamW RMSprop Adagrad Adadelta Adamax Nadam Ftrl Lion Lamb LARS; do
        configure $name "epochs: 1, steps_per_epoch: 3, batch_size: 20, optimizer: {name: $name, learning_rate: 0.01}"
        liana train $name.yaml --out "run-$name" >$name.out 2>$name.err || echo $? >$name.code
    done
}
case_optimizer_options() {
    train momentum "epochs: 2, batch_size: 20, optimizer: {name: SGD, momentum: 0.9, nesterov: true,
        learning_rate: {name: ExponentialDecay, initial_learning_rate: 0.1, decay_steps: 4, decay_rate: 0.9}}"
    train clipped "epochs: 1, batch_size: 20, optimizer: {name: Adam, global_clipnorm: 0.1, weight_decay: 0.01,
        amsgrad: true}"
    train averaged "epochs: 2, batch_size: 20, optimizer: {name: SGD, learning_rate: 0.05, use_ema: true,
        ema_momentum: 0.9, ema_overwrite_frequency: 4}"
    train warmed "epochs: 2, batch_size: 20, optimizer: {name: Adam, learning_rate: {name: CosineDecay,
        initial_learning_rate: 2.0e-3, warmup_epochs: 0.5}}"
}
case_steps_per_execution() {
    train groups "epochs: 2, batch_size: 8, steps_per_execution: 4, seed: 2"
    train single "epochs: 2, batch_size: 8, seed: 2"
    train saved "epochs: 2, batch_size: 8, steps_per_execution: 5, seed: 2" "checkpoint: {every_steps: 4, keep: 9}"
}
case_class_weights() {
    train weights "epochs: 2, batch_size: 20, class_weights: {1: 2.0, 2: 0.5}"
    train balanced "epochs: 1, batch_size: 20, class_weights: balanced"
}
case_precision() {
    train mixed "epochs: 2, batch_size: 20, precision: mixed_bfloat16"
    train auto "epochs: 1, batch_size: 20, precision: auto"
}
case_metrics() {
    train many "epochs: 2, batch_size: 20, metrics: [accuracy, {name: top_k_accuracy, k: 2}, class_f1_score,
        {name: class_recall, as: macro_recall}, cohen_kappa, confusion_matrix]"
}
case_validation() {
    train often "epochs: 3, batch_size: 20, validation_freq: 2, validation_batch_size: 7, validation_steps: 2"
    say split liana train often.yaml data.validation=null data.validation_split=0.2 train.validation_freq=1 \
        train.validation_steps=0 --out run-split
    say none liana train often.yaml data.validation=null --out run-none
}
case_length() {
    train steps "steps: 9, batch_size: 20"
    train per_epoch "epochs: 3, steps_per_epoch: 4, batch_size: 20"
    say repeated liana train per_epoch.yaml train.steps_per_epoch=8 data.repeat=true --out run-repeated
    say later liana train per_epoch.yaml train.initial_epoch=1 --out run-later
    refused too_long liana train per_epoch.yaml train.steps_per_epoch=8 --out run-refused
}
case_callbacks() {
    configure callbacks "epochs: 6, batch_size: 20, metrics: [accuracy], optimizer: {name: Adam,
        learning_rate: 0.02}, callbacks: [{EarlyStopping: {monitor: val_loss, patience: 2,
        restore_best_weights: true}}, {ReduceLROnPlateau: {monitor: val_loss, patience: 1, factor: 0.5}}, CSVLogger,
        {ConfusionMatrixLogger: {}}, {PredictionsLogger: {training: true}}]"
    sed -i 's/metrics: .accuracy./metrics: [accuracy, confusion_matrix]/' callbacks.yaml
    say train liana train callbacks.yaml --out run
    train averages "epochs: 3, batch_size: 20, optimizer: {name: Adam, use_ema: true, ema_momentum: 0.8},
        callbacks: [CSVLogger, SwapEMAWeights]"
    train best "epochs: 4, batch_size: 20" "checkpoint: {best: val_loss, keep: 2}"
}
case_annealing() {
    train annealing "epochs: 4, batch_size: 20, optimizer: {name: Adam, learning_rate: 0.05},
        control: {name: annealing, monitor: val_loss, every_steps: 2, energy: 0.001, factor_low: 0.1,
        factor_high: 0.5}"
}
case_stages() {
    train stages "batch_size: 20, optimizer: {name: Adam, learning_rate: 1.0e-3}" "stages:
  - {epochs: 1, trainable_from: dense}
  - {name: more, epochs: 2, trainable_from: batch_normalization_1, optimizer: {learning_rate: 1.0e-4}}
  - {epochs: 1, train_all: true, optimizer: {name: SGD, learning_rate: 1.0e-2}}"
}
case_augmented() {
    configure augmented "epochs: 2, batch_size: 22, microbatch: 4, optimizer: {name: Adam, learning_rate: 3.0e-3},
        seed: 5"
    cat >augment.yaml <<'YAML'
  oversample: {target_count: 30}
  augment:
    - random_flip: {direction: horizontal}
    - random_rotation: {degrees: 20.0}
    - random_perspective: {factor: 0.1}
    - mixup: {alpha: 0.2}
    - cutmix
YAML
    sed -i '/class_names/r augment.yaml' augmented.yaml
    say train liana train augmented.yaml --out run
}
case_bad_records() {
    cp -r "$DRAWN/flowers" damaged
    for file in damaged/train/*.tfrec; do
        printf 'broken' | dd of="$file" bs=1 seek=3000 conv=notrunc 2>/dev/null
        touch -r "$DRAWN/flowers/classes.txt" "$file"
    done
    configure bad "epochs: 2, batch_size: 16"
    sed -i "s|$DRAWN/flowers|damaged|" bad.yaml
    refused fails liana train bad.yaml --out run-fails
    say skips liana train bad.yaml data.on_bad_record=skip --out run-skips
    say check liana check bad.yaml --quarantine bad.csv || true
}
case_bad_numbers() {
    configure numbers "epochs: 2, batch_size: 20, optimizer: {name: SGD, learning_rate: 1.0e30}"
    refused fail liana train numbers.yaml --out run-fail
    for bundle in run-fail/bad-numbers-*; do
        liana replay "$bundle" >replay.out 2>replay.err || echo $? >replay.code
    done
    for policy in skip restore; do
        liana train numbers.yaml train.on_bad_numbers=$policy --out "run-$policy" >$policy.out 2>$policy.err ||
            echo $? >$policy.code
    done
}
case_recompute() {
    configure recompute "epochs: 1, batch_size: 20"
    for memory in 1 2 30; do
        liana train recompute.yaml train.recompute=auto train.memory=$memory --out run-$memory \
            >$memory.out 2>$memory.err || echo $? >$memory.code
    done
}
case_strategies() {
    train one "epochs: 2, batch_size: 20, microbatch: 4, seed: 4"
    say mirrored liana train one.yaml 'train.strategy={name: mirrored, replicas: 2}' --out run-mirrored
    say three liana train one.yaml 'train.strategy={name: mirrored, replicas: 3, threads: 1}' --out run-three
}
case_warm_start() {
    train first "epochs: 1, batch_size: 20"
    say second liana train first.yaml model.warm_start.from=run-first train.epochs=2 --out run-second
    say weights liana train first.yaml --out run-weights \
        model.weights="$PWD/run-first/checkpoints/step-0000000006/variables.safetensors"
}
case_frozen() {
    train frozen "epochs: 1,
        batch_size: 20" && say from liana train frozen.yaml model.trainable_from=dense --out run-from
}
# Tables: numbers, categories, weights of examples; several targets; sequences with masks.
case_table() {
    cat >table.yaml <<YAML
data:
  train: {paths: $DRAWN/tables/train.csv, kind: table}
  validation: {paths: $DRAWN/tables/test.csv, kind: table}
  columns: {features: [width, height], price: price, often: weight}
  inputs: features
  targets: price
  example_weight: often
model: {layers: [{Dense: {units: 12, activation: tanh}}, {Dense: {units: 1}}]}
train: {epochs: 3, batch_size: 16, loss: mean_squared_error, metrics: [mean_absolute_error], callbacks: [CSVLogger]}
YAML
    say train liana train table.yaml --out run
    say huber liana train table.yaml 'train.loss={name: huber, delta: 0.5}' --out run-huber
    say predict liana predict run "$DRAWN/tables/test.csv" --out predictions.csv
    say evaluate liana evaluate run
}
# Two inputs, two outputs, losses with weights, rules for weights; a mask that reaches a loss for each step.
case_outputs() {
    cat >outputs.yaml <<YAML
data:
  train: {paths: $DRAWN/tables/train.csv, kind: table}
  validation: {paths: $DRAWN/tables/test.csv, kind: table}
  columns: {size: [width, height], kind: {category: true}, class_of: label, price: price}
  inputs: {size: size, kind: kind}
  targets: {class: class_of, cost: price}
model:
  layers:
    - InputLayer: {name: size, shape: [2]}
    - InputLayer: {name: kind, shape: [], dtype: int32}
    - Embedding: {input_dim: 4, output_dim: 3, inputs: kind, name: embedded}
    - Concatenate: {inputs: [size, embedded], name: both}
    - Dense: {units: 12, activation: tanh, kernel_regularizer: l2(l2=0.001), kernel_constraint: max_norm(max_value=1.5)}
    - Dropout: {rate: 0.2, name: body}
    - Dense: {name: class, units: 3, activation: softmax, inputs: body}
    - Dense: {name: cost, units: 1, inputs: body, kernel_initializer: he_normal, bias_constraint: non_neg}
  outputs: [class, cost]
train:
  epochs: 3
  batch_size: 16
  microbatch: 4
  loss: {class: sparse_categorical_crossentropy, cost: mean_squared_error}
  loss_weights: {cost: 0.1}
  metrics: {class: [accuracy, class_f1_score], cost: mean_absolute_error}
  optimizer: {name: RMSprop, learning_rate: 0.01, rate_multipliers: {"*": 1, "class": 0.5}}
YAML
    say train liana train outputs.yaml --out run
    say workers liana launch -n 2 outputs.yaml --out run-workers
    say predict liana predict run "$DRAWN/tables/test.csv" --out predictions.csv
}
case_steps_of_sequences() {
    cat >steps.yaml <<YAML
data:
  train: {paths: $DRAWN/tables/words.csv, kind: table, take: 100}
  validation: {paths: $DRAWN/tables/words.csv, kind: table, skip: 100}
  columns:
    words: {from: text, category: true, length: 6, padding: 0}
    next: {from: text, category: true, length: 6, padding: 0}
  inputs: words
  targets: next
model:
  layers:
    - Embedding: {input_dim: 12, output_dim: 4, mask_zero: true}
    - Dense: {units: 12, activation: softmax}
train: {epochs: 2, batch_size: 16, microbatch: 4, loss: sparse_categorical_crossentropy, seed: 2}
YAML
    say train liana train steps.yaml --out run
    say groups liana train steps.yaml train.steps_per_execution=3 --out run-groups
    say workers liana launch -n 2 steps.yaml --out run-workers
}
case_sequences() {
    cat >words.yaml <<YAML
data:
  train: {paths: $DRAWN/tables/words.csv, kind: table, take: 100}
  validation: {paths: $DRAWN/tables/words.csv, kind: table, skip: 100}
  columns: {words: {from: text, category: true, length: 6, padding: 0}, label: label}
  inputs: words
  targets: label
model:
  layers:
    - Embedding: {input_dim: 12, output_dim: 4, mask_zero: true}
    - GlobalAveragePooling1D
    - Dense: {units: 2, activation: softmax}
train: {epochs: 2, batch_size: 16, microbatch: 4}
YAML
    liana train words.yaml --out run >train.out 2>train.err || echo $? >code
}
case_architecture() {
    for base in MobileNetV2 ResNet50 EfficientNetB0 MobileNet ResNet50V2 DenseNet121; do
        flowers >$base.yaml
        cat >>$base.yaml <<YAML
  image_size: [32, 32]
model: {base: $base}
train: {epochs: 1, steps_per_epoch: 2, batch_size: 6, microbatch: 3, optimizer: Adam, seed: 2}
YAML
        say $base liana train $base.yaml data.test=null --out run-$base data.validation.take=8
        rm -r run-$base/checkpoints # large; the weights are compared by their checksum
    done
}
