# What the checks share that need a peer: read by them with `.`, not run alone.
# shellcheck shell=sh
peers=${LIANA_PEERS-${XDG_CACHE_HOME:-$HOME/.cache}/liana-peers}

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
