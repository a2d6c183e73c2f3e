# Needs of checks outside of the tree: read by them with `.`, not run alone. ctest counts the status 77 as skipped;
# scripts/run_tests.sh lists the lines "skipped: REASON". shellcheck shell=sh
peers=${LIANA_PEERS-${XDG_CACHE_HOME:-$HOME/.cache}/liana-peers}

# has_program NAME [OPTION]: else says that its users are skipped, and which option of install-packages.sh has it
# (--tests). Where everything must be installed a skip would hide a failure.
has_program() {
    if command -v "$1" >/dev/null; then return 0; fi
    echo "skipped: $1 is missing (scripts/install-packages.sh ${2:---tests})"
    [ -z "${CI:-}" ] || exit 1
    return 1
}

# need_peer NAME...: the check is skipped where scripts/install-peers.sh has not installed one of these.
need_peer() {
    for peer in "$@"; do
        if [ -z "$peers" ]; then
            echo "skipped: left to make check-peers"
            exit 77
        elif [ ! -e "$peers/$peer/installed.txt" ]; then
            echo "skipped: the peer $peer is not installed: $(cat "$peers/$peer.missing" 2>/dev/null || echo make check-peers)"
            exit 77
        fi
    done
}

# need_browser: Debian's chromium, and the packages that drive it, which node then finds (tests/browser/browser.js).
need_browser() {
    need_peer browser
    has_program chromium --peers || exit 77
    has_program node --peers || exit 77
    export NODE_PATH="$peers/browser/node_modules"
}
