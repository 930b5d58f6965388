# shellcheck shell=sh
# yaml.sh -- reads what `vfl-server -n` and `vfl-party -n` print; no YAML in general.
# SPDX-License-Identifier: Apache-2.0

# Standard input as lines key.path=value: nesting by two spaces, comments left out, quotes taken off.
yaml_flat() {
    awk '
        /^[ ]*(#|$)/ { next }
        {
            match($0, /^ */)
            depth = int(RLENGTH / 2)
            line = substr($0, RLENGTH + 1)
            colon = index(line, ":")
            key[depth] = substr(line, 1, colon - 1)
            value = substr(line, colon + 2)
            if (value == "") next
            if (value ~ /^".*"$/) {
                value = substr(value, 2, length(value) - 2)
                gsub(/\\"/, "\"", value)
                gsub(/\\\\/, "\\", value)
            }
            path = key[0]
            for (i = 1; i <= depth; i++) path = path "." key[i]
            print path "=" value
        }
    '
}
