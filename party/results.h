/* results.h -- what a party writes down: its own summary.json and its bottom's weights.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_RESULTS_H
#define COLONNADE_PARTY_RESULTS_H

#include "common/metrics/report.h"
#include "party/books.h"
#include "party/loop.h"
#include "party/session.h"

struct party_results {
    const struct party_inputs *in;
    const struct party_options *options;
    struct traffic traffic;
    struct summary summary;
    uint64_t start_us;
};

enum status party_results_init(struct party_results *r, const struct party_inputs *in,
                               const struct party_options *o, uint64_t now_us) MUST_USE;
void party_results_deinit(struct party_results *r); /* safe on a zeroed struct */

/* How the run ended. */
struct party_ending {
    const char *outcome;
    const struct error *why;
    uint64_t now_us;
};
enum status party_results_end(struct party_results *r, struct party_session *p,
                              const struct books *b, const struct party_ending *end,
                              struct error *err) MUST_USE;

#endif
