/* report.h -- what a run says about itself: summary.json at its end, a line of metrics.jsonl at
 * each evaluation.  Its line for a terminal is in report_progress.h.
 *
 * The names in the JSON are an interface (docs/operating.md); numbers are numbers, and what does
 * not apply is absent.  JSON knows no infinity: an infinite epsilon is left out, its claim stays
 * with "vacuous": true, and any other figure that is not finite is left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_REPORT_H
#define COLONNADE_METRICS_REPORT_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/metrics/calibrate.h"
#include "common/metrics/report_degraded.h"
#include "common/metrics/score.h"
#include "common/metrics/latency.h"
#include "common/metrics/spans.h"
#include "common/metrics/traffic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REPORT_PARTIES_MAX = 256,
    REPORT_CLAIMS_MAX = 16,
    REPORT_MECHANISMS_MAX = 1024,
    REPORT_PARAMETERS_MAX = 6,
    REPORT_BINS_MAX = 16,
    REPORT_NAME_MAX = 63,
    REPORT_HEX_CHARS = 64,
};

/* One party, as the server saw it or as it saw itself.  Its frame bytes come from the traffic. */
struct report_party {
    char name[REPORT_NAME_MAX + 1];
    double wait_s;
    uint64_t slowest_rounds, lost, rejoined;
    bool has_shares; /* the two below: of the shares that come before the upload */
    double share_wait_s;
    uint64_t slowest_shares;
    bool can_miss; /* the two below: a round may close without this party's upload */
    uint64_t missing_uploads, late_uploads;
    bool can_be_absent; /* the one below: training goes on without this party */
    uint64_t absent_rounds;
    bool has_usage; /* the two below: a process knows only its own */
    uint64_t max_rss_kb;
    double cpu_s;
    char model_sha256[REPORT_HEX_CHARS + 1]; /* "": not known here */
};

struct report_claim {
    const char *adversary, *adjacency;
    uint32_t m_eff;
    double alpha, epsilon; /* INFINITY: no noise */
    bool vacuous;
};

/* One mechanism by which this side's records were released, and how often. */
struct report_mechanism {
    const char *kind;  /* pbm, gaussian, none */
    size_t parameters; /* of its law of noise, by their names in summaries */
    struct report_parameter {
        const char *name;
        bool whole;
        double value;
    } parameter[REPORT_PARAMETERS_MAX];
    bool clear, each; /* the server saw uploads one by one; other parties did too */
    uint32_t coordinates, parties, colluders;
    const char *bottom;
    double step_noise; /* dp, with the next two: 0 leaves them out */
    uint32_t steps;
    uint64_t trained_max; /* participations of one record in training */
    uint64_t releases, participations_max;
};

struct report_privacy {
    const char *mechanism; /* NULL: nothing is claimed, the whole object is absent */
    double delta;
    uint64_t train, evaluate, predict; /* released vectors */
    uint64_t participations_max;
    uint32_t m_min;
    size_t claims_n;
    struct report_claim claim[REPORT_CLAIMS_MAX];
    size_t mechanisms_n; /* with the rest: a party's alone, absent where they are 0 */
    struct report_mechanism with[REPORT_MECHANISMS_MAX];
    size_t bins_n;
    uint64_t bin_width, bin[REPORT_BINS_MAX]; /* records by participations, from 0 on */
    const char *labels;                       /* what becomes of them; NULL: absent */
};

struct report_reached {
    const char *metric, *split; /* metric NULL: not reached, absent */
    double value, epoch, seconds;
    uint64_t round, payload_bytes;
};

/* The evaluation whose model was kept. */
struct report_best {
    bool yes;           /* else absent */
    const char *metric; /* of the validation rows; NULL: this side knows the epoch alone */
    double epoch, value;
    uint64_t round;
};

struct summary {
    const char *status;  /* completed, target, budget, stopped, failed */
    const char *error;   /* NULL or "": absent */
    const char *warning; /* of a run that is complete, and its model is bad: the same */
    bool plaintext, insecure_seed;
    uint64_t rounds, void_rounds;
    uint64_t ids, common; /* of an alignment: that were listed here; in all lists.  0 ids: absent */
    uint64_t labelled;    /* or, in place of those: rows that it has ended with; 0: absent */
    uint64_t extended;    /* of either: that were there before; 0: absent */
    uint64_t rows;        /* of predictions; 0: absent */
    uint64_t kept;        /* of them, that were answered before */
    uint64_t asks;        /* of contributions: how often each was asked for; else 0 */
    size_t without_n;     /* of predictions: parties that they do without, by name */
    const char *without[REPORT_PARTIES_MAX];
    uint64_t rounds_before; /* of `rounds`, by earlier processes; time and bytes are this one's */
    double epochs;
    uint32_t parties_n; /* size of the federation, which `party` need not list whole */
    struct report_degraded degraded;
    struct score train, validate, test; /* at the best evaluation, if there is one */
    struct calibration calibrated;      /* of these; rows 0: absent */
    struct report_best best;
    struct report_reached reached;
    double total_s;
    const struct spans *spans;     /* phases and spans */
    const struct traffic *traffic; /* party i of `party` is party i here */
    bool has_formula;
    uint64_t formula_up, formula_down;
    size_t party_n;
    struct report_party party[REPORT_PARTIES_MAX];
    bool has_server; /* this process is the server: its own use of the machine */
    uint64_t server_max_rss_kb;
    double server_cpu_s;
    struct report_privacy privacy;
    char head_sha256[REPORT_HEX_CHARS + 1]; /* "": absent */
    const struct latency *latency;          /* of requests for predictions; NULL: there are none */
};

/* Appends the JSON text (with a final line end) to out; then the same into a file, atomically. */
enum status report_print(const struct summary *r, struct buf *out) MUST_USE;
enum status report_write(const struct summary *r, const char *path, struct error *err) MUST_USE;

/* One evaluation. */
struct report_evaluation {
    double epoch, epochs; /* done, planned */
    uint64_t round;
    double seconds, train_s;       /* since the first round opened; without what evaluation took */
    uint64_t bytes;                /* training payload until now, both directions */
    const struct traffic *traffic; /* until now; NULL: absent */
    struct report_degraded degraded; /* until now */
    struct score train, validate, test;
};

/* Appends one line to the file, which is made when missing; half a line at its end is cut off.
 * After STATUS_IO it is as it was.  Several writers must not share it. */
enum status report_append(const char *path, const struct report_evaluation *e,
                          struct error *err) MUST_USE;
/* The same, unless there is a line already with this epoch, this round and these scores, by an
 * earlier process of the run. */
enum status report_append_once(const char *path, const struct report_evaluation *e,
                               struct error *err) MUST_USE;

#endif
