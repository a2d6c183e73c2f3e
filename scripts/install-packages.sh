#!/bin/sh
# Installs the Debian 12 packages that liana needs: as root, or through sudo. Packages already there cost nothing.
#   scripts/install-packages.sh            what building and running need (and cmocka)
#   scripts/install-packages.sh --tests    and what `make test` needs
#   scripts/install-packages.sh --peers    and what scripts/install-peers.sh needs (make check-peers, make bench)
#   scripts/install-packages.sh --fuzz     and what `make fuzz` needs
#   scripts/install-packages.sh --docs     and what `make docs` needs
#   scripts/install-packages.sh --bench    and the peer of Debian's that `make bench` measures against
#   scripts/install-packages.sh --packages   and what builds and tests Debian packages (make packages, check-packages, abi-check)
#   scripts/install-packages.sh --compilers  and the compilers of `make check-compilers`
#   scripts/install-packages.sh --arm64      and what `make check-arm64` needs
# It says what cannot be installed, without root and sudo, or without the network. The status is 1 if liana cannot be
# built then. Else it is 0: packages that the options ask for are missing, and the tests that need them are skipped.
set -eu

build="gcc libc6-dev make cmake ninja-build pkg-config python3
    libdnnl-dev libgomp1 zlib1g-dev libjpeg62-turbo-dev libpng-dev libexif-dev libgif-dev libwebp-dev libtiff-dev
    libcairo2-dev libpango1.0-dev fonts-dejavu-core
    libjansson-dev libfyaml-dev libprotobuf-c-dev protobuf-c-compiler libutf8proc-dev libhdf5-dev libzip-dev libmicrohttpd-dev
    libcurl4-openssl-dev libssl-dev libexpat1-dev libzmq3-dev libcmocka-dev"
# The headers are checked with clang and as C++; the format with clang-format 14; processors that are not here with qemu.
# Numbers are written under a locale with a decimal comma, which is made from the sources of locales.
# Processes of clusters are started by both kinds of MPI, and have networks of their own (iproute2).
# What HarfBuzz's own command says is compared with text in pictures.
# Manual pages are read by groff and mandoc.
# Remote files are read from nginx and from a small server in Python, on this machine. The Python module needs numpy.
tests="clang-14 clang-format-14 g++ qemu-user nginx openssl python3-numpy locales
    openmpi-bin libopenmpi-dev mpich libmpich-dev iproute2 man-db groff mandoc zsh fish git abigail-tools
    libharfbuzz-bin"
# Augmentation in a browser: with these, the build makes it (cmake/web.cmake).
web="clang-14 lld-14 wasi-libc libclang-rt-14-dev-wasm32"
# The documents become HTML.
docs="cmark-gfm"
# libFuzzer and the sanitizers of clang.
fuzz="clang-14 libclang-rt-14-dev"
# Without OpenBLAS Debian's PyTorch multiplies matrices with the reference BLAS, 30 times slower.
bench="python3 python3-torch python3-torchvision python3-numpy python3-pil libopenblas0-openmp"
packages="debhelper dh-python dpkg-dev lintian mmdebstrap abigail-tools git libopenmpi-dev libmpich-dev"
compilers="gcc-11 gcc-12 clang-14 clang-15 clang-16 clang-19"
# A Debian for arm64 is unpacked; its programs run under qemu.
arm64="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user mmdebstrap"

wanted=$build
for option in "$@"; do
    case $option in
    --tests) wanted="$wanted $tests $web $docs" ;;
    --peers)
        # What looks at the pages that liana writes.
        wanted="$wanted chromium"
        # These often come from elsewhere than Debian, and the two do not go together.
        if ! command -v node >/dev/null || ! command -v npm >/dev/null; then wanted="$wanted nodejs npm"; fi
        if ! python3 -m ensurepip --version >/dev/null 2>&1; then wanted="$wanted python3 python3-venv"; fi
        # torch.compile compiles C++ against the headers of the Python that runs it.
        if ! python3 -c 'import os, sysconfig; open(os.path.join(sysconfig.get_paths()["include"], "Python.h"))' \
            2>/dev/null; then
            wanted="$wanted python3-dev"
        fi
        ;;
    --fuzz) wanted="$wanted $fuzz" ;;
    --bench) wanted="$wanted $bench" ;;
    --docs) wanted="$wanted $docs" ;;
    --packages) wanted="$wanted $packages $web" ;;
    --compilers) wanted="$wanted $compilers" ;;
    --arm64) wanted="$wanted $arm64" ;;
    *)
        echo "scripts/install-packages.sh: unknown option '$option', expected --tests, --peers, --fuzz, --docs, --bench, --packages, --compilers or --arm64" >&2
        exit 2
        ;;
    esac
done

# CMake names the packages that it does not find.
if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "scripts/install-packages.sh: this is not a Debian system; these packages are needed, under names of its own:" $wanted >&2
    exit 0
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

# without REASON PACKAGE...: ends the script
without() {
    echo "scripts/install-packages.sh: $1. What is missing:" >&2
    shift
    echo "    apt-get install --no-install-recommends $*" >&2
    for package in "$@"; do
        case " $(echo $build) " in *" $package "*) exit 1 ;; esac
    done
    echo "liana can be built. Tests that need these packages are skipped." >&2
    exit 0
}
as_root=
if [ "$(id -u)" -ne 0 ]; then
    # Where nobody can type a password, sudo asks for none.
    as_root=sudo
    [ -t 0 ] || as_root='sudo -n'
    $as_root true 2>/dev/null || without "only root may install packages, and sudo does not help" $missing
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
$as_root apt-get update -q </dev/null || true
if install $missing; then
    echo "Done."
    exit 0
fi
# One that cannot be had does not keep the others away.
cannot=
for package in $missing; do install "$package" >/dev/null 2>&1 || cannot="$cannot $package"; done
[ -z "$cannot" ] || without "apt-get cannot install some packages" $cannot
