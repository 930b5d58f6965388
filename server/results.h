/* results.h -- what the server writes down: metrics.jsonl, the progress line, summary.json, the
 * head.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_RESULTS_H
#define COLONNADE_SERVER_RESULTS_H

#include "common/metrics/report.h"
#include "common/metrics/verdict.h"
#include "server/prepare.h"
#include "server/session.h"

struct server_results {
    const struct server_inputs *in;
    const struct server_options *options;
    struct traffic traffic;
    struct summary summary;
    uint64_t start_us, first_round_us;  /* first_round_us 0: no round yet */
    uint64_t last_rounds, last_line_us; /* for rounds per second */
    double rounds_per_s;
    struct verdict_labels train, validate, test; /* counted once */
    uint64_t formula_up, formula_down;
    char warning[256]; /* summary.warning */
};

enum status server_results_init(struct server_results *r, const struct server_inputs *in,
                                const struct server_options *o, uint64_t now_us) MUST_USE;
void server_results_deinit(struct server_results *r); /* safe on a zeroed struct */

/* The session goes on from here: what earlier processes did is not of this one's seconds. */
void server_results_go_on(struct server_results *r, const struct server_report *rep);

/* A training round of `rows` rows has been opened: its cost by the formulas of the papers is added
 * (server/train/formula.h; terms: of fedvs). */
void server_results_round(struct server_results *r, uint32_t members, uint32_t rows,
                          const struct fedvs_terms *terms, uint64_t now_us);
/* An evaluation is complete; train_s as in summary.json, until now. */
enum status server_results_evaluation(struct server_results *r, const struct server_report *rep,
                                      double train_s, uint64_t now_us, struct error *err) MUST_USE;
/* One that an earlier process may or may not have come to write down: written once. */
enum status server_results_replayed(struct server_results *r, const struct server_report *rep,
                                    uint64_t now_us, struct error *err) MUST_USE;
void server_results_progress(struct server_results *r, const struct server_report *rep,
                             uint64_t now_us, bool line_end);
/* Into the log, and the summary to come: the score of a run that is complete, and whether it is one
 * of a guess. */
void server_results_verdict(struct server_results *r, const struct server_report *rep);
/* The head of a run that is complete as a package of models (common/daemon/models.h). */
enum status server_results_package(const struct server_results *r, struct server_session *s,
                                   struct error *err) MUST_USE;
/* What a job of predictions has scored, whether it is complete or not, into the kept answers. */
enum status server_results_keep(const struct server_inputs *in, struct server_session *s,
                                struct error *err) MUST_USE;
/* All that is wanted is among them: into `path` (NULL: nowhere), in the order of the ids. */
enum status server_results_predictions(const struct server_inputs *in, const char *path,
                                       struct error *err) MUST_USE;
/* The same of predictions that need no job, with their prediction.json. */
enum status server_results_kept(const struct server_inputs *in, const struct server_options *o,
                                struct error *err) MUST_USE;
/* A run is complete: the scores of its test rows, by its last evaluation, into o->scores. */
enum status server_results_scores(const struct server_results *r, struct server_session *s,
                                  struct error *err) MUST_USE;
/* summary.json (of predictions prediction.json) and, once a round was opened, the head's weights.
 */
enum status server_results_end(struct server_results *r, struct server_session *s,
                               const char *outcome, const struct error *why, uint64_t now_us,
                               struct error *err) MUST_USE;

#endif
