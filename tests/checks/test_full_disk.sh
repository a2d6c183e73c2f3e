#!/bin/sh
# `liana export` where no more can be written: limits on the size of a file, and, as root, a file system of 300 KiB. The
# error is told, a folder that was there stays as it was, and nothing else is left.
#   test_full_disk.sh BUILD_FOLDER
set -eu
liana=$(cd "$1" && pwd)/liana
folder=$(mktemp -d)
mounted=
end() {
    [ -z "$mounted" ] || umount "$folder/small"
    rm -rf "$folder"
}
trap end EXIT
cd "$folder"
fail() {
    echo "$*" >&2
    cat log >&2
    exit 1
}

"$liana" synth flowers classes=3 images=60 image_size=48 --out data >/dev/null
"$liana" train 'data.train=data/train/*.tfrec' 'data.validation=data/val/*.tfrec' train.epochs=1 \
    'model.layers=[Flatten, {Dense: {units: 16, activation: relu}}, {Dense: {units: 3, activation: softmax}}]' \
    --out run >log 2>&1 || fail "no run"

# What the folder $1 has, with its contents.
contents() {
    (cd "$1" && find . -type f -exec sha256sum {} + | sort -k2 && find . | sort)
}

# $1: where it is written; $2: blocks of 512 bytes that a file may have, or nothing. It must fail, and change nothing.
refused() {
    contents "$1" >before
    # The message goes through a pipe, which the limit does not hold for.
    {
        (
            [ -z "$2" ] || ulimit -f "$2"
            exec "$liana" export run --to "$1/model" $3
        ) 2>&1 >/dev/null && echo "no error" || echo "code $?"
    } | cat >log
    grep -q '^code 1$' log || fail "$1 with ${2:-any} blocks: expected exit code 1"
    grep -q 'cannot write .*\(No space\|too large\)' log || fail "the message does not say why"
    contents "$1" >after
    cmp before after || fail "$1 has changed with ${2:-any} blocks"
}

mkdir limited
for blocks in 0 1 4 100 400; do refused limited $blocks ''; done
"$liana" export run --to limited/model >/dev/null
for blocks in 0 4 400; do refused limited $blocks --force; done
"$liana" export --verify limited/model >/dev/null

if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=300k tmpfs small 2>log; then
    mounted=yes
    refused small '' ''
    echo "exports to a full file system are refused"
else
    echo "skipped: a full file system (mounting one needs root)"
fi
echo "exports that cannot be written leave nothing"
