#!/bin/sh
# The command on a machine without libcairo, libgif, libcurl, libzip and libhdf5: it starts, trains and names the missing
# libraries.
#   test_loaded_libraries.sh BUILD_FOLDER
set -eu
liana=$(cd "$1" && pwd)/liana
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "test_loaded_libraries.sh: $*" >&2
    exit 1
}

# A linked library is loaded at each start, with all that it stands on (63 libraries, once).
ldd "$liana" >linked
if grep -E 'lib(cairo|pango|glib|harfbuzz|fontconfig|gif|webp|tiff|zip|X11|xcb|hdf5|curl|crypto|ssl|expat|krb5|ldap|gnutls|microhttpd|zmq|sodium|mpi)' linked; then fail "these are linked"; fi
[ "$(wc -l <linked)" -le 20 ] || fail "$(wc -l <linked) libraries are linked: $(cat linked)"

"$liana" synth flowers classes=2 images=40 image_size=16 --out flowers >log
# Files that are no libraries, which the loader meets first.
mkdir broken
for file in libcairo.so.2 libpangocairo-1.0.so.0 libgif.so.7 libwebp.so.7 libtiff.so.6 libcurl.so.4 libcrypto.so.3 libexpat.so.1 libhdf5_serial.so.103 libzip.so.4 libzmq.so.5 libmicrohttpd.so.12; do : >"broken/$file"; done
export LD_LIBRARY_PATH="$folder/broken"

cat >tiny.yaml <<'YAML'
data: {train: flowers/train/*.tfrec, validation: flowers/val/*.tfrec, class_names: flowers/classes.txt}
model: {layers: [Flatten, Dense: {units: 2, activation: softmax}]}
train: {epochs: 1, batch_size: 8}
output: run
YAML
"$liana" train tiny.yaml >log 2>&1 || fail "training needs one of them: $(cat log)"

# refuses WORDS COMMAND...: fails with the words in its message.
refuses() {
    words=$1
    shift
    if "$liana" "$@" >log 2>&1; then fail "$* does without"; fi
    grep -qF "$words" log || fail "$*: expected '$words' in: $(cat log)"
}
refuses 'pictures need the library libcairo.so.2' report run
grep -qF '(Debian: libcairo2)' log || fail "no package: $(cat log)"
refuses 'pictures need the library libcairo.so.2' synth flowers classes=2 images=40 image_size=16 --out others
[ ! -e others ] || [ -z "$(ls others)" ] || fail "pictures were not drawn, but there is $(ls others)"
mkdir without_pango
: >without_pango/libpangocairo-1.0.so.0
if LD_LIBRARY_PATH=$folder/without_pango "$liana" report run >log 2>&1; then fail "text is written without Pango"; fi
grep -qF 'text in pictures needs the library libpangocairo-1.0.so.0' log || fail "no Pango: $(cat log)"
grep -qF '(Debian: libpangocairo-1.0-0)' log || fail "no package: $(cat log)"
# The rarer kinds of images.
mkdir pictures
for kind in 'GIF GIF89a' 'WebP RIFF....WEBPVP8.' 'TIFF II*\0....'; do
    printf "${kind#* }" >pictures/a.png
    refuses "${kind%% *} images need the library" check pictures
done
printf 'PK\003\004....' >some.keras
refuses 'zip archives (.keras) need the library libzip.so.4' inspect some.keras
refuses 'live pages and servers of predictions need the library libmicrohttpd.so.12' watch run
# A build may be without remote files; it says so itself.
refuses 'libcurl' inspect https://localhost/none.tfrec
refuses 'clusters of processes need the library libzmq.so.5' cluster keys keys
echo "training needs none of the loaded libraries"
