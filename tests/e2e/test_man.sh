#!/bin/sh
# test_man.sh -- every option that a program names when asked for help stands in its man page.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cd "$root" || exit 6

# The options a page has, in the words of help: ".Op Fl Fl set Ar k" is --set, "Fl nv" is -n and -v.
options_of_page() { # PAGE
    sed -n 's/\\//g; /^\.[A-Z]/p' "$1" | grep -oE 'Fl (Fl )?[A-Za-z][A-Za-z0-9-]*( \| [A-Za-z])?' |
        sed 's/^Fl Fl /--/; s/^Fl /-/; s/ | / -/' | tr ' ' '\n' |
        sed '/^--/!s/^-\(.\)\(.\)$/-\1\n-\2/' | sort -u
}

options_of_help() { # COMMAND...
    "$@" 2>&1 | grep -oE '(^|[ [|(])--?[A-Za-z][A-Za-z0-9-]*' | grep -oE -- '--?[A-Za-z][A-Za-z0-9-]*$' | sort -u
}

stands() { # PAGE WHAT COMMAND...: each option of its help is in the page
    page=$1 what=$2
    shift 2
    options_of_page "docs/man/$page" >"$dir/page"
    options_of_help "$@" >"$dir/help"
    same '' "$(grep -vxFf "$dir/page" "$dir/help" | xargs)" "$page: $what: $(grep -c . "$dir/help") options"
    [ -s "$dir/help" ] || not_ok "$what: its help names no option"
}

stands vfl-server.1 'options of vfl-server' "$VFL_BIN/vfl-server" -h
stands vfl-party.1 'options of vfl-party' "$VFL_BIN/vfl-party" -h
for command in $("$vfl" --help | sed -n 's/^  \([a-z][a-z]*\).*/\1/p'); do
    grep -q "^\.Ss vfl $command" docs/man/vfl.1 && ok "vfl.1: vfl $command" || not_ok "vfl.1: no vfl $command"
    stands vfl.1 "options of vfl $command" "$vfl" "$command" --help
done

# A page is where the units say it is.
for unit in deploy/systemd/*.service; do
    for page in $(sed -n 's/^Documentation=//p' "$unit" | tr ' ' '\n' | sed -n 's/^man:\(.*\)(\([0-9]\))$/\1.\2/p'); do
        [ -e "docs/man/$page" ] && ok "${unit##*/}: $page" || not_ok "${unit##*/}: there is no $page"
    done
done

# And the check can fail.
sed '/Fl Fl set/d' docs/man/vfl-party.1 >"$dir/less.1"
options_of_page "$dir/less.1" >"$dir/page"
options_of_help "$VFL_BIN/vfl-party" -h | grep -vxFf "$dir/page" | grep -qx -- --set &&
    ok 'an option taken out of the page is missed' || not_ok 'nothing is missed'
closing
