#!/bin/sh
# test_security_page.sh -- docs/security.md and docs/hostile.md name functions, files and tests that exist.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$root" || exit 6
set -- docs/security.md docs/hostile.md

tests=$(grep -ho '`test_[a-z0-9_]*`' "$@" | tr -d '`' | sort -u)
missing=
for t in $tests; do
    grep -rqs "^static void $t(" tests/unit tests/sim tests/valgrind || missing="$missing $t"
done
same '' "$missing" "the pages' tests exist: $(echo "$tests" | wc -l)"

# `name`, ... (file): each is defined there, or is the file's to declare.
missing=$(grep -ho '`[a-z0-9_]*`[^|()]*([a-z]*/[a-z0-9_/.]*)' "$@" | while IFS= read -r place; do
    file=${place##*(}
    file=${file%)}
    echo "$place" | grep -o '`[a-z0-9_]*`' | tr -d '`' | while IFS= read -r name; do
        grep -qs "\\b$name(" "$file" || echo "$name in $file"
    done
done)
same '' "$missing" 'and so do their functions, where they say'

missing=$(grep -hoE '\b(tests|deploy|docs|proto)/[A-Za-z0-9_/.-]*[a-z0-9]' "$@" | sort -u | while IFS= read -r file; do
    [ -e "$file" ] || echo "$file"
done)
same '' "$missing" 'and their files'

closing
