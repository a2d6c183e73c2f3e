#!/bin/sh
# Some trainings in several processes, of which some are killed and halted, end with the files of an undisturbed one: the
# same ones in each run of the suite. `make kills` does it for long.
#   test_kills.sh BUILD_FOLDER
set -eu
. "$(dirname "$0")/needs.sh"
has_program python3 || exit 77
exec python3 "$(dirname "$0")/kills.py" "$1" --kills 4 --seed 5 --epochs 15 --seconds 1 --kinds kill,kill,halt
