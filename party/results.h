/* results.h -- what a party writes down: its own summary.json and its bottom's weights.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_RESULTS_H
#define COLONNADE_PARTY_RESULTS_H

#include "common/metrics/report.h"
#include "common/net/net.h"
#include "party/books.h"
#include "party/prepare.h"
#include "party/session.h"

struct party_results {
    const struct party_inputs *in;
    const struct party_options *options;
    const char *folder;    /* where its files are written */
    bool predicts, aligns; /* what is written about is a job of predictions, or an alignment */
    struct traffic traffic;
    struct summary summary;
    uint64_t start_us, tls_in, tls_out; /* of the connection when something was last counted */
};

/* in, o and folder outlive it. */
enum status party_results_init(struct party_results *r, const struct party_inputs *in,
                               const struct party_options *o, const char *folder,
                               uint64_t now_us) MUST_USE;
/* Another job begins, of which kind the caller says, over the same connection. */
enum status party_results_again(struct party_results *r, uint64_t now_us) MUST_USE;
void party_results_deinit(struct party_results *r); /* safe on a zeroed struct */

/* A new connection; and a message of `frame` bytes over it, with the socket bytes since the last
 * one. */
void party_results_connected(struct party_results *r);
void party_results_count(struct party_results *r, enum traffic_direction d,
                         const struct wire_msg *m, size_t frame, const struct net_traffic *now);

/* How the run ended. */
struct party_ending {
    const char *outcome;
    const struct error *why;
    uint64_t now_us;
};
/* The bottom as a package of models (common/daemon/models.h).  over: its run is; use: predictions
 * are by it. */
struct party_package {
    bool over, use;
    char run[PACKAGE_RUN_MAX + 1]; /* what it is called then, */
    uint8_t trail[DIGEST_BYTES];   /* and of which run it is */
};
enum status party_results_package(const struct party_results *r, struct party_session *p,
                                  struct party_package *as, struct error *err) MUST_USE;
enum status party_results_end(struct party_results *r, struct party_session *p,
                              const struct books *b, const struct party_ending *end,
                              struct error *err) MUST_USE;

#endif
