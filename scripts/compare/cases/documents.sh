# The commands of the base's documents, run with each build: every sh block that tests/docs/test_docs.sh runs without more
# than Debian has. Where commands were renamed on purpose, the case says so by failing.

# blocks DOCUMENT: writes each block that can be run here into a file of its own, named by its line.
blocks() {
    awk '
        /^```/ && inside { inside = 0; close(file); next }
        inside { print > file }
        /^```sh$/ { inside = 1; file = mark == "" ? sprintf("block-%05d.sh", NR) : "/dev/null" }
        { mark = /^<!-- test: .* -->$/ ? $0 : "" }' "$BASE_TREE/$1"
}
# document NAME: runs the blocks of a document in order. Processes print in any order: masks.txt sorts the lines.
document() {
    ln -s "$BIN" build
    cp -r "$TREE/examples" examples
    ln -s "$TREE/include" "$TREE/docs" .
    blocks "$1"
    [ -n "$(ls block-*.sh)" ]
    for block in block-*.sh; do
        # Its results depend on the fastest process.
        ! grep -q 'synchronous: false' "$block" || continue
        sh -eu "$block" >"$block.out" 2>"$block.err" </dev/null || echo $? >"$block.code"
    done
    rm -r examples
}
case_readme() { document README.md; }
case_bad_numbers() { document docs/bad-numbers.md; }
case_cluster() {
    document docs/cluster.md
    rm -r runs/keys
}
case_custom_loops() { document docs/custom-loops.md; }
case_data() { document docs/data.md; }
case_devices() {
    document docs/devices.md
    rm -r runs/device-keys
}
case_experiments() { document docs/experiments.md; }
case_losses_and_metrics() { document docs/losses-and-metrics.md; }
case_own_parts() { document docs/own-parts.md; }
case_programs() { document docs/programs.md; }
case_training() { document docs/training.md; }
