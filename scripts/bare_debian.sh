# Included by bash scripts that use liana in a bare Debian 12 (check_packages.sh, check_first_page.sh): makes one in a folder
# and runs commands in it. As root. The including script has `fail`, and removes the folder.

# bare_debian FOLDER PACKAGES: a new Debian with apt and PACKAGES (a list with commas, or nothing), from the archives and
# through the proxy of this machine's apt
bare_debian() {
    local archives proxy
    if [ "$(id -u)" -ne 0 ] || ! command -v mmdebstrap >/dev/null; then
        fail "needs root and mmdebstrap (scripts/install-packages.sh --packages)"
    fi
    archives=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
        sed -n 's/ Debian$//p' | grep bookworm | sort -u | awk '{ print "deb " $1 " " $2 " " $3 }')
    [ -n "$archives" ] || fail "this machine's apt has no Debian 12 (bookworm) archive"
    proxy=$(apt-config dump Acquire::http::Proxy)
    unshare --mount --propagation private mmdebstrap --quiet --variant=apt ${2:+"--include=$2"} ${proxy:+"--aptopt=$proxy"} bookworm "$1" - <<<"$archives" ||
        fail "mmdebstrap could not make a Debian"
    cp /etc/resolv.conf "$1/etc/resolv.conf"
}

# inside FOLDER COMMAND: as root in that Debian. The mounts live in a namespace of their own and end with the command.
inside() {
    unshare --mount --propagation private /bin/sh -c '
        root=$1 && shift && mount --bind "$root" "$root" && cd "$root" && mount -t proc proc "$root/proc" &&
        mount --rbind /dev "$root/dev" && mount -t sysfs sysfs "$root/sys" && exec chroot "$root" "$@"' sh "$1" \
        /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive /bin/bash -euo pipefail -c "$2" </dev/null
}
