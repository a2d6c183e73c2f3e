# The commands of the base's documents, run with each build: every sh block that tests/docs/test_docs.sh runs without more
# than Debian has. Where commands were renamed on purpose, the case says so by failing.

# blocks DOCUMENT: writes each block that can be run here into a file of its own, named by its line. Guides were in docs/
# before they were in docs/guides.
blocks() {
    text=$BASE_TREE/$1
    [ -e "$text" ] || text=$BASE_TREE/docs/guides/$1
    [ -e "$text" ] || text=$BASE_TREE/docs/$1
    awk '
        /^```/ && inside { inside = 0; close(file); next }
        inside { print > file }
        /^```sh$/ { inside = 1; file = mark == "" ? sprintf("block-%05d.sh", NR) : "/dev/null" }
        { mark = /^<!-- test: .* -->$/ ? $0 : "" }' "$text"
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
case_bad_numbers() { document bad-numbers.md; }
case_cluster() {
    document cluster.md
    rm -r runs/keys
}
case_custom_loops() { document custom-loops.md; }
case_data() { document data.md; }
case_devices() {
    document devices.md
    rm -r runs/device-keys
}
case_experiments() { document experiments.md; }
case_losses_and_metrics() { document losses-and-metrics.md; }
case_own_parts() { document own-parts.md; }
case_programs() { document programs.md; }
case_training() { document training.md; }
