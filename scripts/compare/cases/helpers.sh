# Helpers of the cases. A case is a function `case_NAME` in a file of this folder; it runs in an empty folder, once with
# each build, and all that it leaves there is compared. Variables: BIN (the build), BASE_BIN (the build of the base),
# TREE (the source of the build), DRAWN (drawn data, the same for all), SHARED (the test data; may be missing).

# say NAME COMMAND ...: keeps the output of a command, and fails where it fails.
say() {
    name=$1
    shift
    code=0
    "$@" >"$name.out" 2>"$name.err" </dev/null || code=$?
    [ $code -eq 0 ] || { echo "'$*' ends with $code:"; tail -n 5 "$name.out" "$name.err"; return 1; } >&2
}

# refused NAME COMMAND ...: a command that must fail. Its output and its exit code are kept.
refused() {
    name=$1
    shift
    code=0
    "$@" >"$name.out" 2>"$name.err" </dev/null || code=$?
    echo $code >"$name.code"
    [ $code -ne 0 ] || { echo "'$*' should be refused"; return 1; } >&2
}

# in_any_order NAME ...: several processes have printed these; masks.txt sorts them.
in_any_order() {
    for name; do
        mv "$name.out" "$name.any.out"
        mv "$name.err" "$name.any.err"
    done
}

# by_base COMMAND ...: runs a command of the base, in both builds' runs of a case.
by_base() {
    (PATH=$BASE_BIN:$PATH && "$@")
}

# The data of a configuration: small flowers of five classes.
flowers() {
    printf 'data:\n  train: %s/flowers/train/*.tfrec\n  validation: %s/flowers/val/*.tfrec\n' "$DRAWN" "$DRAWN"
    printf '  test: %s/flowers/test/*.tfrec\n  class_names: %s/flowers/classes.txt\n' "$DRAWN" "$DRAWN"
}

# A small network with layers that keep something and layers that draw random numbers.
network() {
    cat <<'YAML'
model:
  layers:
    - Conv2D: {filters: 8, kernel_size: 3, strides: 2, padding: same, use_bias: false}
    - BatchNormalization: {momentum: 0.9}
    - ReLU
    - DepthwiseConv2D: {kernel_size: 3, strides: 2, padding: same, use_bias: false}
    - BatchNormalization: {momentum: 0.9}
    - ReLU
    - Dropout: {rate: 0.3}
    - GlobalAveragePooling2D
    - Dense: {units: 5, activation: softmax}
YAML
}

# configure NAME TRAIN [MORE]: writes NAME.yaml; TRAIN is the flow mapping of `train`, MORE more lines.
configure() {
    {
        flowers
        network
        echo "train: {$2}"
        [ $# -lt 3 ] || printf '%s\n' "$3"
    } >"$1.yaml"
}

# Leaves a case out where there are no test data.
need_data() {
    [ -d "$SHARED/data" ] || { echo "no test data beside the tree" && exit 77; }
}

# MNIST's test images as the training data of the programs in C.
digits() {
    need_data
    for file in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
        ln -s "$SHARED/data/mnist/t10k-${file#*-}-ubyte.gz" "$file-ubyte.gz"
    done
}
