/* trace.h -- everything that a run lets out, in the order in which it does, to be compared.
 *
 * An event is a message as it leaves somebody, a charge as a ledger is asked for it, or an end with
 * its exit code, each with its time on the virtual clock.  Of a message every field and byte counts
 * but for what has a reason not to:
 *
 *   upload.payload, share.sealed, share.tags   the content of a release, which is charged; sizes
 *                                              count
 *   relay.sealed, relay.tags                   the same, passed on
 *   batch.entries, batch.tag, batch.tallies    points of an alignment under keys of its own, and
 *                                              what is sealed and proved of them; sizes count
 *   hello.dealing, hello.holds                 under a secret of the party that is drawn anew in
 *                                              each run, and of its data: which of them are equal
 *                                              counts
 *   fedvs: hello.signature, all of confirm     of those names, or under keys that are: which of
 *     but seen, upload.check                   them are equal counts
 *
 * Of the server's own words, which are scripted, kind and size count.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_INTERFERENCE_TRACE_H
#define COLONNADE_TESTS_INTERFERENCE_TRACE_H

#include "tests/sim/world.h"

#include <stdio.h>

enum { TRACE_EVENTS_MAX = 8192, TRACE_WORDS_MAX = 160, TRACE_NAMES_MAX = 256 };

enum trace_what { TRACE_SAID, TRACE_CHARGED, TRACE_ENDED };

struct trace_event {
    enum trace_what what;
    int who;
    uint32_t to;
    enum wire_kind kind;
    uint64_t at_us, size, digest; /* of what counts */
    char words[TRACE_WORDS_MAX];  /* for people */
};

struct trace {
    struct trace_event *event; /* TRACE_EVENTS_MAX */
    size_t n;
    bool too_long;
    /* Names that differ by design, in the order in which they were first said. */
    uint64_t name[TRACE_NAMES_MAX];
    size_t names;
    struct buf frame;
    struct wire_unpacker unpacker; /* of hellos, whose fields are inside a signed body */
    bool released;                 /* somebody has uploaded, or shared, what is of its records */
    bool failed;                   /* somebody has ended otherwise than well */
};

void trace_init(struct trace *t);
void trace_deinit(struct trace *t);
/* Empty again, and looking at this run from now on. */
void trace_begin(struct trace *t, struct sim *s);
/* The first event in which they differ; SIZE_MAX: none. */
size_t trace_differ(const struct trace *a, const struct trace *b);
void trace_print(const struct trace *t, size_t from, size_t to, FILE *out);

#endif
