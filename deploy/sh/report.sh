# shellcheck shell=sh
# report.sh -- folders of runs and experiments become tables, plots and a page.
#
# vfl-report does all arithmetic and writes what gnuplot reads; this calls gnuplot in between, and writes down how the
# report was asked for, without the paths of this machine.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # variables are shared with ../vfl

report_usage() {
    cat <<'USAGE'
usage: vfl report RUN... [--target METRIC=VALUE[,split=train|test]] [--score METRIC[,split=...]]
                  [--where AXIS=VALUE]... [--by AXIS,...] [--best FIGURE] [--by-curve] [--base LINE]
                  [--plots DIR [--svg | --png]] [--html FILE [--title TEXT]] [--csv FILE] [--quiet]
       vfl report --scores FILE [--plots DIR] [--quiet]

  RUN               the folder of a cluster, or of an experiment (runs.csv, results.csv); several make one report
  --target          loss, accuracy, auc, auprc or f1, and a value: what it took until the first evaluation that
                    shows at least this much (of the loss, at most)
  --score           which score, without a target; default: accuracy, else loss; of the test rows, else of the others
  --where           only runs with this value of an axis, or one of these (A,B); its name, or the end of it
  --by              one line for each combination of these axes; what else differs is folded as seeds are
  --best FIGURE     of each line of --by (or of all) just the best setting: score at the end, or with a target the
                    one that reaches it with the least rounds, epochs, payload, wire, total, seconds, epsilon
  --by-curve        the target is for the mean curve of a line's runs, not for each run
  --base LINE       ratios are to this line (its name, or a part of it that no other has); default: the first
  --plots DIR       score by epoch, by bytes, by seconds, by epsilon: SVG and PNG, and the script that draws them
  --html FILE       one page with tables, plots and settings; it needs nothing outside of it
  --scores FILE     of one run's test rows (vfl cluster --scores FILE): scores, calibration and confusion, and in
                    --plots DIR the curves: ROC, precision by recall, calibration, as CSV and SVG, for you alone
  --csv FILE        means, standard deviations and ratios as plain numbers
USAGE
}

report_read_options() {
    plots='' html='' formats='svg png' shown=''
    pictures='' folders=''
    arguments=$(mktemp) || fail 6 "no temporary file"
    trap 'rm -rf "$arguments" ${folders:+"$folders"} ${pictures:+"$pictures"}' EXIT
    folders=$(mktemp) || fail 6 "no temporary file"
    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help) report_usage && exit 0 ;;
        --svg) formats=svg && report_show "$1" && shift && continue ;;
        --png) formats=png && report_show "$1" && shift && continue ;;
        --by-curve)
            printf '%s\n' "$1" >>"$arguments"
            report_show "$1"
            shift
            ;;
        --quiet) quiet=yes && shift && continue ;;
        --*)
            [ $# -ge 2 ] || fail 2 "$1: unknown, or its value is missing (vfl report --help)"
            case $1$2 in *'
'*) fail 2 "$1: a value of several lines" ;; esac
            report_take "$1" "$2"
            shift 2
            ;;
        *)
            case $1 in *'
'*) fail 2 'a RUN of several lines' ;; esac
            printf '%s\n' "$1" >>"$arguments"
            printf '%s\n' "$1" >>"$folders"
            report_show "$(report_place "$1")"
            shift
            ;;
        esac
    done
}

report_take() { # OPTION VALUE
    case $1 in
    --plots) plots=$2 ;;
    --html) html=$2 ;;
    *) printf '%s\n%s\n' "$1" "$2" >>"$arguments" ;;
    esac
    case $1 in
    --plots | --html | --csv) report_show "$1" "$(report_place "$2")" ;;
    *) report_show "$1" "$2" ;;
    esac
}

# --- the command, for the page ---

# A path that starts at the root, or leads out of here, is named by its end alone.
report_place() { # PATH
    case $1 in
    /* | ..* | */..*) basename "$1" ;;
    *) printf '%s' "$1" ;;
    esac
}

report_quoted() { # WORD
    case $1 in
    '' | *[!A-Za-z0-9_./:=,+@%-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s' "$1" ;;
    esac
}

report_show() { # WORD...
    for report_word in "$@"; do
        shown="$shown $(report_quoted "$report_word")"
    done
}

# What made this folder.
report_origin() { # RUN
    report_run=$(report_quoted "$(report_place "$1")")
    if [ -e "$1/runs.csv" ]; then
        report_grid=grid.yaml
        for report_known in "$here"/../docs/experiments/*/grid.yaml; do
            [ ! -f "$1/grid.yaml" ] || ! cmp -s "$report_known" "$1/grid.yaml" ||
                report_grid=docs/experiments/$(basename "$(dirname "$report_known")")/grid.yaml
        done
        printf 'deploy/vfl experiment %s --out %s\n' "$report_grid" "$report_run"
    elif [ -f "$1/plan.txt" ]; then
        printf 'deploy/vfl cluster'
        while read -r report_key report_value; do
            [ -n "$report_value" ] || continue
            case $report_key in
            strict-policy | netns) [ "$report_value" = no ] || printf ' --%s' "$report_key" ;;
            train | test)
                case $report_key:$report_value in
                *:postgres:* | *:odbc:*) printf ' --%s %s' "$report_key" "$(report_quoted "$report_value")" ;;
                train:*/tests/data/*.csv.gz | train:*/colonnade/data/*.csv.gz)
                    printf ' --data %s' "$(report_quoted "$(basename "$report_value" .csv.gz)")"
                    ;;
                *) printf ' --%s %s' "$report_key" "$(report_quoted "$(basename "$report_value")")" ;;
                esac
                ;;
            schema) printf ' --schema %s' "$(report_quoted "$(basename "$report_value")")" ;;
            idx-train | idx-test | npy-train | npy-test | cifar-train | cifar-test)
                printf ' --%s %s' "$report_key" \
                    "$(report_quoted "$(printf '%s' "$report_value" | sed 's|[^,]*/||g')")"
                ;;
            # Of a path from the root only the last name.
            parties | columns | label | id | group | time | positive | delimiter | label-map | test-share | test-by | \
                seed | set | party | link)
                report_value=$(printf '%s' "$report_value" | sed 's|=/.*/|=|')
                printf ' --%s %s' "$report_key" "$(report_quoted "$report_value")"
                ;;
            esac
        done <"$1/plan.txt"
        printf ' --out %s\n' "$report_run"
    fi
}

# --- the work ---

# vfl-report with its arguments, one a line, and what else is said here.
report_run() { # ARGUMENT...
    while IFS= read -r report_word; do
        set -- "$@" "$report_word"
    done <"$arguments"
    "$vfl_bin/vfl-report" "$@"
}

# FOLDER is new and nobody else's: gnuplot runs what a script says, and follows links where it writes.
report_draw() { # FOLDER FORMATS
    report_run --quiet --plots "$1" || exit $?
    [ "$gnuplot" = yes ] || return 0
    (cd "$1" && gnuplot -e "formats = '$2'" plots.gp) || fail 6 "gnuplot could not draw plots.gp"
}

# Draws, and puts what was drawn into DIR; pictures of before do not stay.
report_plots() { # DIR
    pictures=$(mktemp -d) || fail 6 "no temporary folder"
    report_draw "$pictures" "$formats"
    "$vfl_bin/vfl-pki" place "$1" "$pictures"/* || exit $?
    for report_name in epoch bytes seconds epsilon roc pr calibration; do
        for report_format in svg png; do
            report_picture=$report_name.$report_format
            [ -e "$pictures/$report_picture" ] || rm -f "$1/$report_picture"
        done
    done
    rm -rf "$pictures"
}

report_main() {
    report_read_options "$@"
    [ -x "$vfl_bin/vfl-report" ] || fail 6 "$vfl_bin/vfl-report is missing (make all)"
    [ -x "$vfl_bin/vfl-pki" ] || fail 6 "$vfl_bin/vfl-pki is missing (make all)"
    set --
    [ "${quiet:-no}" = no ] || set -- --quiet
    report_run "$@" || exit $?
    [ -n "$plots$html" ] || return 0
    gnuplot=yes
    command -v gnuplot >/dev/null 2>&1 || {
        gnuplot=no
        printf 'vfl report: gnuplot is not installed (package gnuplot-nox): no plots\n' >&2
    }
    if [ -n "$plots" ]; then
        report_plots "$plots"
        [ $gnuplot = no ] || say "plots     $plots"
    fi
    [ -n "$html" ] || return 0
    if [ $gnuplot = yes ]; then
        pictures=$(mktemp -d) || fail 6 "no temporary folder"
        report_draw "$pictures" svg
        set -- --plots "$pictures"
    else
        set --
    fi
    report_origins=$(while IFS= read -r report_word; do report_origin "$report_word"; done <"$folders")
    report_run --quiet "$@" --html "$html" --command "$report_origins
deploy/vfl report$shown" || exit $?
    say "page      $html"
}
