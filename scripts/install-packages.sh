#!/bin/sh
# Installs the Debian 12 packages that liana needs: as root, or through sudo. Packages already there cost nothing.
#   scripts/install-packages.sh            what building and running need (and cmocka)
#   scripts/install-packages.sh --tests    and what `make test` needs
#   scripts/install-packages.sh --tfjs     and npm, for scripts/install-tfjs.sh (without it a few tests are skipped)
#   scripts/install-packages.sh --plugins  and pip, for scripts/install-plugins.sh (likewise)
#   scripts/install-packages.sh --fuzz     and what `make fuzz` needs
#   scripts/install-packages.sh --bench    and the peers that `make bench` measures against
set -eu

build="gcc libc6-dev make cmake ninja-build pkg-config
    libdnnl-dev libgomp1 zlib1g-dev libjpeg62-turbo-dev libpng-dev libexif-dev libgif-dev libwebp-dev libtiff-dev
    libcairo2-dev libfontconfig-dev fonts-dejavu-core
    libjansson-dev libfyaml-dev libprotobuf-c-dev protobuf-c-compiler libhdf5-dev
    libcurl4-openssl-dev libssl-dev libexpat1-dev libzmq3-dev libcmocka-dev"
# The headers are checked with clang and as C++; the format with clang-format 14; processors that are not here with qemu.
# Numbers are written under a locale with a decimal comma, which is made from the sources of locales.
# Processes of clusters are started by both kinds of MPI, and have networks of their own (iproute2).
# Remote files are read from nginx and from a small server in Python, on this machine.
tests="clang-14 clang-format-14 g++ qemu-user nginx openssl python3 python3-pip locales
    openmpi-bin libopenmpi-dev mpich libmpich-dev iproute2"
# libFuzzer and the sanitizers of clang.
fuzz="clang-14 libclang-rt-14-dev"
# Without OpenBLAS Debian's PyTorch multiplies matrices with the reference BLAS, 30 times slower.
bench="python3 python3-torch python3-torchvision python3-numpy python3-pil libopenblas0-openmp"

wanted=$build
for option in "$@"; do
    case $option in
    --tests) wanted="$wanted $tests" ;;
    --tfjs)
        # Node.js often comes from elsewhere than Debian, with its own npm, and the two do not go together.
        if ! command -v node >/dev/null || ! command -v npm >/dev/null; then wanted="$wanted nodejs npm"; fi
        ;;
    --plugins) if ! python3 -m pip --version >/dev/null 2>&1; then wanted="$wanted python3 python3-pip"; fi ;;
    --fuzz) wanted="$wanted $fuzz" ;;
    --bench) wanted="$wanted $bench" ;;
    *)
        echo "scripts/install-packages.sh: unknown option '$option', expected --tests, --tfjs, --plugins, --fuzz or --bench" >&2
        exit 2
        ;;
    esac
done

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "scripts/install-packages.sh: this is not a Debian system; install by hand what matches:" $wanted >&2
    exit 1
fi
missing=
for package in $wanted; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
    installed*) ;;
    *) missing="$missing $package" ;;
    esac
done
if [ -z "$missing" ]; then
    echo "All packages are installed."
    exit 0
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "scripts/install-packages.sh: run this as root, or install sudo; missing:$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
# Debian starts a server when it installs it, now and with the machine. The tests start their own nginx, as themselves.
policy=/usr/sbin/policy-rc.d
finish() {
    case " $missing " in *" nginx "*) ;; *) return 0 ;; esac
    if [ -n "${made_policy:-}" ]; then $as_root rm -f "$policy"; fi
    if command -v systemctl >/dev/null 2>&1; then $as_root systemctl disable --quiet nginx >/dev/null 2>&1 || true; fi
}
case " $missing " in
*" nginx "*)
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
        $as_root chmod 755 "$policy"
        made_policy=yes
    fi
    trap finish EXIT
    ;;
esac
echo "Installing:$missing"
install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o Dpkg::Use-Pty=0 -o APT::Install-Suggests=0 "$@" </dev/null
}
# Package lists that are missing or too old make the first try fail; then, and only then, they are fetched.
if install $missing >/dev/null 2>&1; then
    echo "Done."
    exit 0
fi
$as_root apt-get update -q </dev/null
install $missing
echo "Done."
