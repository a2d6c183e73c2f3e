# The examples: configurations, shortened, and programs in C.

# Each example's configuration refers to data next to the tree.
tree() {
    mkdir tree
    cp -r "$TREE/examples" tree/examples
    ln -s "$SHARED" shared
}

example() {
    need_data
    tree
    name=$1
    shift
    say train liana train "tree/examples/$name.yaml" "$@" --out run
}

case_mnist() { example mnist train.epochs=2 train.steps_per_epoch=5 data.validation.take=300; }
case_mnist_fast() { example mnist_fast train.epochs=2 train.steps_per_epoch=5 data.validation.take=300; }
case_fashion_mnist() { example fashion_mnist train.epochs=2 train.steps_per_epoch=5 data.validation.take=300; }
case_flowers() {
    example flowers train.epochs=2 train.steps_per_epoch=2 train.batch_size=24 data.validation.take=24 \
        data.test.take=10 train.precision=float32
}
case_flowers_mixed() {
    example flowers train.epochs=1 train.steps_per_epoch=2 train.batch_size=24 data.validation.take=24 \
        data.test.take=10 train.precision=mixed_bfloat16
}
case_demo() {
    tree
    mkdir -p tree/runs
    ln -s "$DRAWN/flowers" tree/runs/demo-flowers
    say train liana train tree/examples/demo.yaml train.epochs=2 train.batch_size=32 model.layers.17.Dense.units=5 \
        --out run
}
case_annealing() {
    need_data
    tree
    shorter="data.test: null\n  train.epochs: 2\n  train.steps_per_epoch: 3\n  train.batch_size: 24"
    sed "s/^seeds:.*/seeds: [1]/; s/^output:.*/output: sweep/; s,^base: ,base: tree/examples/,
        s/data.test: null/$shorter\n  data.validation.take: 24/; s/every_steps: 8/every_steps: 2/" \
        tree/examples/annealing.yaml >annealing.yaml
    say sweep liana sweep annealing.yaml --jobs 1
}

program() { say "$1" "$BIN/example_$@"; }

case_program_mnist() {
    digits
    program mnist 1
    program class_picture mnist-model 3 120
    say predict liana predict --model mnist-model --data t10k-images-idx3-ubyte.gz --out predictions.csv
}
case_program_custom_loop() {
    digits
    program custom_loop train-images-idx3-ubyte.gz 2
}
case_program_estimator() {
    digits
    program estimator 600
}
case_program_gan() {
    digits
    say drawn "$BIN/example_gan" 60
    say images "$BIN/example_gan" 40 .
}
case_program_line() { program line; }
case_program_values() { program values; }
case_program_datasets() { program datasets; }
case_program_towers() { program towers; }
case_program_replicas() {
    program replicas
    say mirrored "$BIN/example_replicas" mirrored 3
    say workers liana launch -n 4 --program "$BIN/example_replicas" -- multi_worker
    say servers liana launch -n 4 --servers 1 --program "$BIN/example_replicas" -- parameter_server
    in_any_order workers servers
}
case_program_free_workers() {
    program free_workers
    say mirrored "$BIN/example_free_workers" '{name: mirrored, replicas: 2}'
    say workers liana launch -n 2 --program "$BIN/example_free_workers" -- multi_worker
    in_any_order workers
}
case_plugin() {
    cc -std=c17 -shared -fPIC -I"$TREE/include" "$TREE/examples/plugin/my_parts.c" -o "$TMPDIR/my_parts.so" -lm
    ln -s "$TMPDIR/my_parts.so" my_parts.so
    ln -s "$DRAWN"/tables/*.numbers .
    cp "$TREE/examples/plugin/my_parts.yaml" .
    for kind in layers losses metrics optimizers schedules initializers activations regularizers constraints callbacks \
        sources; do
        say "$kind" liana list $kind --plugin my_parts.so
    done
    say train liana train my_parts.yaml --allow-plugins
    say evaluate liana evaluate my-run --allow-plugins
}
