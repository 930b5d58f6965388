# shellcheck shell=sh
# e2e.sh -- what the scripts of tests/e2e share: a folder that goes away, expectations, a closing line.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034 # used by the scripts that source this

root=$(cd "$(dirname "$0")/../.." && pwd)
vfl=$root/deploy/vfl
VFL_BIN=${VFL_BIN:-$root/build/bin}
export VFL_BIN
passed=0 failed=0
dir=$(mktemp -d "${TMPDIR:-/tmp}/colonnade-e2e.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir" || exit 6

ok() { # WHAT
    passed=$((passed + 1))
    printf 'ok    %s\n' "$1"
}

not_ok() { # WHAT
    failed=$((failed + 1))
    printf 'FAIL  %s\n' "$1"
    [ ! -s "$dir/said" ] || sed 's/^/      /' "$dir/said"
}

# expect CODE WORDS WHAT COMMAND...: the command exits with CODE and its output has WORDS ('': any).
expect() {
    expect_code=$1 expect_words=$2 expect_what=$3
    shift 3
    "$@" >"$dir/said" 2>&1
    expect_got=$?
    if [ "$expect_got" -ne "$expect_code" ]; then
        not_ok "$expect_what (exit $expect_got, not $expect_code)"
    elif [ -n "$expect_words" ] && ! grep -q -e "$expect_words" "$dir/said"; then
        not_ok "$expect_what (does not say: $expect_words)"
    else
        ok "$expect_what"
    fi
}

# same WANT GOT WHAT
same() {
    if [ "$1" = "$2" ]; then
        ok "$3"
    else
        printf 'want %s\ngot  %s\n' "$1" "$2" >"$dir/said"
        not_ok "$3"
    fi
}

# differ OTHER GOT WHAT
differ() {
    if [ -n "$2" ] && [ "$1" != "$2" ]; then
        ok "$3"
    else
        printf 'got %s\n' "$2" >"$dir/said"
        not_ok "$3"
    fi
}

# wait_until COMMAND...: looks again until it succeeds, for five minutes or more.  What another process
# does gives no event to a shell; nothing in a test depends on how long it took.
wait_until() {
    wait_tries=6000
    until "$@" >/dev/null 2>&1; do
        wait_tries=$((wait_tries - 1))
        [ $wait_tries -gt 0 ] || return 1
        sleep 0.05
    done
}

closing() {
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" -eq 0 ]
    exit
}
