#!/bin/sh
# Skips are told: scripts/run_tests.sh lists tests and cases with their reasons before ctest's closing lines, and a
# block of the documents that needs a skipped one is skipped, too.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "test_skips.sh: $1" >&2
    # Not in the words that say that this test is skipped.
    [ ! -e said ] || sed 's/skipped/SKIPPED/' said >&2
    exit 1
}
has() { grep -qxF -- "$1" said || fail "this line is missing: $1"; }

echo "run_tests.sh"
# write NAME SCRIPT: a test of a build folder that ctest alone knows
mkdir build
write() {
    printf '%s\n' "$2" >"build/$1.sh"
    echo "add_test($1 /bin/sh \"$folder/build/$1.sh\")" >>build/CTestTestfile.cmake
    echo "set_tests_properties($1 PROPERTIES SKIP_RETURN_CODE 77)" >>build/CTestTestfile.cmake
}
write passes 'echo "nothing is skipped here"'
write whole 'echo "whole.sh: skipped: no cable"; exit 77'
write silent 'exit 77'
write cases 'for i in 1 2 3; do echo "skipped: no salt"; done; echo "skipped: no pepper"'
write later 'echo "skipped: left to make check-peers"; echo "a.md:7: skipped: left to make check-peers"'
write later_too 'echo "skipped: left to make check-peers"'
status=0
"$source/scripts/run_tests.sh" build >said 2>&1 || status=$?
[ $status -eq 0 ] || fail "the status is $status"
has "  whole: whole.sh: no cable"
has "  silent: it gives no reason"
has "  cases: no salt"
has "  cases: no pepper"
[ "$(grep -c 'no salt' said)" -eq 1 ] || fail "a reason is repeated"
has "Left to make check-peers: 3 cases of 2 tests"
if grep -q '  passes: \|The following tests did not run' said; then fail "this is listed too often"; fi
sed -n '/^Left to/,$p' said | grep . | sed '1d; s/[0-9.]* sec$/T sec/' >closing
printf '100%% tests passed, 0 tests failed out of 6\nTotal Test time (real) =   T sec\n' >expected
sed -i 's/= */= /' closing expected
cmp -s closing expected || fail "other closing lines: $(cat closing)"

# Lines appear as they come, not when the tests are over.
write waits "while [ ! -e $folder/go ]; do sleep 0.1; done"
"$source/scripts/run_tests.sh" build -R waits >said 2>&1 &
run=$!
for try in $(seq 300); do
    if grep -q 'Start .*waits' said; then break; fi
    [ "$try" -lt 300 ] || { touch go; fail "what ctest says is held back"; }
    sleep 0.1
done
touch go
wait $run || fail "a test that waited fails"

write fails 'echo "it is wrong"; exit 3'
echo "add_test(absent \"$folder/build/no-such-program\")" >>build/CTestTestfile.cmake
status=0
"$source/scripts/run_tests.sh" build --parallel 2 >said 2>&1 || status=$?
[ $status -ne 0 ] || fail "failed tests give status 0"
has "it is wrong"
grep -q '^78% tests passed, 2 tests failed out of 9$' said || fail "no closing line"
[ "$(tail -n 4 said | head -n 3 | sed 's/^[^-]*- //; s/ *(.*//')" = "$(printf 'The following tests FAILED:\nfails\nabsent')" ] ||
    fail "the failed tests are not in the closing lines"
has "  whole: whole.sh: no cable"
# Nothing was skipped: nothing is listed.
"$source/scripts/run_tests.sh" build -R passes >said 2>&1 || fail "one test that passes"
if grep -q 'Skipped\|Left' said; then fail "nothing is skipped"; fi

echo "documents"
mkdir -p house/tests house/docs
cp -R "$source/tests/docs" house/tests/
mkdir house/tests/checks house/build && cp "$source/tests/checks/needs.sh" house/tests/checks/
cat >house/README.md <<'END'
<!-- test: data -->
```sh
mkdir -p runs
echo 1 >runs/one.yaml
```
It goes on:
```sh
cat runs/one.yaml >runs/two.yaml
```
And on, with what only the block before makes:
```sh
cat runs/two.yaml
```
This one makes it anew:
```sh
mkdir -p runs
echo 1 >runs/one.yaml
cat runs/one.yaml
```
So this one has it:
```sh
cat runs/one.yaml
```
END
cat >house/docs/more.md <<'END'
<!-- test: not run: it takes a year -->
```sh
liana train --out runs/year
```
```sh
ls runs/year/checkpoints
```
<!-- test: plugin -->
```sh
liana train --out runs/on-plugin
```
```sh
ls 'runs/on-plugin'
```
```sh
true
```
END
touch house/CONTRIBUTING.md
LIANA_TEST_DATA=$folder/none LIANA_PEERS='' house/tests/docs/test_docs.sh house/build >said 2>&1 || fail "the documents fail"
has "README.md:2: skipped: no data (looked for $folder/none)"
has "README.md:7: skipped: it needs runs/one.yaml of line 2, which is not run"
has "README.md:11: skipped: it needs runs/two.yaml of line 7, which is not run"
has "README.md:15"
has "README.md:21"
has "docs/more.md:2: not run: it takes a year"
has "docs/more.md:5: skipped: it needs runs/year/checkpoints of line 2, which is not run"
has "docs/more.md:9: skipped: left to make check-peers"
has "docs/more.md:12: skipped: it needs runs/on-plugin of line 9, which is not run"
has "3 blocks run, 7 not run"
# With the data nothing of the first document is skipped, and a block that fails is named.
mkdir none
echo '```sh
false
```' >>house/README.md
if LIANA_TEST_DATA=$folder/none LIANA_PEERS='' house/tests/docs/test_docs.sh house/build >said 2>&1; then
    fail "a block that fails is not found"
fi
grep -q 'README.md:24: this block fails' said || fail "the block that fails is not named"
if grep -q 'README.md.*needs' said; then fail "blocks are skipped though all is there"; fi
echo "what is skipped is said"
