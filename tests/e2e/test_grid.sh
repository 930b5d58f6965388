#!/bin/sh
# test_grid.sh -- what a grid file says: its runs, their commands and ids, and every mistake as one line file:line.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=../lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

grid=$VFL_BIN/vfl-grid

# The runs of the grid on standard input, which becomes g.yaml: one line of arguments each.
runs() {
    cat >g.yaml
    "$grid" runs g.yaml | sed 1d | cut -f 3- | tr '\t' ' ' | sed 's/--set //g'
}

# The arguments of the one run of a grid.
arguments() { # OPTION... GRID
    "$grid" runs "$@" | sed 1d | cut -f 3- | tr '\t' ' '
}

# Lines in one.
flat() {
    paste -sd' '
}

ids() { # OPTION...
    "$grid" runs "$@" g.yaml | sed 1d | cut -f 1
}

# --- the product ---

same "protocol.pbm.beta=0.1 protocol.pbm.trials=16 --seed 1
protocol.pbm.beta=0.1 protocol.pbm.trials=16 --seed 2
protocol.pbm.beta=0.25 protocol.pbm.trials=16 --seed 1
protocol.pbm.beta=0.25 protocol.pbm.trials=16 --seed 2
protocol.pbm.beta=0.1 protocol.pbm.trials=64 --seed 1
protocol.pbm.beta=0.1 protocol.pbm.trials=64 --seed 2
protocol.pbm.beta=0.25 protocol.pbm.trials=64 --seed 1
protocol.pbm.beta=0.25 protocol.pbm.trials=64 --seed 2" "$(runs <<'END'
name: x
seeds: 2
grid: {protocol.pbm.trials: [16, 64], protocol.pbm.beta: [0.1, 0.25]}
END
)" 'axes are crossed with each other and with seeds, the last one fastest'
same '--seed 7 --seed 9999999999999999999 --seed 3' \
    "$(printf 'name: x\nseeds: [7, 9999999999999999999, 3]\n' | runs | flat)" 'seeds may be named'
same 'trials-16_beta-0.1_s1' "$(runs >all <<'END'
name: x
grid: {protocol.pbm.trials: [16], protocol.pbm.beta: [0.1]}
END
ids | sed 's/\.[0-9a-f]\{8\}$//')" 'an id says what was picked'
same 'model.head=[8,8] model.head=[] model.head=[4]' \
    "$(printf 'name: x\ngrid: {model.head: [[8, 8], [], [4]]}\n' | runs | sed 's/ --seed 1//' | flat)" \
    'values may be lists'

same '--party *:data.shape=[1,4,4] --party *:model.layers=[{conv2d: {out: 2, kernel: 3}},relu,{maxpool: 2}] --seed 1' \
    "$(runs <<'END'
name: x
party:
  "*": {data.shape: [1, 4, 4], model.layers: [{conv2d: {out: 2, kernel: 3}}, relu, {maxpool: 2}]}
END
)" \
    'layers are lists with words that take more'
printf 'name: x\nparty: {"*": {model.layers: [{conv2d: {out: 2, kernel: 0}}]}}\n' >bad.yaml
expect 2 'a layer whose kernel is a whole number' 'and are checked' \
    "$grid" list bad.yaml

# --- bundles, parties, links, cluster ---

same "--columns 1-2,3 training.epochs=3 --party *:model.layers=[8] --party 2:data.scale=none --seed 1" "$(runs <<'END'
name: x
cluster: {columns: "1-2,3"}
set: {training: {epochs: 3}}
party: {2: {data: {scale: none}}, "*": {model.layers: [8]}}
END
)" 'sections set what they say, nested or not'
same "protocol.encoding=float32 --seed 1
inject.link.delay_ms=5 protocol.encoding=pbm --party *:inject.link.delay_ms=5 --party *:model.layers=[] --seed 1" \
    "$(runs <<'END'
name: x
grid:
  arm:
    none: {protocol.encoding: float32}
    mechanism: {set: {protocol: {encoding: pbm}}, link: {delay_ms: 5}, "*:model.layers": []}
END
)" 'a named axis holds bundles of settings, and a link is both ways'
same "delay_ms=1 rate_mbit=10 --party *:delay_ms=1 --party *:rate_mbit=10
delay_ms=50 rate_mbit=10 --party *:delay_ms=50 --party *:rate_mbit=10" \
    "$(runs <<'END' | sed 's/ --seed 1//; s/inject\.link\.//g'
name: x
link: {delay_ms: 9, rate_mbit: 10}
grid: {link.delay_ms: [1, 50]}
END
)" 'an axis of a link replaces what all have'
same "--parties 2 --party 1:inject.delay=0.1 --seed 1
--parties 2 --party 1:inject.delay=exp:2 --seed 1
--parties 3 --party 1:inject.delay=0.1 --seed 1
--parties 3 --party 1:inject.delay=exp:2 --seed 1" "$(runs <<'END'
name: x
grid: {cluster.parties: [2, 3], "1:inject.delay": [0.1, "exp:2"]}
END
)" 'axes of the cluster and of a party'

# --- cases and rules ---

same "protocol.encoding=float32 --seed 1
protocol.encoding=float32 --seed 2
protocol.pbm.trials=4 training.epochs=9 --seed 1
protocol.pbm.trials=8 training.epochs=9 --seed 1" "$(runs <<'END'
name: x
seeds: 2
cases:
  none: {set: {protocol.encoding: float32}}
  pbm: {seeds: 1, set: {training.epochs: 9}, grid: {protocol.pbm.trials: [4, 8]}}
END
)" 'cases are joined, not crossed'
same 'none_s1 none_s2 pbm_trials-4_s1 pbm_trials-8_s1' "$(ids | sed 's/\.[0-9a-f]\{8\}$//' | flat)" \
    'and named in the ids'
same "protocol.local_iterations=1 training.learning_rate=0.1
protocol.local_iterations=5 training.learning_rate=0.1
protocol.local_iterations=5 training.learning_rate=0.3" "$(runs <<'END' | sed 's/ --seed 1//'
name: x
grid: {protocol.local_iterations: [1, 5, 25], training.learning_rate: [0.1, 0.3]}
skip: [{protocol.local_iterations: 1, training.learning_rate: 0.3}, {protocol.local_iterations: [25]}]
END
)" 'skip leaves out what matches a whole rule'
same "protocol.local_iterations=1 --seed 1
protocol.local_iterations=1 --seed 2
protocol.local_iterations=5 --seed 2" "$(runs <<'END'
name: x
seeds: 2
grid: {protocol.local_iterations: [1, 5]}
only: [{protocol.local_iterations: 1}, {seed: 2}]
END
)" 'only leaves what matches some rule'
same "--seed 1
protocol.pbm.trials=8 --seed 1" "$(runs <<'END'
name: x
cases: {none: , pbm: {grid: {protocol.pbm.trials: [4, 8]}}}
only: [{protocol.pbm.trials: 8}]
END
)" 'a rule about an axis says nothing about cases without it'
same 2 "$(runs <<'END' | wc -l
name: x
seeds: 2
cases: {a: , b: {set: {training.epochs: 2}}}
skip: [{case: a}]
END
)" 'cases can be named in rules'

# --- ids are settings ---

printf 'name: x\nset: {training.epochs: 3, training.batch: 50}\nparty: {"*": {data.scale: none}}\n' >g.yaml
first=$(ids)
printf 'name: y\nlabels: {of: mine}\nparty: {"*": {data: {scale: none}}}\n' >g.yaml
printf 'set: {training: {batch: 50, epochs: 3}}\n' >>g.yaml
same "$first" "$(ids)" 'the same settings in another order have the same id'
printf 'name: x\nset: {training.epochs: 4, training.batch: 50}\nparty: {"*": {data.scale: none}}\n' >g.yaml
differ "$first" "$(ids)" 'another value, another id'
printf 'name: x\nset: {training.epochs: 3, training.batch: 50}\nparty: {"1": {data.scale: none}}\n' >g.yaml
differ "$first" "$(ids)" 'another party, another id'
mkdir -p data/a other
printf 'id,x,label\n1,2,0\n' >data/a/set.csv
printf 'name: x\ncluster: {train: a/set.csv}\n' >g.yaml
mkdir -p keyed
first=$(ids --data data --out keyed --begin)
same "--train $dir/data/a/set.csv --seed 1" "$(arguments --data data g.yaml)" \
    '--data says where files are'
mkdir other/a && cp data/a/set.csv other/a
same "$first" "$(ids --data other --out keyed)" 'the same file elsewhere is the same set'
unkeyed=$(ids --data data)
differ "$first" "$(mkdir -p fresh && ids --data data --out fresh --begin)" \
    'in another folder it is another id: nobody else can tell from an id what is in a file'
same 600 "$(stat -c %a keyed/id.key)" 'the key is for its owner alone'
printf 'id,x,label\n1,3,0\n' >data/a/set.csv
differ "$first" "$(ids --data data --out keyed)" 'another content is another set'
same "$unkeyed" "$(ids --data data)" 'without a key nothing of a file is in an id'
gzip -n data/a/set.csv
same "--train $dir/data/a/set.csv.gz --seed 1" "$(arguments --data data g.yaml)" \
    'a file may be there as .gz'
printf 'name: x\ncluster: {idx_train: [i, l], netns: true, strict_policy: false,\n' >data/g.yaml
printf '  netns_link: "rate=1mbit 2:loss=1%%"}\n' >>data/g.yaml
: >data/i && : >data/l
same "--idx-train $dir/data/i,$dir/data/l --netns --link rate=1mbit --link 2:loss=1% --seed 1" \
    "$(arguments data/g.yaml)" 'pairs, flags, links; files beside the grid'

# --- what is printed for people and scripts ---

printf 'name: x\njobs: 3\nparty: {"*": {model.layers: []}}\n' >g.yaml
printf 'cases: {a: {cluster: {parties: 6}}, b: {cluster: {columns: "grid:2x4"}}}\n' >>g.yaml
same 'out 3 8' "$("$grid" runs --out out g.yaml | sed -n '1s/\t/ /gp')" 'folder, jobs and the most parties'
same 'runs/x 3 6' "$("$grid" runs --only a_s1 g.yaml | sed -n '1s/\t/ /gp')" 'of the runs that are asked for'
expect 2 'no run has' 'a word in no id' "$grid" runs --only pear g.yaml
expect 0 "party '\\*:model.layers=\\[\\]'" 'commands are quoted for a shell' "$grid" list g.yaml
expect 0 '^2 runs, 0 of them done, in runs/x$' 'and counted' "$grid" list g.yaml
expect 2 usage 'a wrong mode' "$grid" peel g.yaml
expect 2 'none.yaml' 'no file' "$grid" list none.yaml
# The example of docs/operating.md, as it stands there.
: >data/phishing.csv
sed -n '/^    name: strength/,/^$/s/^    //p' "$root/docs/operating.md" >example.yaml
expect 0 '^24 runs' 'the example of the manual' "$grid" list --data data example.yaml
expect 0 '^15 runs' 'the grid that comes with the project' "$grid" list "$root/docs/experiments/demo/grid.yaml"

# --- mistakes ---

mistake() { # GRID LINE WORDS WHAT: the grid, as printf takes it, is refused with these words about this line
    # shellcheck disable=SC2059 # it is a format
    printf -- "$1" >m.yaml
    expect 2 "^m.yaml:$2: $3" "$4" "$grid" list m.yaml
    same 1 "$(wc -l <said)" '  in one line'
}

mistake 'set: {}\n' 1 'name: is required' 'no name'
mistake 'name: a b\n' 1 'name: takes a name' 'a name with a blank'
mistake 'name: x\ncake: yes\n' 2 'cake: unknown; a grid has' 'an unknown section'
mistake 'name: x\nname: y\n' 2 'name: repeated, first on line 1' 'a name twice'
mistake 'name: x\n  y: [\n' '[0-9]*' '' 'no YAML'
mistake '- name\n' 1 'not a list of' 'no map'
mistake 'name: x # y\rseeds: 2\n' 1 'a control character' 'a key behind a comment'
mistake 'name: &a x\n' 1 'name: anchors' 'an anchor'
mistake 'name: !t x\n' 1 'name: tags' 'a tag'
mistake 'name: x\nset: {training.epochs: "a\\nb"}\n' 2 'set.training.epochs: a text of several lines' \
    'a text of two lines'
mistake 'name: x\nset:\n  training.epoch: 3\n' 3 'training.epoch: unknown key' 'an unknown key'
mistake 'name: x\nset:\n  training: {epochs: 3,\n    epoch: 3}\n' 4 'training.epoch: unknown key' 'a nested one'
mistake 'name: x\nset: {protocol: 3}\n' 2 'protocol: is a section' 'a section as a key'
mistake 'name: x\nset: {protocol.pbm.beta: 0.5}\n' 2 'protocol.pbm.beta: 0.5 is not' 'a value out of range'
mistake 'name: x\nset: {protocol.encoding: pmb}\n' 2 'protocol.encoding: pmb is not' 'no choice'
mistake 'name: x\nset: {training.epochs: }\n' 2 'training.epochs: takes a value' 'no value'
mistake 'name: x\nset: {listen: "a:1"}\n' 2 'listen: is written by vfl cluster' 'a key of the cluster'
mistake 'name: x\nset: {training.epochs: 3, training: {epochs: 4}}\n' 2 'training.epochs: set twice' 'a key twice'
mistake 'name: x\nparty: {0: {data.scale: none}}\n' 2 "0: a party's number" 'no party'
mistake 'name: x\nparty: {1: {data.train: x}}\n' 2 'data.train: is written' "a party's key of the cluster"
mistake 'name: x\nlink: {delay: 3}\n' 2 'delay: unknown; a link has' 'an unknown key of a link'
mistake 'name: x\ncluster: {dat: x}\n' 2 'dat: unknown here' 'an unknown option'
mistake 'name: x\ncluster: {parties: 0}\n' 2 'parties: takes a whole number' 'no parties'
mistake 'name: x\ncluster: {idx_train: a}\n' 2 'idx_train: takes two files' 'a file where two belong'
mistake 'name: x\ncluster:\n  train: none.csv\n' 3 'train: no file .*none.csv' 'a file that is not there'
mistake 'name: x\nseeds: 0\n' 2 'seeds: from 1 to' 'no seeds'
mistake 'name: x\nseeds: [1, 2, 1]\n' 2 'seeds: 1 is there twice' 'a seed twice'
mistake 'name: x\njobs: many\n' 2 'jobs: takes a whole number' 'jobs without number'
mistake 'name: x\ngrid:\n  protocol.pbm.trials: []\n' 3 '.*an axis without values' 'an empty axis'
mistake 'name: x\ngrid:\n  protocol.pbm.trials: [1, 2,\n    1]\n' 4 '.*1 is there twice' 'a value twice'
mistake 'name: x\ngrid:\n  arm: [1, 2]\n' 3 'arm: is no key' 'an axis that is no key'
mistake 'name: x\ngrid:\n  arm: {a: {cake: 3}}\n' 3 'cake: neither' 'a bundle of something else'
mistake 'name: x\ngrid:\n  status: {a: }\n' 3 'status: the tables have' 'the name of a column'
mistake 'name: x\nlabels: {seed: 3}\n' 2 'seed: the tables have' 'a label with the name of a column'
mistake 'name: x\ngrid:\n  protocol.bits: [2]\n  arm:\n    a: {protocol.bits: 3}\n' \
    5 'protocol.bits: the axis protocol.bits sets it too' 'two axes that set one key'
mistake 'name: x\ngrid: {protocol.bits: [2]}\ncases:\n  a: {grid: {protocol.bits: [3]}}\n' \
    4 'protocol.bits: an axis already' 'an axis of all and of a case'
mistake 'name: x\ngrid: {protocol.bits: [2]}\nskip: [{protocol.bit: 2}]\n' \
    3 'protocol.bit: is no axis' 'a rule about no axis'
mistake 'name: x\ngrid: {protocol.bits: [2]}\nskip:\n  - {protocol.bits: 3}\n' \
    4 'protocol.bits: never is 3' 'a rule about no value'
mistake 'name: x\nskip: {a: b}\n' 2 'skip: takes a list' 'rules that are no list'
mistake 'name: x\ncases: {a: {cake: 3}}\n' 2 'cake: unknown; a case has' 'an unknown part of a case'
mistake 'name: x\ncases: {}\n' 2 'cases: takes names' 'no cases'
cat >m.yaml <<'END'
name: x
grid: {protocol.bits: [2]}
skip: [{protocol.bits: 2}]
END
expect 2 'leave no run' 'rules that leave nothing' "$grid" list m.yaml
expect 2 'no such folder' 'a folder that is not there' "$grid" list --data nowhere g.yaml
closing
