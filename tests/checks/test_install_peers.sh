#!/bin/sh
# scripts/install-peers.sh without a registry: a package that cannot be fetched is named with its reason and does not
# keep the others away, existing ones are not fetched again, and no PyTorch but the CPU build is asked for.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "test_install_peers.sh: $1" >&2
    [ ! -e said ] || sed 's/skipped/SKIPPED/' said >&2
    exit 1
}

# Of npm's packages, too: the lists have versions and checksums, and no address.
grep -q '"integrity": "sha512-' "$source/tests/peers/browser/package-lock.json" || fail "the browser's list has no checksum"
# Every version is fixed, and PyTorch's is one that PyPI's own build with CUDA does not have.
if grep -vE '^(#.*|)$|^[A-Za-z0-9_-]+==[0-9][A-Za-z0-9.+]*( --hash=sha256:[0-9a-f]{64})*$' \
    "$source/tests/peers/requirements.txt"; then fail "this line fixes no version"; fi
[ "$(grep -c '^torch==[0-9.]*+cpu$' "$source/tests/peers/requirements.txt")" -eq 1 ] || fail "not the CPU build of torch"
if grep -iE '^(nvidia|cuda|triton)' "$source/tests/peers/requirements.txt"; then fail "CUDA is asked for"; fi
if grep -nE '(https?|file)://' "$source/tests/peers/requirements.txt" "$source/tests/peers/package.json" \
    "$source"/tests/peers/browser/package*.json \
    "$source/scripts/install-peers.sh" | grep -v 's#(https'; then fail "a registry is named"; fi

# A Python and an npm that write down their requests, and know everything but the names in `unknown`.
mkdir bin
cat >bin/python3 <<END
#!/bin/sh
case "\$1 \$2" in
"-c import sys"*) echo "# for Python 3.11" ;;
"-m venv") mkdir -p "\$3/bin" && cp "$folder/bin/python3" "\$3/bin/python" ;;
"-m pip")
    while [ \$# -gt 0 ]; do
        case \$1 in
        -r) list=\$2 ;;
        --target) mkdir -p "\$2" ;;
        esac
        echo "\$1" >>"$folder/options"
        shift
    done
    sed 's/ .*//' "\$list" | grep -v '^#' >>"$folder/fetched"
    if found=\$(grep -f "$folder/unknown" "\$list"); then
        echo "WARNING: https://registry.example.org/simple has moved" >&2
        echo "ERROR: Could not find a version that satisfies \$found (from https://registry.example.org/simple)" >&2
        exit 1
    fi
    ;;
esac
END
cat >bin/npm <<END
#!/bin/sh
peer=\${PWD##*/}
if grep -qx "\$peer" "$folder/unknown"; then
    echo "npm error network unable to reach https://registry.example.org/\$peer" >&2
    exit 1
fi
echo "\$peer" >>"$folder/fetched"
END
printf '#!/bin/sh\n' >bin/node
chmod +x bin/*
PATH=$folder/bin:$PATH
LIANA_PEERS=$folder/peers
export PATH LIANA_PEERS
install() {
    : >fetched
    : >options
    status=0
    "$source/scripts/install-peers.sh" "$@" >said 2>&1 || status=$?
}
has() { grep -qF -- "$1" said || fail "this is not said: $1"; }

# Two that cannot be had, by pip and by npm.
printf '^torch\ntfjs\n' >unknown
install
[ $status -eq 1 ] || fail "the status is $status, expected 1"
has "torch: Could not find a version that satisfies torch=="
has "tfjs: npm error network unable to reach"
if grep -q 'registry.example' said peers/*.missing; then fail "an address is repeated"; fi
for peer in jax tensorflow plugin browser; do [ -e "peers/$peer/installed.txt" ] || fail "$peer is not installed"; done
for peer in torch tfjs; do
    [ ! -e "peers/$peer" ] && [ -s "peers/$peer.missing" ] || fail "$peer is there, or without a reason"
done
grep -qx -- --no-deps options || fail "what the list does not name may be fetched"
# A check says the same reason.
status=0
(cd "$source" && tests/checks/test_peers.sh torch) >said 2>&1 || status=$?
[ $status -eq 77 ] || fail "the check of a missing peer gives $status"
has "skipped: the peer torch is not installed: Could not find a version"

# Only missing ones are tried again; then nothing is.
: >unknown
printf 'nothing\n' >unknown
install
[ $status -eq 0 ] || fail "the status is $status"
if grep -q '^jax==\|^keras==\|^browser' fetched; then fail "what is there is fetched again"; fi
grep -q '^torch==' fetched && grep -q '^tfjs' fetched || fail "what was missing is not tried again"
[ -z "$(ls peers/*.missing 2>/dev/null)" ] || fail "a reason is left behind"
install
[ $status -eq 0 ] && [ ! -s fetched ] || fail "all is there, but this is fetched: $(cat fetched)"
# A peer of another version is made anew, that one alone.
echo "jax==0" >peers/jax/installed.txt
install torch jax
grep -q '^jaxlib==' fetched || fail "another version is left as it is"
if grep -q '^torch==' fetched; then fail "torch is fetched again"; fi
install caffe
[ $status -eq 2 ] || fail "an unknown peer gives status $status, expected 2"
echo "peers are installed as they should be"
