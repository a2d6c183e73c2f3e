#!/bin/sh
# Completion offers every subcommand and option, names of the lists, keys, runs and files; in bash, zsh and fish
# themselves. The subcommands are those of src/cli/subcommands.def; the options are those that their --help lists.
#   test_completion.sh BUILD_FOLDER
set -eu
liana=$(cd "$1" && pwd)/liana
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/checks/needs.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

# The words offered for the last word, one a line; and the line about files.
offered() {
    "$liana" completion words -- "$@" | tail -n +2 | cut -f 1 | sort
}
files() {
    "$liana" completion words -- "$@" | head -n 1 | tr '\t' ' '
}
# is EXPECTED WORD...: nothing else is offered
is() {
    expected=$1
    shift
    found=$(offered "$@" | tr '\n' ' ')
    [ "${found% }" = "$expected" ] || fail "liana $*: offered are '$found', expected '$expected'"
}

names=$(sed -n 's/^LIANA__SUBCOMMAND([a-z_]*, \([a-z_]*\))$/\1/p' "$root/src/cli/subcommands.def" | tr _ - | sort)
[ "$(echo "$names" | wc -l)" -ge 25 ] || fail "found only these subcommands: $names"
[ "$(offered '' | grep -v '^-')" = "$names" ] || fail "offered are $(offered ''); expected $names"
[ "$(offered help '')" = "$names" ] || fail "offered after help are $(offered help ''); expected $names"
is find-lr find-
is "--help --version" -
for name in $names; do
    options=$("$liana" "$name" --help | awk '/^Options:/ { on = 1; next } on && /^  -/ { print $1 }' | sort)
    [ -n "$options" ] || fail "liana $name --help lists no option"
    [ "$(offered "$name" -)" = "$options" ] || fail "liana $name: offered are $(offered "$name" -); expected $options"
done
# Each list, each name in it.
kinds=$("$liana" list | awk '{ print $1 }' | sort)
[ "$(offered list '')" = "$kinds" ] || fail "offered after list are $(offered list '')"
for kind in losses layers optimizers devices transports; do
    expected=$("$liana" list "$kind" | awk '{ print $1 }' | sort)
    [ "$(offered list "$kind" '')" = "$expected" ] || fail "liana list $kind: offered are $(offered list "$kind" '')"
done
models=$("$liana" list models | awk 'NR > 1 { print $1 }' | sort)
[ "$(offered predict --model '')" = "$models" ] || fail "after --model: $(offered predict --model '')"
[ "$(offered train model.base= | sed 's/^model.base=//')" = "$models" ] || fail "after model.base=: $(offered train model.base=)"
# Every key of the configuration.
for key in $("$liana" list configuration | awk '{ print $1 }'); do
    offered train "$key" | grep -qxF -e "$key=" -e "$key." || fail "the key $key is not offered: $(offered train "$key")"
done
is "train.optimizer=SGD" train train.optimizer=SG
is "" train train.epochs=
is "--resume-from" train --resume --resume-f
is "" train --resume --resume-from runs/x --resume-f
is "" train -- --re
is "images=" synth flowers images
is "train.epochs=" train --no-such-option train.ep
is "" no-such-subcommand ''

# Runs are folders with a config.yaml; other folders lead on.
mkdir -p "$folder/house/runs/roses/checkpoints/epoch_3" "$folder/house/runs/two words" "$folder/house/.hidden"
touch "$folder/house/runs/roses/config.yaml" "$folder/house/other.yaml" "$folder/house/data.csv"
cd "$folder/house"
is "runs/" compare ''
is "runs/roses runs/two words/" compare runs/
is "runs/roses" compare first second runs/r
is "best epoch_3" report runs/roses --checkpoint ''
[ "$(files report x --checkpoint '')" = "folders  " ] || fail "a checkpoint may be a folder: $(files report x --checkpoint '')"
[ "$(files train oth)" = "files .yaml " ] || fail "files for train: $(files train oth)"
[ "$(files train --out=ru)" = "folders  --out=" ] || fail "folders for --out=: $(files train --out=ru)"
[ "$(files train data.train=da)" = "files  data.train=" ] || fail "files for data.train=: $(files train data.train=da)"

# The shells.
cd "$folder/house"
mkdir "$folder/scripts"
for shell in bash zsh fish; do "$liana" completion $shell >"$folder/scripts/liana.$shell"; done
cp "$folder/scripts/liana.bash" "$folder/scripts/liana"
cp "$folder/scripts/liana.zsh" "$folder/scripts/_liana"
PATH=$(dirname "$liana"):$PATH
export PATH HOME="$folder/home"
mkdir "$HOME"
shells=
tab() {
    python3 "$root/tests/checks/press_tab.py" "$@" || fail "completion in $1"
}
has_program python3 && for shell in bash zsh; do
    has_program $shell || continue
    tab $shell "$folder/scripts" 'liana tra' 'liana train '
    tab $shell "$folder/scripts" 'liana compare' 'compare-devices'
    tab $shell "$folder/scripts" 'liana train --resume-' '--resume-from '
    tab $shell "$folder/scripts" 'liana train model.base=MobileNetV3' 'MobileNetV3Small' 'MobileNetV3Large'
    tab $shell "$folder/scripts" 'liana train train.optimizer=Nad' 'train.optimizer=Nadam '
    tab $shell "$folder/scripts" 'liana train train.epo' 'train.epochs=' '!train.epochs= '
    tab $shell "$folder/scripts" 'liana predict --model ResNet50V' 'ResNet50V2 '
    tab $shell "$folder/scripts" 'liana compare ru' 'runs/' '!runs/ '
    tab $shell "$folder/scripts" 'liana report runs/ro' 'runs/roses '
    tab $shell "$folder/scripts" 'liana train oth' 'other.yaml'
    tab $shell "$folder/scripts" 'liana train data.train=dat' 'data.train=data.csv'
    tab $shell "$folder/scripts" 'liana train --out=ru' '--out=runs/'
    tab $shell "$folder/scripts" 'liana list los' 'liana list losses '
    tab $shell "$folder/scripts" 'liana compare da' '!data.csv'
    shells="$shells $shell"
done
if has_program fish; then
    in_fish() {
        fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$folder/scripts/liana.fish" "$1" | cut -f 1 | sort
    }
    [ "$(in_fish 'liana ' | grep -v '^-')" = "$names" ] || fail "fish offers $(in_fish 'liana ')"
    [ "$(in_fish 'liana train --resume-')" = --resume-from ] || fail "fish: $(in_fish 'liana train --resume-')"
    [ "$(in_fish 'liana train model.base=' | sed 's/^model.base=//')" = "$models" ] || fail "fish: $(in_fish 'liana train model.base=')"
    [ "$(in_fish 'liana predict --model ResNet50V')" = ResNet50V2 ] || fail "fish: $(in_fish 'liana predict --model ResNet50V')"
    [ "$(in_fish 'liana report runs/r')" = runs/roses ] || fail "fish: $(in_fish 'liana report runs/r')"
    [ "$(in_fish 'liana check oth')" = other.yaml ] || fail "fish: $(in_fish 'liana check oth')"
    [ "$(in_fish 'liana check data.train=dat')" = data.train=data.csv ] || fail "fish: $(in_fish 'liana check data.train=dat')"
    [ "$(in_fish 'liana train --out=ru')" = --out=runs/ ] || fail "fish: $(in_fish 'liana train --out=ru')"
    shells="$shells fish"
fi
echo "$(echo "$names" | wc -l) subcommands with their options; in$shells"
