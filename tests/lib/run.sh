#!/bin/sh
# Runs each test program given; prints the output of those that fail, and one closing line for all.
# SPDX-License-Identifier: Apache-2.0
passed=0 failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
for t in "$@"; do
    if "$t" >"$out" 2>&1; then
        n=$(grep -c '^\[       OK \]' "$out")
        passed=$((passed + n))
        printf 'ok    %s (%s)\n' "${t#*/tests/}" "$n"
    else
        failed=$((failed + 1))
        printf 'FAIL  %s\n' "${t#*/tests/}"
        tail -n 60 "$out"
    fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
