#!/bin/sh
# test_check_source.sh -- the negative twins of check_source.py: each fault, planted into a copy of
# the tree, is refused with its file and line; what only looks like a fault is not.
# SPDX-License-Identifier: Apache-2.0
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
check=$root/tests/check/check_source.py
passed=0 failed=0
dir=$(mktemp -d "${TMPDIR:-/tmp}/colonnade-source.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
tree=$dir/tree
mkdir "$tree"
(cd "$root" && tar cf - --exclude=./build --exclude=./runs --exclude=./.git .) | tar xf - -C "$tree"
cd "$tree" || exit 6
touched=''

# add FILE TEXT: at its end; `line` is the first line that is new.
add() {
    mkdir -p "$(dirname "$1")"
    [ -f "$1" ] || : >"$1"
    line=$(($(wc -l <"$1") + 1))
    printf '%s\n' "$2" >>"$1"
    touched="$touched $1"
}

# new FILE TEXT: which is the whole file.
new() {
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "$2" >"$1"
    touched="$touched $1"
}

restore() {
    for file in $touched; do
        if [ -f "$root/$file" ]; then cp "$root/$file" "$file"; else rm -f "$file"; fi
    done
    touched=''
}

report() { # GOOD WHAT
    if [ "$1" = yes ]; then
        passed=$((passed + 1))
        printf 'ok    %s\n' "$2"
    else
        failed=$((failed + 1))
        printf 'FAIL  %s\n' "$2"
        sed 's/^/      /' "$dir/said"
    fi
    restore
}

# refused RULE FILE:LINE WHAT: what has been planted is found where it stands.
refused() {
    good=no
    "$check" . "$1" >"$dir/said" 2>&1 || { grep -q "^$2: $1: " "$dir/said" && good=yes; }
    report $good "$3 is refused"
}

# accepted RULE FILE WHAT: what has been planted is no fault.
accepted() {
    good=no
    "$check" . "$1" >"$dir/said" 2>&1
    [ $? -le 1 ] && grep -q ' passed, ' "$dir/said" && ! grep -q "^$2:" "$dir/said" && good=yes
    report $good "$3 is not"
}

# included FILE HEADER RULE WHAT: FILE includes HEADER (with its quotes) and is refused.
included() {
    add "$1" "#include $2"
    refused "$3" "$1:$line" "$4"
}

lines() { # N TEXT: TEXT N times
    awk -v n="$1" -v t="$2" 'BEGIN { for (i = 0; i < n; i++) print t }'
}

# --- who includes what ---
new common/loose.c 'int x;'
refused rooms common/loose.c:1 'a file outside the rooms'
new common/attic/chest.c 'int x;'
refused rooms common/attic/chest.c:1 'a room without a layer'
new Makefile "$(sed 's/^LAYERS/LAYER/' "$root/Makefile")"
refused rooms Makefile:1 'a Makefile without layers'

included common/base/buf.c '"common/nn/net.h"' layers 'a higher room'
included common/nn/act.c '"common/data/csv.h"' layers 'a room of the same layer'
included common/wire/message.h '"common/flow/phase.h"' layers 'a higher room in a header'
included common/flow/phase.c '"server/session.h"' layers 'server in common'
included common/flow/phase.c '"party/session.h"' layers 'party in common'
included common/flow/phase.c '"tests/lib/scratch.h"' layers 'tests in common'
included server/train/round.c '"party/session.h"' layers 'party in server'
included party/round.c '"server/session.h"' layers 'server in party'
included deploy/tools/split.c '"server/session.h"' layers 'a daemon in a tool'
included tests/lib/scratch.c '"common/net/net.h"' layers 'a room in what all tests link'
included tests/unit/data/test_csv.c '"common/flow/phase.h"' layers 'a higher room in a unit test'
included common/nn/act.c '"act.h"' layers 'a header without its folder'
included common/nn/act.c '"../base/buf.h"' layers 'a header by a path upwards'
add common/nn/act.c '#include "common/base/buf.h"'
accepted layers common/nn/act.c 'a lower room'
add common/nn/act.c "$(printf '/*\n#include "common/data/csv.h"\n*/\n')"
accepted layers common/nn/act.c 'an include in a comment'

included common/flow/sm.c '<uv.h>' foreign 'uv.h in flow'
included server/session.c '<uv.h>' foreign 'uv.h in a session core'
included common/net/conn.c '<openssl/ssl.h>' foreign 'openssl in net beside its TLS files'
included common/nn/dense.c '<cblas.h>' foreign 'cblas.h beside gemm.c'
included party/prepare.c '<yaml.h>' foreign 'yaml.h in a daemon'
included common/flow/sm.c '<sqlite3.h>' foreign 'sqlite3.h beside the ledger'
included common/nn/safetensors.c '<jansson.h>' foreign 'jansson.h in nn'
included common/net/frame.c '<zlib.h>' foreign 'zlib.h in net'
included common/net/frame.c '<protobuf-c/protobuf-c.h>' foreign 'protobuf in net'
included server/train/round.c '"proto/vfl.pb-c.h"' foreign 'a generated message in a core'
included common/net/frame.c '<cmocka.h>' foreign 'cmocka in what is shipped'
add common/net/conn.c '#include <uv.h>'
accepted foreign common/net/conn.c 'uv.h in net'

new common/base/orphan.c '#include "common/base/buf.h"'
refused own_header common/base/orphan.c:1 'a source without a header'
new common/base/buf.c "$({ echo '#include <stdio.h>' && cat "$root/common/base/buf.c"; })"
refused own_header common/base/buf.c:1 'a source that includes something before its header'
new server/train/round.c "$({ echo '#include <stdio.h>' && cat "$root/server/train/round.c"; })"
refused own_header server/train/round.c:1 'a phase that includes something before its core'

# --- what is called ---
for call in 'p = malloc(4);' 'free(p);' 'p = strdup (s);' 't.drop = free;' 'each(list, free);'; do
    add common/nn/net.c "$call"
    refused heap "common/nn/net.c:$line" "'$call'"
done
for call in 'mem_free(p);' 'pool->free(p);' '/* free(p) */' 'say("malloc(4)");'; do
    add common/nn/net.c "$call"
    accepted heap common/nn/net.c "'$call'"
done
for call in 'exit(1);' '_exit(0);' 'abort();' 'assert(x > 0);'; do
    add server/train/round.c "$call"
    refused exit "server/train/round.c:$line" "'$call'"
done
for call in 'fork();' 'vfork();' 'popen("ls", "r");' 'system("ls");' 'posix_spawn(&pid, p, 0, 0, v, e);' \
    'uv_spawn(loop, &child, &how);'; do
    add server/train/round.c "$call"
    refused fork "server/train/round.c:$line" "'$call'"
done
add server/train/round.c 'options_fork(o); s->fork = 1;'
accepted fork server/train/round.c 'a name with fork in it'
for call in 'fd = open(path, O_RDONLY);' 'f = fopen(path, "r");' 'SSL_CTX_load_verify_locations(c, ca, 0);'; do
    add server/train/round.c "$call"
    refused open "server/train/round.c:$line" "'$call'"
done
add server/train/round.c 'file_open(&fd, path, err); s->open(s); journal_open(j);'
accepted open server/train/round.c 'a name with open in it'
add server/main.c 'exit(1); sm_abort(s);'
accepted exit server/main.c 'exit in a main file'
add tests/unit/nn/test_act.c 'usleep(100);'
refused sleep "tests/unit/nn/test_act.c:$line" 'a unit test that sleeps'
nap=sleep # or this file would be refused itself
add tests/e2e/test_pki.sh "while true; do $nap 1; done"
refused sleep "tests/e2e/test_pki.sh:$line" 'a script that sleeps'
add tests/golden/gen_nn.py "time.$nap(1)"
refused sleep "tests/golden/gen_nn.py:$line" 'a generator that sleeps'
add tests/e2e/test_pki.sh '# no sleep here'
accepted sleep tests/e2e/test_pki.sh 'a comment on sleep'

# --- form ---
new common/base/bare.h 'int x;'
refused spdx common/base/bare.h:1 'a source without licence'
new deploy/bare "$(printf '#!/bin/sh\necho\n')"
refused spdx deploy/bare:1 'a script without licence'
new common/base/bare.h "$(printf '/* x -- y.\n * z.  SPDX-License-Identifier: Apache-2.0 */\n')"
refused spdx common/base/bare.h:2 'an SPDX line within a sentence'
new common/base/bare.h "$({ lines 20 '' && echo '/* SPDX-License-Identifier: Apache-2.0 */'; })"
refused spdx common/base/bare.h:1 'a licence in line 21'

new common/base/long.h "$(lines 601 '/* - */')"
refused file_length common/base/long.h:601 'a file of 601 lines'
new common/base/long.h "$(lines 600 '/* - */')"
accepted file_length common/base/long.h 'one of 600'
add common/base/buf.h "$(printf '/* %096d*/\n' 0)"
refused line_length "common/base/buf.h:$line" 'a line of 101 columns'
add common/base/buf.h "$(printf '/* %095d*/\n' 0)"
accepted line_length common/base/buf.h 'one of 100'
add tests/e2e/test_pki.sh "$(printf '# %0119d' 0)"
refused line_length "tests/e2e/test_pki.sh:$line" 'a line of 121 columns in a script'
add tests/e2e/test_pki.sh "$(printf '# %0118d' 0)"
accepted line_length tests/e2e/test_pki.sh 'one of 120'
add common/base/buf.c "$(printf '\tint x;\n')"
refused line_length "common/base/buf.c:$line" 'a tab'
add common/base/buf.c 'int x; '
refused line_length "common/base/buf.c:$line" 'a blank at the end of a line'

function() { # LINES PARAMETERS
    printf 'static int\nf(%s)\n{\n' "$2"
    lines $(($1 - 4)) '    x++;'
    printf '}\n'
}
add common/base/buf.c "$(function 71 void)"
refused function_length "common/base/buf.c:$line" 'a function of 71 lines'
add common/base/buf.c "$(function 70 void)"
accepted function_length common/base/buf.c 'one of 70'
six='int a, int (*b)(int, int), int c, int d, int e, int f'
add common/base/buf.c "$(function 5 "$six, int g")"
refused parameters "common/base/buf.c:$line" 'a seventh parameter'
add common/base/buf.c "$(function 5 "$six")"
accepted parameters common/base/buf.c 'a sixth'
add common/nn/gemm.c "$(function 5 "$six, int g, int h, int i, int j, int k")"
refused parameters "common/nn/gemm.c:$line" "a kernel's eleventh parameter"
add common/nn/gemm.c "$(function 5 "$six, int g, int h, int i, int j")"
accepted parameters common/nn/gemm.c 'a tenth'

new common/base/bare.h 'int x;'
refused guards common/base/bare.h:1 'a header without a guard'
new common/base/bare.h "$(printf '\n#ifndef BARE_H\n#define BARE_H\n#endif\n')"
refused guards common/base/bare.h:2 'a guard of another name'
new common/base/bare.h \
    "$(printf '#ifndef COLONNADE_BASE_BARE_H\n#define COLONNADE_BASE_BARE_H\n#endif\nint x;\n')"
refused guards common/base/bare.h:1 'a guard that ends too early'
new server/buf.h "$(printf '#ifndef COLONNADE_BASE_BUF_H\n#define COLONNADE_BASE_BUF_H\n#endif\n')"
refused guards server/buf.h:1 'the guard of another header'

# --- words ---
for name in common/base/util.c tests/lib/net_helper.sh proto/types.proto docs/misc.md; do
    new $name ''
    refused file_names $name:1 "the name $name"
done
new common/base/utility.c ''
accepted file_names common/base/utility.c 'a word that only begins so'
# In two pieces each, or this file would be refused itself.
for word in 'Cl' 'aude' 'anthro' 'pic' 'sub-ag' 'ent' 'an ai ag' 'ent' '/wo' 'rk/main/x' \
    '../sh' 'ared' '/tmp/br' 'ief' 'https://py' 'pi.org/' 'crates' '.io' 'registry.npm' 'js.org' \
    'proxy.go' 'lang.org' 'deb.deb' 'ian.org'; do
    if [ -z "${half:-}" ]; then
        half=$word
        continue
    fi
    add docs/configuration.md "as in $half$word"
    refused words "docs/configuration.md:$line" "'$half$word'"
    half=''
done
add docs/configuration.md 'the agent of ../share/colonnade in network/main/x'
accepted words docs/configuration.md 'a word that only looks like one'
for word in TO DO FIX ME X XX; do
    if [ -z "${half:-}" ]; then
        half=$word
        continue
    fi
    add common/base/buf.c "/* $half$word: later */"
    refused unfinished "common/base/buf.c:$line" "'$half$word'"
    half=''
done
add tests/e2e/test_pki.sh 'mktemp -d x.XXXXXX'
accepted unfinished tests/e2e/test_pki.sh 'a template of mktemp'

# --- what belongs together ---
new docs/page.md 'see [this](nowhere.md)'
refused links docs/page.md:1 'a link to no file'
new docs/page.md 'see [this](configuration.md#no-such-heading)'
refused links docs/page.md:1 'a link to no heading'
new docs/page.md '# A heading, and `more`'
add docs/page.md '[a](#a-heading-and-more) [b](../Makefile) [c](adr) [d](https://x.y)'
accepted links docs/page.md 'a link that leads somewhere'
new docs/page.md "$(printf '```\n[a](nowhere)\n```\n`[b](nowhere)`\n')"
accepted links docs/page.md 'what is quoted'

new docs/experiments/more/grid.yaml 'name: more'
refused grids docs/experiments/more/grid.yaml:1 'a grid without a table of its evaluations'
new docs/experiments/more/grid.yaml 'name: more'
new docs/experiments/more/results.csv.gz 'packed'
accepted grids docs/experiments/more/grid.yaml 'a grid with one'
new docs/experiments/bytes/choose.yaml 'name: bytes-choose'
refused grids docs/experiments/bytes/choose.yaml:1 'a second grid without a table of its own'
new docs/experiments/demo/results.csv.gz 'packed'
refused grids docs/experiments/demo/grid.yaml:1 'a grid that has its table and is excused all the same'
add docs/security.md '| a rule | `buf_append`, `buf_nothing` (common/base/buf.c) | |'
refused named "docs/security.md:$line" 'a rule of a function that is gone'
add docs/security.md '| a rule | `buf_append` (common/base/nothing.c) | |'
refused named "docs/security.md:$line" 'and of a file that is'
add docs/security.md '| a rule | `buf_init`, `buf_append` (common/base/buf.c), `mem_alloc` (common/base/mem.c) | |'
accepted named docs/security.md 'functions that are there'
add docs/hostile.md '| 1 | x | y | `test_nobody_deviated` (tests/sim/test_align_hostile.c) |'
refused named "docs/hostile.md:$line" 'a hostile case of a test that is gone'
add docs/hostile.md '| 1 | x | y | `test_nobody_deviates` (tests/sim/test_align_hostile.c) |'
refused hostile "docs/hostile.md:$line" 'one that is counted twice'
add docs/hostile.md '| 1 | x | y | `test_nobody_deviates` (tests/sim/test_align_hostile.c) |'
refused hostile docs/hostile.md:1 'a number of them that is another one'
add docs/hostile.md '| 999 | x | y | nobody |'
refused hostile "docs/hostile.md:$line" 'one that no test plays'
add docs/hostile.md \
    '| 999 | x | y | `test_whoever_deviates_is_found_or_spoils_what_is_said` (tests/sim/test_align_hostile.c) |'
refused hostile "docs/hostile.md:$line" 'one that the table of lies has not'
new tests/sim/test_align_hostile.c "$(sed 's/{"a point put in"/{"a point thrown in"/' \
    "$root/tests/sim/test_align_hostile.c")"
refused hostile docs/hostile.md:1 'a lie that the page does not show'
new common/base/fresh.c 'int x;'
refused tests common/base/fresh.c:1 'a source without tests'
new common/base/fresh.c 'int x;'
new tests/unit/base/test_fresh.c 'int x;'
accepted tests common/base/fresh.c 'one with tests'
mutant() { # TEST FILE TEXT
    new tests/mutants/planted.mutant "$(printf '# a rule\ncaught by: %s\nin: %s\n<<<<\n%s\n====\n\n>>>>' "$@")"
}
new common/base/fresh.c "$(printf 'int once;\nint twice;\nint twice;')"
mutant tests/unit/base/test_mem common/base/fresh.c 'int once;'
accepted mutants tests/mutants/planted.mutant 'a bug in a text that stands once'
new common/base/fresh.c "$(printf 'int once;\nint twice;\nint twice;')"
mutant tests/unit/base/test_mem common/base/fresh.c 'int twice;'
refused mutants tests/mutants/planted.mutant:4 'one in a text that stands twice'
mutant tests/unit/base/test_mem common/base/mem.c 'int gone;'
refused mutants tests/mutants/planted.mutant:4 'one in a text that is gone'
mutant tests/unit/base/test_mem common/base/gone.c 'int once;'
refused mutants tests/mutants/planted.mutant:4 'one in a file that is gone'
mutant tests/unit/base/test_gone common/base/mem.c '#include "common/base/mem.h"'
refused mutants tests/mutants/planted.mutant:1 'one whose test is gone'
new tests/mutants/planted.mutant 'caught by: tests/unit/base/test_mem'
refused mutants tests/mutants/planted.mutant:1 'one that changes nothing'
told=$(grep -n '^There are' tests/mutants/README.md)
mutant tests/unit/base/test_mem common/base/mem.c '#include "common/base/mem.h"'
refused mutants "tests/mutants/README.md:${told%%:*}" 'one more than the page says'
new tests/mutants/README.md '# Planted bugs'
refused mutants tests/mutants/README.md:1 'a page that does not say how many'
new server/train/planted.c 'int planted(void);'
refused arrows tests/check/order.txt:1 'a file of the server that has no place'
for of in learner purse deal keep round sent; do add party/train/$of.h '#include "party/session.h"'; done
refused arrows tests/check/order.txt:1 'one more use of what stands further out than there may be'
wide() { # N: the round that is open at the server, which ten files read, has N fields more
    new server/train/train.h "$(sed "s/^struct server_round {/&$(seq -f '\n    int more%g;' -s '' "$1")/" \
        "$root/server/train/train.h")"
    line=$(grep -n '^struct server_round {' server/train/train.h)
}
wide 11
refused crowded "server/train/train.h:${line%%:*}" 'a struct of sixteen fields that many files touch'
wide 10
accepted crowded server/train/train.h 'one of fifteen'
new server/train/lone.h "$(printf 'struct lone {\n%s\n};' "$(seq -f '    int of%g;' 20)")"
accepted crowded server/train/lone.h 'one of twenty that nobody else touches'
line=$(grep -n '^struct server_trainer {' server/train/trainer.h)
above=${line%%:*}
add server/train/watch.c "$(printf 'static void f(struct server_trainer *t)\n{\n    t->steps_done = 1;\n}')"
refused writers "server/train/trainer.h:$above" 'a file that writes to a struct and is not named by it'
add server/train/watch.c "$(printf 'static bool f(struct server_trainer *t)\n{\n    return t->steps_done == 1;\n}')"
accepted writers server/train/trainer.h 'one that reads it'
new server/train/work.h "$(sed 's/ stream[.]c,//' "$root/server/train/work.h")"
line=$(grep -n '^struct server_worked {' server/train/work.h)
refused writers "server/train/work.h:${line%%:*}" 'one that is not named any more'
check=$tree/tests/check/check_source.py
add tests/check/house.py "TESTED_BY['common/base/gone.c'] = 'x'"
refused tests "tests/check/house.py:$line" 'an exception for what is gone'
add tests/check/house.py "PARAMETERS_OF['gone'] = 7"
refused parameters "tests/check/house.py:$line" 'an exception that nothing needs'

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
