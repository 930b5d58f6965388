#!/bin/sh
# cover.sh -- which lines of common/, server/ and party/ the tests have reached.
#
# usage: cover.sh BUILD, where BUILD was made with --coverage and its tests have run.  One line for
# each file, the least covered first, then one for all.  A summary for people: nothing depends on it.
# SPDX-License-Identifier: Apache-2.0
set -u
[ $# -eq 1 ] && [ -d "$1/obj" ] || { echo 'usage: cover.sh BUILD' >&2; exit 2; }
find "$1/obj/common" "$1/obj/server" "$1/obj/party" -name '*.gcno' -exec gcov -n {} + 2>/dev/null |
    awk -F "[':% ]+" '
        /^File / { file = $2 }
        /^Lines executed/ && file ~ /^(common|server|party)\/.*\.c$/ {
            lines[file] = $5
            reached[file] = $3 * $5 / 100
        }
        END {
            for (f in lines) {
                printf "%5.1f %%  %5d  %s\n", 100 * reached[f] / lines[f], lines[f], f | "sort -n"
                n += lines[f]
                r += reached[f]
            }
            close("sort -n")
            if (n > 0)
                printf "%5.1f %%  %5d  all\n", 100 * r / n, n
        }'
