/* asked.h -- what a server is asked to predict: from a command line to a session's inputs.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_ASKED_H
#define COLONNADE_SERVER_ASKED_H

#include "server/prepare.h"

struct contributed_want;

/* What a server is to predict. */
struct server_wanted {
    const char *run;       /* "": the model in use */
    const char *ids;       /* a file: one id a line; of an alignment NULL or empty: all its rows */
    const char *alignment; /* rows are called by their places in it, ids are this side's; NULL */
    const char *absent;    /* names of parties between commas; NULL: all take part */
    const char *by;        /* for whom; NULL: predict.by */
    uint32_t min_parties;  /* so many answer where others stay away; 0: predict.min_parties */
    const struct contributed_want *contributed; /* contributions are asked for; NULL: scores are */
};

/* Instead of server_inputs_load, of which labels and a plan are no part. */
enum status server_asked_load(struct server_inputs *in, const struct options *o,
                              const struct server_wanted *wanted, struct error *err) MUST_USE;
/* The same where a daemon stands whose own inputs are `whole`. */
enum status server_asked_errand(struct server_inputs *in, const struct server_inputs *whole,
                                const struct server_wanted *wanted, struct error *err) MUST_USE;
/* An open job by that model there, whose rows come later: in->asked.feed is the caller's. */
enum status server_asked_open(struct server_inputs *in, const struct server_inputs *whole,
                              const char *run, struct error *err) MUST_USE;
/* -n: what would be asked, as comment lines on standard output. */
void server_asked_print(const struct server_inputs *in);

#endif
