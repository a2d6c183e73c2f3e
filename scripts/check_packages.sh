#!/bin/bash
# Installs the Debian packages in a bare Debian 12, made for it, and uses them there: make check-packages (root; minutes).
#   scripts/check_packages.sh [FOLDER]    the packages (default: build/packages, of scripts/packages.sh)
# The command, its pages and its completion; a training with its report; C programs by pkg-config and CMake, shared and
# static; the Python module; an upgrade under a training and a server that go on; a removal that leaves nothing.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
packages=$(cd "${1:-$root/build/packages}" && pwd)
running=
folder=$(mktemp -d "$packages/check-XXXXXX")
debian=$folder/debian
finish() {
    for process in $running; do kill -KILL $(pgrep -P "$process") 2>/dev/null || true; done
    rm -rf "$folder"
}
trap finish EXIT
fail() {
    echo "check_packages.sh: $*" >&2
    exit 1
}

. "$root/scripts/bare_debian.sh"
# quietly COMMAND: its output is shown if it fails
quietly() {
    inside "$debian" "$1" >"$folder/log" 2>&1 || { tail -n 40 "$folder/log" >&2; fail "failed: $1"; }
}

echo "== a bare Debian"
bare_debian "$debian" gcc,libc6-dev,pkg-config,cmake,make,man-db,bash-completion,zsh,fish
mkdir -p "$debian/packages" "$debian/newer" "$debian/trial"
cp "$packages"/*.deb "$debian/packages"
rm -f "$debian"/packages/*-dbgsym_*.deb
cp "$root"/tests/install/{CMakeLists.txt,use_liana.c,ask_server.py} "$root/examples/line.c" "$debian/trial"
version=$(dpkg-deb -f "$debian"/packages/liana_*.deb Version)
whole=${version/\~dev/-dev}

# The same packages under the next version.
newer=$version+newer
for file in "$debian"/packages/*.deb; do
    dpkg-deb -R "$file" "$folder/package"
    sed -i "s/^Version: .*/Version: $newer/; s/(= $version)/(= $newer)/g" "$folder/package/DEBIAN/control"
    dpkg-deb -Zgzip -z1 --root-owner-group -b "$folder/package" "$debian/newer" >/dev/null
    rm -rf "$folder/package"
done

echo "== install"
# First what they need, so that a removal can be seen.
quietly 'apt-get update -q && apt-get install -y -q --no-install-recommends $(apt-get install -s /packages/*.deb |
    sed -n "s/^Inst \([^ ]*\).*/\1/p" | grep -vE "^(lib|python3-)?liana") && apt-get clean'
snapshot() {
    inside "$debian" "find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /trial -o -path /var/cache -o -path /var/lib/dpkg \
        -o -path /var/lib/apt -o -path /var/log -o -path /tmp -o -path /root \) -prune -o -print | sort"
}
snapshot >"$folder/before"
quietly 'apt-get install -y -q /packages/*.deb'

echo "== the command"
found=$(inside "$debian" 'liana version')
[ "$found" = "liana $whole" ] || fail "liana version: found '$found', expected 'liana $whole'"
quietly 'cd /trial && liana synth flowers classes=3 images=90 image_size=32 seed=1 --out flowers'
cat >"$debian/trial/tiny.yaml" <<TEXT
data: {train: flowers/train, validation: flowers/val, class_names: flowers/classes.txt, image_size: [32, 32]}
model: {layers: [{Conv2D: {filters: 8, kernel_size: 3, activation: relu}}, Flatten, {Dense: {units: 3, activation: softmax}}]}
train: {epochs: 2, batch_size: 16}
output: run
TEXT
quietly 'cd /trial && liana train tiny.yaml && liana evaluate run && liana predict run flowers/val --top 1 && liana report run && liana report run --html'
for file in curves.png report.html model.json; do [ -s "$debian/trial/run/$file" ] || fail "liana report left no $file"; done

echo "== pages and completion"
quietly 'man -w liana && man liana | grep -q "train"'
quietly 'source /usr/share/bash-completion/bash_completion; _completion_loader liana || [ $? -eq 124 ]; complete -p liana | grep -q _liana'
quietly "zsh -fc 'autoload -Uz compinit; compinit -u -D; [[ \$_comps[liana] == _liana ]]'"
quietly "fish -c 'complete -C \"liana tra\"' | grep -q ^train"

echo "== programs"
quietly "cd /trial && gcc -std=c17 -Wall -Wextra -Werror use_liana.c -o use \$(pkg-config --cflags --libs liana) && ./use $whole"
quietly "cd /trial && readelf -d use | grep -q 'NEEDED.*libliana.so.1\]'"
quietly 'cd /trial && gcc -std=c17 -Wall -Wextra -Werror line.c -o line $(pkg-config --cflags --libs liana) && ./line | grep -q "^y = 3"'
quietly "cd /trial && gcc -std=c17 use_liana.c -o static \$(pkg-config --cflags liana) \$(pkg-config --static --libs liana |
    sed 's/-lliana/-Wl,-Bstatic -lliana -Wl,-Bdynamic/') && ./static $whole && ! readelf -d static | grep -q NEEDED.*libliana"
quietly "cd /trial && cmake -S . -B made && cmake --build made && made/use_liana $whole && made/use_static $whole"
quietly '[ -s /usr/share/doc/liana/docs/guides/training.md ] && [ -s /usr/share/doc/liana/examples/mnist.c ] &&
    [ -s /usr/share/doc/libliana1/copyright ] && zcat /usr/share/doc/liana/changelog.gz | grep -q Changes'

echo "== Python"
quietly "cd /trial && python3 -c '
import liana, numpy
model = liana.load(\"run\")
row = model.predict(numpy.zeros((32, 32, 3), numpy.uint8))
assert row.shape == (3,) and numpy.isfinite(row).all(), row
assert liana.version() == \"$whole\", liana.version()'"

echo "== an upgrade under a training and a server"
# start NAME COMMAND: in that Debian and in the background, its output in $folder/NAME
start() {
    inside "$debian" "cd /trial && exec $2" >"$folder/$1" 2>&1 &
    running="$running $!"
}
# wait_for NAME PATTERN WHAT: until the output has a line of the pattern
wait_for() {
    for _ in $(seq 300); do
        if grep -qE "$2" "$folder/$1"; then return 0; fi
        sleep 0.2
    done
    fail "$3: $(tail -n 5 "$folder/$1")"
}
epochs() {
    grep -c '^epoch ' "$folder/training"
}
quietly 'cd /trial && liana export run --to models/tiny/1 && mkdir later && cp -r models/tiny/1 later/2'
python3 - "$debian/trial" <<'TEXT'
import glob, sys
records = open(sorted(glob.glob(sys.argv[1] + '/flowers/val/*'))[0], 'rb').read()
start = records.index(b'\xff\xd8\xff')
open(sys.argv[1] + '/photo.jpg', 'wb').write(records[start:records.index(b'\xff\xd9', start) + 2])
TEXT
start training 'liana train tiny.yaml train.epochs=100000 --out long --log-every 1'
training=$!
port=$((20000 + $$ % 10000))
start server "liana serve tiny=models/tiny --port $port"
server=$!
wait_for server "127.0.0.1:$port" "the server does not begin"
start client "python3 ask_server.py $port tiny photo.jpg stop"
client=$!
wait_for client '^the first answer' "the server does not answer"
wait_for training '^epoch 2/' "the long training does not begin"
quietly 'apt-get install -y -q --allow-downgrades /newer/*.deb'
found=$(inside "$debian" "dpkg-query -W -f '\${Version}' libliana1")
[ "$found" = "$newer" ] || fail "after the upgrade libliana1 has version $found, expected $newer"
[ "$(inside "$debian" 'liana version')" = "liana $whole" ] || fail "the upgraded command does not run"
then=$(epochs)
wait_for training "^epoch $((then + 3))/" "the training does not go on after the upgrade"
# The server loads what it has not loaded before: another version of the model. No request may get no answer.
mv "$debian/trial/later/2" "$debian/trial/models/tiny/2"
for _ in $(seq 100); do
    if inside "$debian" "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:$port/v1/models/tiny\").read().decode())'" |
        tr -d ' \n' | grep -q '"version":"2","state":"AVAILABLE"'; then found=2; break; fi
    sleep 0.2
done
[ "$found" = 2 ] || fail "the server does not load a new version of the model after the upgrade: $(tail -n 5 "$folder/server")"
sleep 1
touch "$debian/trial/stop"
wait "$client" || fail "a request was lost: $(cat "$folder/client")"
tail -n 1 "$folder/client"
# interrupt PROCESS: the command in it, its only child
interrupt() {
    kill -INT "$(pgrep -P "$1")"
}
# The training saves what it has when it is stopped, and the new version goes on with it.
end() {
    status=0
    wait "$1" || status=$?
}
interrupt "$training"
interrupt "$server"
end "$training"
[ "$status" = 130 ] || fail "the stopped training ends with $status, expected 130: $(tail -n 5 "$folder/training")"
end "$server"
case $status in 0 | 130) ;; *) fail "the stopped server ends with $status: $(tail -n 5 "$folder/server")" ;; esac
running=
stopped=$(ls "$debian/trial/long/checkpoints" | sed 's/[^0-9]//g' | sort -n | tail -n 1)
quietly "cd /trial && status=0; timeout -s INT 5 liana train long --resume >resumed 2>&1 || status=\$?;
    case \$status in 124 | 130) ;; *) cat resumed; exit 1 ;; esac"
resumed=$(ls "$debian/trial/long/checkpoints" | sed 's/[^0-9]//g' | sort -n | tail -n 1)
[ "$resumed" -gt "$stopped" ] || fail "the resumed training does not go on from the checkpoint $stopped"
quietly 'cd /trial && liana report long --html --curves && [ -s long/report.html ]'

echo "== removal"
quietly "apt-get purge -y -q liana libliana1 libliana-dev python3-liana liana-doc && apt-get clean"
snapshot >"$folder/after"
if ! diff "$folder/before" "$folder/after" >"$folder/log"; then
    cat "$folder/log" >&2
    fail "removing the packages left or took the files above"
fi
echo "the packages of $version work"
