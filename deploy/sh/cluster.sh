# shellcheck shell=sh
# cluster.sh -- server and parties on this machine, from one command to one summary.json.
#
# For trials and measurements: here one hand holds all columns, all keys and the CA.  What a run is, stands in
# DIR/plan.txt; the same command finds its DIR again by it.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2030,SC2031,SC2034,SC2154 # a && b || fail is meant; variables are shared with ../vfl

cluster_usage() {
    cat <<'USAGE'
usage: vfl cluster [--data NAME | --train F [--test F] | --idx-train IMAGES,LABELS [--idx-test IMAGES,LABELS]
                    | --npy-train X.npy,LABELS.csv [--npy-test X.npy,LABELS.csv]
                    | --cifar-train BATCH[,BATCH...] [--cifar-test BATCH[,BATCH...]]]
                   [--label COLUMN[+COLUMN...]] [--id COLUMN] [--group COLUMN] [--time COLUMN] [--positive VALUE]
                   [--test-share S] [--test-by id|group|time] [--schema FILE]
                   [--delimiter C] [--parties M] [--columns SPEC] [--label-map NAME]
                   [--set key.path=value]... [--party WHO:key.path=value]... [--seed N]
                   [--netns [--link [WHO:]KEY=VALUE,...]...] [--strict-policy] [--transcript]
                   [--scores FILE] [--out DIR] [--quiet]

  --data NAME       a set that comes with the project: breast_cancer (default), digits
  --train, --test   CSV, plain, .gz or .zst: a header, first column id, last column label, unless the next two say
                    otherwise; without --test a row is tested when the first byte of SHA-256 of its id (of its
                    number from 0, where there is no id), mod 5, is 0.  Text, dates and missing cells are
                    prepared by each party for itself
  --npy-train, --npy-test
                    an array as numpy.save writes it, rows first, and a table of labels in the same order: of
                    three dimensions series (rows, steps, channels), of four images (rows, channels, height, width)
  --cifar-train, --cifar-test
                    binary batches of CIFAR-10 or CIFAR-100, which have their labels (--label coarse: of the latter
                    the coarse ones); an image in colour goes to M parties in upright strips, unless --columns says
                    otherwise
  --label COLUMN    the column that is the label, numbers or text; a+b+c: several, of 0, 1 or nothing (multilabel)
  --id COLUMN       the column that is the id; with --label and without it the column id, or else a row's id is
                    made of its number and its file's digest
  --group COLUMN    the column that says whose a row is (data.group, labels.group), which every side gets
  --time COLUMN     the column that says when a row was (data.time, labels.time), likewise
  --test-share S    without --test: this share of the rows is tested, by a hash of their ids; or 0.2, when one says:
  --test-by group   ... by a hash of what stands in --group, so that no person is on both sides
  --test-by time    ... those with the latest times in --time
  --schema FILE     of the whole table, as vfl prepare writes it and a person has changed it: each party gets its part
  --positive VALUE  the label that is class 1, all others being class 0
  --delimiter C     of CSV: one of ,;| or another sign, or tab; otherwise the most frequent one in the header
  --columns SPEC    age+job,hours-country,7-9: names or numbers of columns ('+' joins, ',' separates parties; a name
                    with one of + , - may stand in "quotes"), or grid:RxC for images, or channels:0-2,3-5 for
                    series and images, from 0; otherwise contiguous runs, the first F mod M parties getting one more.
                    Parties whose columns have sides get data.shape
  --label-map NAME  evenodd, or binary:K (1 where the label is K)
  --set             a key of the server's file (the plan is there); data.validate, data.validate_by are every side's
  --party WHO:...   a key of the files of some parties: I, I-J, I,J-K, or '*' for all
  --seed N          reproducible, not private: --insecure-seed N for every daemon, and training.seed
  --netns           as root: every daemon in a network namespace of its own, at an address of its own
  --link            with --netns, both ways of every party's link, or of WHO's (I or server):
                    rate=10mbit,delay=20ms,jitter=2ms,loss=1%
  --strict-policy   parties keep their default policy instead of one that admits the plan
  --transcript      what the server sees and says, to DIR/server/transcript.jsonl: for audits
  --scores FILE     the test rows' scores at the end: id,label,score_0,...
  --out DIR         default: a new folder under ./runs; a DIR with the same plan is continued, another refused.  A
                    complete run with training.epochs raised, and nothing else changed, is trained on: so many epochs
                    more, from its model (training.from)
USAGE
}

# --- the plan ---

cluster_read_options() {
    netns=no links=no transcript=no scores=''
    data='' train='' test='' idx_train='' idx_test='' npy_train='' npy_test='' cifar_train='' cifar_test=''
    parties='' columns='' label_map='' seed='' strict=no out=''
    label='' id='' group='' time='' positive='' delimiter='' test_share='' test_by='' schema=''
    # In a folder of its own: beside a temporary file, others may put links with names that can be guessed.
    scratch=$(mktemp -d) || fail 6 "no temporary folder"
    trap 'netns_down; rm -rf "$scratch"' EXIT
    sets=$scratch/sets
    : >"$sets"
    while [ $# -gt 0 ]; do
        case $1 in
        --quiet) quiet=yes && shift && continue ;;
        --strict-policy) strict=yes && shift && continue ;;
        --netns) netns=yes && shift && continue ;;
        --transcript) transcript=yes && shift && continue ;;
        -h | --help) cluster_usage && exit 0 ;;
        esac
        [ $# -ge 2 ] || fail 2 "$1: unknown, or its value is missing (vfl cluster --help)"
        case $2 in *'
'*) fail 2 "$1: a value of several lines" ;; esac
        case $1 in
        --data) data=$2 ;;
        --train) train=$2 ;;
        --test) test=$2 ;;
        --idx-train) idx_train=$2 ;;
        --idx-test) idx_test=$2 ;;
        --npy-train) npy_train=$2 ;;
        --npy-test) npy_test=$2 ;;
        --cifar-train) cifar_train=$2 ;;
        --cifar-test) cifar_test=$2 ;;
        --label) label=$2 ;;
        --id) id=$2 ;;
        --group) group=$2 ;;
        --time) time=$2 ;;
        --test-share) test_share=$2 ;;
        --test-by) test_by=$2 ;;
        --schema) schema=$2 ;;
        --positive) positive=$2 ;;
        --delimiter) delimiter=$2 ;;
        --parties) number --parties "$2" 1 256 && parties=$2 ;;
        --columns) columns=$2 ;;
        --label-map) label_map=$2 ;;
        --seed)
            case $2 in '' | *[!0-9]* | ????????????????????*) fail 2 "--seed $2: a whole number expected" ;; esac
            seed=$2
            ;;
        --out) out=$2 ;;
        --scores)
            case $2 in /*) scores=$2 ;; *) scores=$PWD/$2 ;; esac
            ;;
        --set)
            case $2 in ?*=*) ;; *) fail 2 "--set $2: key.path=value expected" ;; esac
            printf 'set %s\n' "$2" >>"$sets"
            ;;
        --party)
            case $2 in ?*:?*=*) ;; *) fail 2 "--party $2: WHO:key.path=value expected" ;; esac
            cluster_who "${2%%:*}" || fail 2 "--party $2: WHO:key.path=value expected, WHO being I, I-J, I,J-K or *"
            printf 'party %s\n' "$2" >>"$sets"
            ;;
        --link)
            netns_link "$2"
            links=yes
            ;;
        *) fail 2 "unknown option $1 (vfl cluster --help)" ;;
        esac
        shift 2
    done
    [ "$netns" = yes ] || [ "$links" = no ] ||
        fail 2 "--link needs --netns; on loopback, inject.link shapes in the daemons"
}

# The parties that WHO names, as ranges in cluster_ranges: "2 2 5 7" of 2,5-7; '*' is 1 to 256.  The last one that it
# names by a number in cluster_most.  Fails when it names none, or what is none.
cluster_who() { # WHO
    cluster_ranges='' cluster_most=0 cluster_rest=$1,
    while [ -n "$cluster_rest" ]; do
        cluster_part=${cluster_rest%%,*} cluster_rest=${cluster_rest#*,}
        if [ "$cluster_part" = '*' ]; then
            cluster_ranges="$cluster_ranges 1 256"
            continue
        fi
        cluster_from=${cluster_part%%-*} cluster_to=${cluster_part#*-}
        for cluster_bound in "$cluster_from" "$cluster_to"; do
            case $cluster_bound in '' | 0* | *[!0-9]* | ????*) return 1 ;; esac
        done
        [ "$cluster_from" -le "$cluster_to" ] && [ "$cluster_to" -le 256 ] || return 1
        cluster_ranges="$cluster_ranges $cluster_from $cluster_to"
        [ "$cluster_to" -le "$cluster_most" ] || cluster_most=$cluster_to
    done
}

# Is party I one of them?
cluster_is_among() { # I WHO
    cluster_one=$1
    cluster_who "$2" || return 1
    # shellcheck disable=SC2086 # words
    set -- $cluster_ranges
    while [ $# -gt 0 ]; do
        [ "$cluster_one" -lt "$1" ] || [ "$cluster_one" -gt "$2" ] || return 0
        shift 2
    done
    return 1
}

# The folder: new, or one whose plan is this one.
cluster_open_folder() {
    fresh=no
    if [ -z "$out" ]; then
        fresh=yes
        mkdir -p runs || fail 6 "./runs cannot be made"
        out=$(mktemp -d "runs/$(date +%Y%m%d-%H%M%S)-XXXX") || fail 6 "./runs cannot be written"
    fi
    own_folder "$out"
    out=$(readlink -f "$out")
    exec 9>"$out/lock" || fail 6 "$out cannot be written"
    flock -n 9 || fail 2 "$out: a cluster is running there"
    cluster_plan >"$scratch/plan"
    if [ -e "$out/plan.txt" ]; then
        if ! cmp -s "$scratch/plan" "$out/plan.txt" && ! cluster_trains_on; then
            diff "$out/plan.txt" "$scratch/plan" | sed -n 's/^</there:/p; s/^>/asked:/p' >&2
            fail 2 "$out holds a run with another plan"
        fi
    elif [ -n "$(find "$out" -mindepth 1 -maxdepth 1 ! -name lock | head -n 1)" ]; then
        fail 2 "$out is not empty and holds no run"
    fi
    [ ! -e "$scratch/plan" ] || mv "$scratch/plan" "$out/plan.txt"
    cluster_put_aside
}

# --- certificates, data, configurations ---

# Everything that a second start finds ready.  Keys, certificates and the roster are vfl-pki's, all in one process.
cluster_prepare() {
    if [ ! -e "$out/ready" ]; then
        rm -rf "$out/data" "$out/pki"
        cluster_split
        m=$(sed -n 's/^parties //p' "$out/data.txt")
        cluster_check_indices
        "$vfl_bin/vfl-pki" local --out "$out" --parties "$m" || exit $?
        : >"$out/ready"
    fi
    m=$(sed -n 's/^parties //p' "$out/data.txt")
    cluster_check_indices
    ending=csv
    [ -z "$idx_train$cifar_train" ] || ending=idx
    [ -z "$npy_train" ] || ending=npy
}

# No option names a party that there is none.
cluster_check_indices() {
    while read -r cluster_option cluster_text; do
        case $cluster_option in
        party) cluster_who "${cluster_text%%:*}" || fail 2 "--party $cluster_text: WHO:key.path=value expected" ;;
        link) case ${cluster_text%% *} in [1-9]*) cluster_most=${cluster_text%% *} ;; *) cluster_most=0 ;; esac ;;
        *) cluster_most=0 ;;
        esac
        [ "$cluster_most" -le "$m" ] || fail 2 "--$cluster_option ${cluster_text%%[: ]*}: there are $m parties"
    done <"$out/plan.txt"
}

cluster_identity() { # ROLE
    printf 'identity: {cert: %s.crt, key: %s.key, ca: ../pki/ca.crt, crl: ../pki/ca.crl}\n' "$1" "$1"
    printf 'roster: ../roster.yaml\nstate: .\nstate_key: state.key\n'
}

# The addresses with which --seed is allowed.
cluster_peers() {
    [ "$netns" = no ] || [ -z "$seed" ] || printf 'insecure_peers: ["%s"]\n' "$netns_peers"
}

cluster_server_config() {
    cluster_listen=127.0.0.1:0
    [ "$netns" = no ] || cluster_listen=$(netns_address server):7400
    printf '# Written by vfl cluster.\nlisten: "%s"\n' "$cluster_listen"
    cluster_peers
    cluster_identity server
    printf 'labels:\n  train: ../data/labels-train.csv\n'
    [ ! -e "$out/data/labels-test.csv" ] || printf '  test: ../data/labels-test.csv\n'
    # All parties come from one address here.
    printf 'limits: {connections_per_address: %s}\n' $((2 * m + 8))
}

# Does party I need labels for its local steps?  The first so many of the roster do; 0: all.
cluster_holds_labels() { # I
    [ "$resolved_view" = refreshed ] || return 1
    [ "$resolved_holders" = 0 ] || [ "$1" -le "$resolved_holders" ]
}

cluster_party_config() { # I
    # The server's real address replaces port 1 once it listens.
    printf '# Written by vfl cluster.\nserver: "127.0.0.1:1"\n'
    cluster_peers
    cluster_identity party
    printf 'data:\n  train: ../data/party-%s-train.%s\n' "$1" "$ending"
    [ ! -e "$out/data/party-$1-test.$ending" ] || printf '  test: ../data/party-%s-test.%s\n' "$1" "$ending"
    cluster_shape=$(sed -n "s/^shape $1 //p" "$out/data.txt")
    [ -z "$cluster_shape" ] || printf '  shape: [%s]\n' "$cluster_shape"
    [ ! -e "$out/data/party-$1-schema.yaml" ] || printf '  schema: ../data/party-%s-schema.yaml\n' "$1"
    ! cluster_holds_labels "$1" || printf '  labels: {train: ../data/labels-train.csv}\n'
    # Without the roster's digest only a server on loopback is accepted.
    [ "$strict$netns" = yesno ] || printf 'policy:\n  roster_sha256: "%s"\n' "$digest"
    [ "$strict" = no ] || return 0
    printf '  min_parties: %s\n' $((m < 3 ? m : 3))
    [ "$m" -ge 3 ] || printf '  min_m_eff: 1\n'
    printf '  encodings: [%s]\n' "$resolved_encoding"
    # Other rows than those that fedvs has dealt are predicted in masked sums.
    case $resolved_aggregation in
    fedvs) echo '  aggregations: [fedvs, masked]' ;;
    *) printf '  aggregations: [%s]\n' "$resolved_aggregation" ;;
    esac
    printf '  max_learning_rate: 1000\n'
}

# What the parties' files take from the server's resolved configuration.
cluster_resolve() {
    "$vfl_bin/vfl-pki" value "$out/server/resolved.yaml" protocol.local_view protocol.label_holders \
        protocol.encoding protocol.aggregation >"$out/server/values" || exit $?
    {
        read -r resolved_view
        read -r resolved_holders
        read -r resolved_encoding
        read -r resolved_aggregation
    } <"$out/server/values"
    rm -f "$out/server/values"
    digest=$("$vfl_bin/vfl-pki" digest "$out/roster.yaml") || exit $?
}

# --- daemons ---

# A daemon gets its signals from this script alone, not also from the terminal: one is an order to end well, a
# second one may come too late for that.  When the script itself is killed, they are told to end.
cluster_under=
cluster_alone='setsid setpriv --pdeathsig TERM --'

# Becomes a daemon with what the plan says about it, and ARGUMENTS.
cluster_daemon() { # server|I ARGUMENTS...
    cluster_who=$1
    shift
    if [ "$cluster_who" = server ]; then
        cluster_folder=server cluster_program=vfl-server
        [ -z "$positive" ] || set -- "$@" --set "labels.positive=$positive"
        [ -z "$seed" ] || set -- "$@" --set "training.seed=$seed"
        [ -z "$group" ] || set -- "$@" --set "labels.group=$group"
        [ -z "$time" ] || set -- "$@" --set "labels.time=$time"
        case $(sed -n 's/^labels //p' "$out/data.txt") in '' | 1) ;; *) set -- "$@" --set model.task=multilabel ;; esac
    else
        cluster_folder=party-$cluster_who cluster_program=vfl-party
        [ -z "$positive" ] || set -- "$@" --set "data.labels.positive=$positive"
        [ -z "$group" ] || set -- "$@" --set "data.group=$group"
        [ -z "$time" ] || set -- "$@" --set "data.time=$time"
    fi
    [ -z "$seed" ] || set -- "$@" --insecure-seed "$seed"
    while read -r cluster_option cluster_text; do
        case $cluster_option:$cluster_who:$cluster_text in
        set:server:* | set:*:data.validate=* | set:*:data.validate_by=*) set -- "$@" --set "$cluster_text" ;;
        party:[1-9]*)
            ! cluster_is_among "$cluster_who" "${cluster_text%%:*}" || set -- "$@" --set "${cluster_text#*:}"
            ;;
        esac
    done <"$out/plan.txt"
    if [ "$cluster_who" = server ] && [ -e "$out/from.txt" ]; then
        read -r from_run from_more <"$out/from.txt"
        set -- "$@" --set "training.from=$from_run" --set "training.epochs=$from_more"
    fi
    # A daemon that only checks its configuration needs no network.
    [ -z "$cluster_under" ] || [ "$netns" = no ] || cluster_under="$cluster_under $(netns_enter "$cluster_who")"
    # shellcheck disable=SC2086 # words
    exec $cluster_under "$vfl_bin/$cluster_program" -c "$out/$cluster_folder/config.yaml" "$@"
}

# The last error a daemon has logged.
cluster_words() { # FOLDER
    cluster_line=$(grep -a ' error: ' "$out/$1/log.txt" 2>/dev/null | tail -n 1)
    [ -n "$cluster_line" ] || cluster_line=$(tail -n 1 "$out/$1/log.txt" 2>/dev/null)
    cluster_line=${cluster_line:-no word in its log}
    printf '%s' "${cluster_line#* error: }"
}

# Ends with the guilty side's words in summary.json and on standard error.
cluster_failed() { # FOLDER CODE
    [ -n "$cluster_why" ] || cluster_why=$(cluster_words "$1")
    cluster_quiet=--quiet
    [ "${quiet:-no}" = yes ] || [ "$started" = no ] || cluster_quiet=
    "$vfl_bin/vfl-merge" --failed "$1" "$cluster_why" $cluster_quiet "$out" "$m"
    fail "$2" "$1: $cluster_why (more in $out/$1/log.txt)"
}

cluster_check() { # server|I FOLDER: the resolved configuration
    : >>"$out/$2/log.txt"
    : >>"$out/$2/metrics.jsonl"
    (cluster_daemon "$1" -n) >"$out/$2/resolved.yaml" 2>>"$out/$2/log.txt"
}

# As many checks of parties as there are processors were begun; the first that fails ends this.
cluster_checked() {
    cluster_bad=0
    for cluster_one in $checking; do
        wait "${cluster_one#*:}"
        cluster_got=$?
        [ $cluster_bad -ne 0 ] || [ $cluster_got -eq 0 ] || cluster_bad=$cluster_got cluster_worst=${cluster_one%%:*}
    done
    checking='' at_once=0
    [ $cluster_bad -eq 0 ] || cluster_failed "party-$cluster_worst" "$cluster_bad"
}

cluster_configure() {
    processors=$(nproc)
    rm -f "$out/summary.json"
    cluster_over server || rm -f "$out/server/summary.json" "$out/server/address"
    cluster_server_config >"$out/server/config.yaml"
    cluster_check server server || cluster_failed server $?
    [ "${quiet:-no}" = yes ] ||
        sed -n 's/^# \(\(class\|label\) [0-9]* is .*\)/labels: \1/p' "$out/server/resolved.yaml" | head -n 20
    cluster_resolve
    checking='' at_once=0
    for i in $(seq "$m"); do
        cluster_over "party-$i" || rm -f "$out/party-$i/summary.json"
        cluster_party_config "$i" >"$out/party-$i/config.yaml"
        cluster_check "$i" "party-$i" &
        checking="$checking $i:$!" at_once=$((at_once + 1))
        [ $at_once -lt "$processors" ] || cluster_checked
    done
    cluster_checked
}

# A child that has ended but was not waited for is a zombie, and its number is still ours.
cluster_alive() { # PID
    [ -r "/proc/$1/status" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null
}

# Nobody here has been waited for, so the numbers are ours.
cluster_signal() { # SIGNAL
    # shellcheck disable=SC2086 # words
    [ -z "$server_pid$pids" ] || kill "-$1" $server_pid $pids 2>/dev/null
}

cluster_interrupted() {
    interrupted=yes stopped=yes
    cluster_signal TERM
}

# Sets code; a signal to this script does not end the wait.
cluster_wait() { # PID
    interrupted=no
    wait "$1"
    code=$?
    while [ "$interrupted" = yes ]; do
        interrupted=no
        wait "$1"
        cluster_again=$?
        [ $cluster_again -eq 127 ] || code=$cluster_again
    done
}

cluster_start_server() {
    set --
    [ "${quiet:-no}" = yes ] || set -- --progress
    [ "$transcript" = no ] || set -- "$@" --transcript "$out/server/transcript.jsonl"
    [ -z "$scores" ] || set -- "$@" --scores "$scores"
    cluster_under=$cluster_alone
    cluster_daemon server "$@" 2>>"$out/server/log.txt" &
    server_pid=$!
    if ! cluster_listens; then
        cluster_signal TERM
        cluster_wait "$server_pid"
        [ "$stopped" = no ] || exit "$code"
        [ "$code" -ne 0 ] && [ "$code" -lt 128 ] || code=6
        cluster_failed server "$code"
    fi
    cluster_read_address
}

# Has the server come so far as to say where it listens?  Waits for it, while it lives, a minute at most.
cluster_listens() {
    tries=1200 # of 50 ms
    until [ -s "$out/server/address" ]; do
        tries=$((tries - 1))
        cluster_alive "$server_pid" && [ $tries -gt 0 ] || return 1
        sleep 0.05
    done
}

# It becomes a part of the parties' files.
cluster_read_address() {
    address=$(cat "$out/server/address" 2>/dev/null)
    case $address in *[!0-9a-f.:\[\]]*) fail 6 "$out/server/address holds no address" ;; esac
}

cluster_start_parties() {
    for i in $(seq "$m"); do
        ! cluster_over "party-$i" || continue
        sed -i "s/\"127\.0\.0\.1:1\"/\"$address\"/" "$out/party-$i/config.yaml" "$out/party-$i/resolved.yaml"
        cluster_daemon "$i" >>"$out/party-$i/log.txt" 2>&1 &
        pids="$pids $!" whose="$whose $i"
    done
    # A signal may have come while the last ones were on their way.
    [ "$stopped" = no ] || cluster_signal TERM
}

# The run is over: parties that go on without a server are told to stop, then made to.
cluster_end_parties() {
    tries=0
    while [ $tries -lt 150 ]; do
        left=no
        for pid in $pids; do
            ! cluster_alive "$pid" || left=yes
        done
        [ $left = yes ] || return 0
        [ $tries -ne 100 ] || cluster_signal TERM
        sleep 0.1
        tries=$((tries + 1))
    done
    cluster_signal KILL
}

# --- the end ---

# The guilty one: whoever has the first of these codes, the server before the parties.  A daemon ended by a
# signal (crash_at_round, or somebody's kill) counts last, and not at all when the server came to a good end.
cluster_judge() { # "FOLDER CODE" lines in $out/codes
    guilty='' verdict=0
    for want in 2 5 3 6 4; do
        guilty=$(awk -v want=$want '$2 == want { print $1; exit }' "$out/codes")
        [ -z "$guilty" ] || break
    done
    if [ -n "$guilty" ]; then
        verdict=$want
        return
    fi
    guilty=$(awk '$2 != 0 { print $1; exit }' "$out/codes")
    [ -n "$guilty" ] || return 0
    verdict=6
    cluster_why="ended by signal $(($(sed -n "s/^$guilty //p" "$out/codes") - 128))"
    if grep -q '^server 0$' "$out/codes"; then
        [ "$stopped" = yes ] || printf 'vfl cluster: %s: %s; the run went on\n' "$guilty" "$cluster_why" >&2
        guilty='' verdict=0
    fi
}

# Waits for the server, whose parties end soon after it, and for them: in FILE is then what each ended with.
cluster_end() { # FILE
    cluster_codes=$1 code=0
    if [ -n "$server_pid" ]; then
        cluster_wait "$server_pid"
        server_pid=
        cluster_end_parties
    else
        say "the server has ended its run already: a party that has not goes on when it has given it up"
    fi
    echo "server $code" >"$cluster_codes"
    # shellcheck disable=SC2086 # words
    set -- $pids
    for i in $whose; do
        cluster_wait "$1"
        echo "party-$i $code" >>"$cluster_codes"
        shift
    done
    pids=
}

# Ends the script where somebody in $out has failed; else the table of what all have done.
cluster_show() {
    cluster_judge
    [ "$verdict" -eq 0 ] || cluster_failed "$guilty" "$verdict"
    set -- "$out" "$m"
    [ "${quiet:-no}" = no ] || set -- --quiet "$@"
    "$vfl_bin/vfl-merge" "$@" || exit $?
}

cluster_run() {
    server_pid='' pids='' whose='' stopped=no
    trap cluster_interrupted INT TERM HUP
    say "cluster in $out: a server and $m parties"
    [ "$netns" = no ] || netns_up
    [ "$stopped" = no ] || exit 130
    cluster_read_address
    cluster_over server || cluster_start_server
    cluster_start_parties
    started=yes
    cluster_end "$out/codes"
    netns_down
    orderly
    cluster_show
    say "result    $out/summary.json"
}

cluster_main() {
    need flock awk nproc seq setsid setpriv
    # shellcheck source=/dev/null
    . "$vfl_share/sh/netns.sh"
    # shellcheck source=/dev/null
    . "$vfl_share/sh/data.sh"
    # shellcheck source=/dev/null
    . "$vfl_share/sh/onward.sh"
    started=no cluster_why=''
    cluster_read_options "$@"
    for program in vfl-server vfl-party vfl-split vfl-merge vfl-pki; do
        [ -x "$vfl_bin/$program" ] || fail 6 "$vfl_bin/$program is missing (make all)"
    done
    cluster_find_data
    [ "$netns" = no ] || netns_check
    cluster_open_folder
    if cluster_complete; then
        say "this run is complete already"
        [ "${quiet:-no}" = yes ] || "$vfl_bin/vfl-merge" --show "$out"
        exit 0
    fi
    cluster_prepare
    cluster_configure
    cluster_run
}
