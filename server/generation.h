/* generation.h -- how far generations have come, for a server that is started again: a file beside
 * the rest of its state.
 *
 * A party's join says what it was offered last, and the next generation is later; so that a liar
 * cannot drive the count to its end, one that is far beyond what the server knows is refused
 * (join.c).  A server that knew nothing of the process before it would refuse those who tell the
 * truth, once a liar had lifted them that far.  So there is a floor: it is raised, durably, before
 * an offer that is far above it (keys.c), which is once in half a million generations, or in as
 * many as one lie lifts them by.
 *
 * STATE/generation: 32 bytes of title, the number (8, little-endian), SHA-256 of both.  It is no
 * secret, outlives jobs, and is not there before it is needed.  One that is gone, or an older one
 * that is put back, costs those who stand and were lifted beyond it a start anew.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_GENERATION_H
#define COLONNADE_SERVER_GENERATION_H

#include "common/base/status.h"

#include <stdint.h>

enum { GENERATION_PATH_MAX = 512 };

/* What a federation is given of it. */
struct generation_floor {
    void *owner;
    uint64_t value; /* no process before this one has offered much more; 0: there was none */
    /* Durable when it returns; NULL: nobody comes after this process. */
    enum status (*raise)(void *owner, uint64_t to, struct error *err);
};

struct generation_file {
    char path[GENERATION_PATH_MAX];
    uint64_t value; /* 0: there is no file */
};

/* STATUS_CONFIG: it is not what generation_raise wrote. */
enum status generation_open(struct generation_file *g, const char *state,
                            struct error *err) MUST_USE;
enum status generation_raise(struct generation_file *g, uint64_t to, struct error *err) MUST_USE;

#endif
