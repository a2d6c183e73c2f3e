#!/bin/sh
# Plugins, with the command that a user has: the example's parts of each kind in a configuration, in lists, in saved
# models, on several threads and after a resume; from whom plugins are loaded; and files that are no good plugins.
#   test_plugins.sh BUILD_FOLDER
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
liana=$build/liana
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "$*" >&2
    exit 1
}
# Runs a command that must fail with all of these words in its message.
refused() {
    words=$1
    shift
    if "$@" >log 2>&1; then fail "this was not refused: $*"; fi
    [ "$(grep -c . log)" -ge 1 ] || fail "no message: $*"
    printf '%s\n' "$words" | while IFS= read -r word; do
        grep -qF -- "$word" log || { cat log >&2 && fail "no '$word' in the message of: $*"; }
    done
}
compile() {
    cc -std=c17 -Wall -Wextra -pedantic -Werror -I"$source/include" -shared -fPIC "$@"
}

awk 'BEGIN {
    srand(3)
    for (i = 0; i < 240; i++) {
        a = int(rand() * 2000 - 1000) / 1000
        b = int(rand() * 2000 - 1000) / 1000
        print a, b, a * b + a / 2 > (i < 200 ? "train.numbers" : "test.numbers")
    }
}'
compile "$source/examples/plugin/my_parts.c" -o my_parts.so -lm
cp "$source/examples/plugin/my_parts.yaml" .

echo "lists"
for part in "layers Swish2 beta" "losses power_error exponent" "metrics root_error root" "optimizers SignDescent momentum" \
    "schedules Triangle turns" "initializers spread width" "activations leak slope" \
    "regularizers mild strength" "constraints centered mean" "callbacks GoodEnough below" "sources numbers rows"; do
    set -- $part
    "$liana" list "$1" "$2" --plugin my_parts.so >log || fail "liana list $1 $2"
    grep -q "$3" log || [ "$3" = root ] || [ "$3" = mean ] || [ "$3" = rows ] || { cat log && fail "list $1 $2: no $3"; }
    "$liana" list "$1" --plugin my_parts.so --json | grep -q "\"$2\"" || fail "liana list $1 --json"
    if "$liana" list "$1" "$2" >log 2>&1; then fail "$2 is there without the plugin"; fi
done

echo "training"
LIANA_THREADS=1 "$liana" train my_parts.yaml --allow-plugins --out one >log 2>&1 || { cat log && fail "train"; }
awk '/^epoch 1\/20/ { split($0, a, "root_error "); first = a[2] + 0 }
    /^epoch 20\/20/ { split($0, a, "root_error "); last = a[2] + 0 }
    END { exit !(first > 0.1 && last > 0 && last < first / 4) }' log || { cat log && fail "it did not learn"; }
LIANA_THREADS=3 "$liana" train my_parts.yaml --allow-plugins --out three >log 2>&1 || { cat log && fail "train on 3 threads"; }
last=$(ls one/checkpoints | tail -n 1)
cmp "one/checkpoints/$last/variables.safetensors" "three/checkpoints/$last/variables.safetensors"
"$liana" train my_parts.yaml --allow-plugins --out parts train.epochs=7 >log 2>&1 || { cat log && fail "the first part"; }
"$liana" train my_parts.yaml --allow-plugins --out parts --resume >log 2>&1 || { cat log && fail "the second part"; }
cmp "one/checkpoints/$last/variables.safetensors" "parts/checkpoints/$last/variables.safetensors"
"$liana" train my_parts.yaml --allow-plugins --out early train.callbacks='[GoodEnough: {below: 0.05, epochs: 3}]' >log 2>&1
grep -q 'GoodEnough.*the loss is good enough' log || { cat log && fail "the callback did not end the training"; }

echo "a sweep"
cat >sweep.yaml <<'END'
base: my_parts.yaml
output: sweep
seeds: [1]
set: {train.epochs: 2}
grid: {train.loss: [{name: power_error, exponent: 1.5}, {name: power_error, exponent: 2.5}]}
metrics: [val_root_error]
END
"$liana" sweep --allow-plugins sweep.yaml >log 2>&1 || { cat log && fail "sweep"; }
grep -q '2 of 2 runs are finished' log || { cat log && fail "the sweep is not finished"; }
"$liana" sweep --allow-plugins sweep.yaml >log 2>&1 || { cat log && fail "the same sweep again"; }
"$liana" train my_parts.yaml --allow-plugins train.epochs=2 --out alone >log 2>&1 || { cat log && fail "the run alone"; }
two=$(ls alone/checkpoints | tail -n 1)
cmp "alone/checkpoints/$two/variables.safetensors" "sweep/loss=1/seed-1/checkpoints/$two/variables.safetensors"
sed 's/exponent: 2.5/exponent: 99/' sweep.yaml >bad_sweep.yaml
refused "bad_sweep.yaml
exponent: found the number 99" "$liana" sweep --allow-plugins bad_sweep.yaml --out none
sed 's/^set: {/set: {plugins: [no_such.so], /' sweep.yaml >bad_sweep.yaml
refused "plugins[0]
there is no plugin" "$liana" sweep --allow-plugins bad_sweep.yaml --out none

echo "whose plugins are loaded"
refused "my_parts.yaml:2:11: plugins[0]
my_parts.so' is not loaded
--allow-plugins" "$liana" train my_parts.yaml --out none
refused "my_parts.yaml:2:11: plugins[0]
--allow-plugins" "$liana" sweep sweep.yaml --out none
refused "one/config.yaml:
plugins[0]
my_parts.so' is not loaded
--allow-plugins" "$liana" evaluate one
for command in evaluate summary report; do
    "$liana" "$command" one --allow-plugins >log 2>&1 || { cat log && fail "$command --allow-plugins"; }
    refused "--allow-plugins" "$liana" "$command" one
    # Said by the user himself.
    "$liana" "$command" one plugins=[my_parts.so] >log 2>&1 || { cat log && fail "$command plugins=[...]"; }
done
"$liana" predict one test.numbers --allow-plugins data.test.kind=numbers >log 2>&1 || { cat log && fail "predict"; }
refused "--allow-plugins" "$liana" predict one test.numbers
refused "found the URL 'https://example.org/my_parts.so', expected a local shared library" \
    "$liana" train my_parts.yaml --allow-plugins plugins=[https://example.org/my_parts.so] --out none
# Without the plugin the model's file names a layer that there is not.
refused "layer 'dense': kernel_initializer: found 'spread', expected an initialiser of liana, or one of a plugin" \
    "$liana" evaluate --model one/model.json \
    --weights "one/checkpoints/$last/variables.safetensors" --data test.numbers train.loss=mean_squared_error
# The same file by another name is the same plugin.
ln -s my_parts.so same.so
"$liana" summary one plugins=[my_parts.so,same.so] >log 2>&1 || { cat log && fail "one plugin by two names"; }

echo "options of own parts"
train() { "$liana" train my_parts.yaml --allow-plugins --out none "$@"; }
refused "train.loss
unknown key 'exponnt'
did you mean 'exponent'?" train 'train.loss={name: power_error, exponnt: 2}'
refused "train.loss
found the number 9
expected" train 'train.loss={name: power_error, exponent: 9}'
refused "there is no loss 'power_eror'
did you mean 'power_error'?" train 'train.loss=power_eror'
refused "there is no layer class 'Swish3'
did you mean 'Swish2'?" train 'model.layers[1]=Swish3'
refused "there is no schedule 'Triangl'
did you mean 'Triangle'?" train 'train.optimizer.learning_rate={name: Triangl}'
refused "GoodEnough
the key 'below' is missing" train 'train.callbacks=[GoodEnough]'
refused "width
expected a number from 0.0 to 10.0" train 'model.layers[0].Dense.kernel_initializer=spread(width=11)'
printf '1 2 3\n4 5\n' >uneven.numbers
refused "uneven.numbers
kind numbers
row 2" train 'data.train.paths=uneven.numbers'

echo "files that are no good plugins"
load() { "$liana" list losses --plugin "$1"; }
refused "there is no plugin 'absent.so'" load absent.so
echo "some text" >text.so
refused "'text.so' cannot be loaded as a plugin" load text.so
refused "cannot be loaded as a plugin" load .
echo 'int nothing;' | compile -xc - -o no_entry.so
refused "'no_entry.so' is no plugin of liana
no symbol liana_plugin_entry" load no_entry.so
refused "plugins[0]: './no_entry.so' is no plugin of liana
no symbol liana_plugin_entry" train plugins=[./no_entry.so]
sed 's/my_parts.so/no_entry.so/' my_parts.yaml >no_entry.yaml
refused "no_entry.yaml:2:11: plugins[0]: 'no_entry.so' is no plugin of liana" "$liana" train no_entry.yaml --allow-plugins --out none
echo 'extern int liana_absent(void); int f(void); int f(void) { return liana_absent(); }' | compile -xc - -o undefined.so
refused "cannot be loaded as a plugin
liana_absent" load undefined.so

# One that is told by its flags what to be.
cat >bad.c <<'END'
#include <liana/parts.h>
static liana_tensor elements(const liana_loss_call *call) { return call->output; }
static liana_status enter(liana_context *context)
{
    liana_loss_type loss = {LIANA_PART(LOSS, liana_loss_type, "mine", "A loss."), .targets = LIANA_TARGET_VALUES, .elements = elements};
    LIANA_TRY(liana_register(context, &loss.part));
#if defined(TWICE)
    return liana_register(context, &loss.part);
#elif defined(BUILTIN)
    loss.part.name = "huber";
    return liana_register(context, &loss.part);
#elif defined(PART_VERSION)
    loss.part.name = "second";
    loss.part.version = 99;
    return liana_register(context, &loss.part);
#elif defined(PART_SIZE)
    loss.part.name = "second";
    loss.part.size += 8;
    return liana_register(context, &loss.part);
#elif defined(NO_FUNCTION)
    loss.part.name = "second";
    loss.elements = NULL;
    return liana_register(context, &loss.part);
#elif defined(FAILS)
    return LIANA_IO_ERROR;
#else
    return LIANA_OK;
#endif
}
#if defined(VERSION)
const liana_plugin liana_plugin_entry __attribute__((visibility("default"))) = {sizeof(liana_plugin), 7, "bad", enter, liana_version};
#elif defined(SIZE)
const liana_plugin liana_plugin_entry __attribute__((visibility("default"))) = {8, LIANA_PARTS_VERSION, "bad", enter, liana_version};
#elif defined(NO_ENTER)
const liana_plugin liana_plugin_entry __attribute__((visibility("default"))) = {sizeof(liana_plugin), LIANA_PARTS_VERSION, "bad", 0, liana_version};
#elif defined(OTHER_COPY)
static const char *version(void) { return "0.0.1"; }
const liana_plugin liana_plugin_entry __attribute__((visibility("default"))) = {sizeof(liana_plugin), LIANA_PARTS_VERSION, "bad", enter, version};
#else
LIANA_PLUGIN("bad", enter);
#endif
END
bad() {
    if [ "$1" = VERSION ] || [ "$1" = SIZE ] || [ "$1" = NO_ENTER ] || [ "$1" = OTHER_COPY ]; then
        set -- "$1" -Wno-unused-function
    fi
    cc -std=c17 -I"$source/include" -shared -fPIC -D"$1" bad.c -o "$1.so"
    load "$1.so"
}
cc -std=c17 -I"$source/include" -shared -fPIC bad.c -o good.so
load good.so >log && grep -q '^mine ' log || fail "the good one"
parts_version=$(sed -n 's/^enum { LIANA_PARTS_VERSION = \([0-9]*\) };$/\1/p' "$source/include/liana/parts.h")
refused "'VERSION.so' was built for version 7 of liana's parts
has version $parts_version" bad VERSION
refused "'SIZE.so': the size of its liana_plugin_entry is 8" bad SIZE
refused "'NO_ENTER.so': its liana_plugin_entry has no function 'enter'" bad NO_ENTER
refused "'OTHER_COPY.so' is linked with another copy of liana" bad OTHER_COPY
refused "the plugin 'bad'
the loss 'mine': the plugin '
TWICE.so' has registered 'mine' already" bad TWICE
refused "the loss 'huber': liana has one of this name" bad BUILTIN
refused "a part was built for version 99 of liana's parts, this liana has version $parts_version" bad PART_VERSION
refused "the loss 'second': its size is" bad PART_SIZE
refused "the loss 'second': its function 'elements' is NULL" bad NO_FUNCTION
refused "the plugin 'bad' (
FAILS.so'): the operating system refused" bad FAILS
# Two plugins that want the same name.
cp good.so other.so
refused "the loss 'mine': the plugin '
good.so' has registered 'mine' already" "$liana" train my_parts.yaml --allow-plugins --out none plugins=[good.so,other.so]
# The result of a part is checked.
refused "the loss 'mine': its function 'elements' gave f32
expected f32" train plugins=[my_parts.so,good.so] train.loss=mine

echo "a program with the same parts"
cc -std=c17 -Wall -Wextra -pedantic -Werror -I"$source/include" "$source/examples/plugin/use_my_parts.c" \
    "$source/examples/plugin/my_parts.c" -o compiled -L"$build" -lliana -lm
LD_LIBRARY_PATH=$build ./compiled train.numbers >first 2>log || { cat log && fail "the program"; }
cp my-model/weights.safetensors first.safetensors
awk '{ exit !($2 > 0 && $2 < 0.1 && $2 + 0 == $7 + 0) }' first || { cat first && fail "the program's metric"; }
LD_LIBRARY_PATH=$build ./compiled train.numbers ./my_parts.so >second 2>log || { cat log && fail "the loading program"; }
cmp first second
cmp first.safetensors my-model/weights.safetensors
if LD_LIBRARY_PATH=$build ./compiled train.numbers ./no_entry.so 2>log; then fail "the program took a bad plugin"; fi
grep -q 'no symbol liana_plugin_entry' log || { cat log && fail "the program's message"; }

echo "a program that loads a run"
cat >load_run.c <<'C'
#include <liana/liana.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    liana_context *context;
    liana_model *model = NULL;
    liana_context_options options = {.allow_plugins = argc > 2};
    if (liana_context_create(&options, &context) != LIANA_OK) return 3;
    liana_status status = liana_model_load(context, argv[1], &model);
    if (status != LIANA_OK) fprintf(stderr, "%s\n", liana_context_message(context));
    liana_model_destroy(model);
    liana_context_destroy(context);
    return status != LIANA_OK;
}
C
cc -std=c17 -Wall -Wextra -pedantic -Werror -I"$source/include" load_run.c -o load_run -L"$build" -lliana
if LD_LIBRARY_PATH=$build ./load_run one 2>log; then fail "the program loaded what nobody allowed"; fi
grep -q 'spread\|Swish2' log || { cat log && fail "the message about what is missing"; }
LD_LIBRARY_PATH=$build ./load_run one allowed 2>log || { cat log && fail "the program does not load the run"; }
LD_LIBRARY_PATH=$build ./load_run "one/checkpoints/$last" allowed 2>log || { cat log && fail "nor its checkpoint"; }
cp -r one moved && sed -i 's|my_parts.so|no_such.so|' moved/config.yaml
if LD_LIBRARY_PATH=$build ./load_run moved allowed 2>log; then fail "a plugin that is not there"; fi
grep -q "there is no plugin" log || { cat log && fail "the message about a plugin that is not there"; }
