#!/bin/sh
# test_run.sh -- what broke a fuzz target stays until it breaks nothing any more (run.sh).
#
# The target here is a script that takes libFuzzer's words: it finds the input `boom` if there is a file `weak`.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

cat >fuzz_toy <<'TOY'
#!/bin/sh
for word; do
    case $word in
    -artifact_prefix=*) prefix=${word#*=} ;;
    -*) ;;
    *) [ -d "$word" ] || input=$word ;;
    esac
done
if [ -n "${input:-}" ]; then
    echo tried >>tries
    [ ! -e weak ] || ! grep -q boom "$input"
    exit
fi
echo sought >>tries
echo 'stat::number_of_executed_units: 7'
if [ -e weak ] && [ ! -e unlucky ]; then
    printf boom >"${prefix}crash-1"
    exit 77
fi
TOY
chmod +x fuzz_toy
mkdir -p out tests/fuzz/corpus/toy

run() { # TRIES: the run, and what the target was asked for
    rm -f tries
    "$root/tests/fuzz/run.sh" out 1 "$dir/fuzz_toy"
    run_code=$?
    [ "$(tr '\n' ' ' <tries)" = "$1" ] || return 9
    return $run_code
}

expect 0 '^7 executions' 'a target that nothing breaks' run 'sought '
: >weak
expect 1 '626f6f6d' 'what breaks it is printed in hex' run 'sought '
same boom "$(cat out/toy-crash-1)" 'and stays'
: >unlucky
expect 1 '626f6f6d' 'it breaks the target again, though nobody finds it' run 'tried '
same boom "$(cat out/toy-crash-1)" 'and stays'
printf bang >out/toy-timeout-2
expect 1 'out/toy-crash-1' 'beside one that breaks nothing any more' run 'tried tried '
expect 1 '' 'which goes' test -e out/toy-timeout-2
rm weak
expect 0 '^1 passed' 'once it is mended, new ones are looked for' run 'tried sought '
expect 1 '' 'and the old one is gone' test -e out/toy-crash-1
closing
