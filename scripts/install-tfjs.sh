#!/bin/sh
# Installs TensorFlow.js for the tests that compare liana's layers with it (tests/test_tfjs.c): into
# tests/tfjs/node_modules, in the versions of package-lock.json. Needs npm (Debian: apt-get install npm) and the npm
# registry; without it those tests say that they are skipped.
set -eu
cd "$(dirname "$0")/../tests/tfjs"
if ! command -v npm >/dev/null; then
    echo "scripts/install-tfjs.sh: npm is missing; on Debian: apt-get install npm" >&2
    exit 1
fi
exec npm ci --no-audit --no-fund --ignore-scripts
