/* program.h -- a job's head where a program computes it (model.head_program).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_PROGRAM_H
#define COLONNADE_SERVER_PROGRAM_H

#include "common/nn/head.h"
#include "common/program/program.h"

struct server_program {
    struct program *program; /* the daemon's; NULL: the head is of layers */
    uint64_t job;            /* of the program's */
    struct nn_head_outside outside;
};

/* For a job of this plan, of at most so many rows at a time.  program NULL: nothing.  STATUS_IO: it
 * does not do what it should with zeros. */
enum status server_program_begin(struct server_program *s, struct program *program,
                                 const struct program_shape *shape, struct error *err) MUST_USE;
void server_program_end(struct server_program *s); /* safe on a zeroed struct */

#endif
