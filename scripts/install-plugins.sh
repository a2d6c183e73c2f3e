#!/bin/sh
# Installs the PJRT plugin for CPUs (Google's wheel xla-cpu-pjrt), which stands for an accelerator in the tests and in
# docs/devices.md. `liana devices` finds it where this script puts it. What is there already costs nothing.
#
#   PLUGINS_DIR=~/.local/share/liana/plugins   where it goes, about 250 MiB ($XDG_DATA_HOME/liana/plugins if that is set)
#   PYTHON=python3                             a Python with pip (Debian: python3-pip)
#
# pip takes the wheel from where it is set up to; version and hash are fixed here. Without the plugin the tests that need
# it say that they are skipped.
set -eu
folder=${PLUGINS_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/liana/plugins}
python=${PYTHON:-python3}
version=0.0.1

if [ "$(cat "$folder/xla-cpu-pjrt.txt" 2>/dev/null)" = "$version" ]; then
    echo "The plugin is installed."
    exit 0
fi
if ! "$python" -m pip --version >/dev/null 2>&1; then
    echo "scripts/install-plugins.sh: $python has no pip; on Debian: apt-get install python3-pip" >&2
    exit 1
fi
wanted=$(mktemp -d)
trap 'rm -rf "$wanted"' EXIT
# The hashes of x86-64 and aarch64.
cat >"$wanted/list.txt" <<EOT
xla-cpu-pjrt==$version --hash=sha256:55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc --hash=sha256:8f613be6e891858f40d64f9799319502fff42689661944fc18a6ffd8210b30c9
EOT
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes --only-binary=:all: \
    --target "$wanted/packages" -r "$wanted/list.txt"
mkdir -p "$folder"
rm -rf "$folder/xla_plugins/xla_cpu_pjrt"
mkdir -p "$folder/xla_plugins"
mv "$wanted/packages/xla_plugins/xla_cpu_pjrt" "$folder/xla_plugins/"
# Written last: a folder without it is not finished.
echo "$version" >"$folder/xla-cpu-pjrt.txt"
echo "Installed the plugin in $folder."
