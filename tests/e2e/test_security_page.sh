#!/bin/sh
# test_security_page.sh -- docs/security.md names functions, files and tests that exist.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$root" || exit 6
page=docs/security.md

tests=$(grep -o '`test_[a-z0-9_]*`' $page | tr -d '`' | sort -u)
missing=
for t in $tests; do
    grep -rqs "^static void $t(" tests/unit tests/sim tests/valgrind || missing="$missing $t"
done
same '' "$missing" "the page's tests exist: $(echo "$tests" | wc -l)"

# `name`, ... (file): each is defined there, or is the file's to declare.
missing=$(grep -o '`[a-z0-9_]*`[^|()]*([a-z]*/[a-z0-9_/.]*)' $page | while IFS= read -r place; do
    file=${place##*(}
    file=${file%)}
    echo "$place" | grep -o '`[a-z0-9_]*`' | tr -d '`' | while IFS= read -r name; do
        grep -qs "\\b$name(" "$file" || echo "$name in $file"
    done
done)
same '' "$missing" 'and so do its functions, where it says'

missing=$(grep -oE '\b(tests|deploy|docs|proto)/[A-Za-z0-9_/.-]*[a-z0-9]' $page | sort -u | while IFS= read -r file; do
    [ -e "$file" ] || echo "$file"
done)
same '' "$missing" 'and its files'

closing
