/* mutate.h -- all small changes of one message, by what protobuf-c knows of its fields.
 *
 * Whoever adds a field to proto/vfl.proto gets its lies for nothing: numbers one off, at zero and
 * at their ends, other and unknown choices, bytes one short, one long, none, far too many, with a
 * bit turned, lists with an element less, twice, or in another order.  And the frame as a whole:
 * cut short, with a byte more, with a field that nobody knows, said twice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_MUTATE_H
#define COLONNADE_TESTS_SIM_MUTATE_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum { MUTATE_NAME_MAX = 96, MUTATE_FRAME_MAX = 1 << 24 };

/* The change number `which` (from 0) of a packed Frame, in place; `name` says which field and how,
 * "broadcast.round +1".  False: there are no so many.  The numbers of two frames of one kind mean
 * the same where the same fields are set. */
bool mutate_frame(struct buf *frame, char name[MUTATE_NAME_MAX], size_t which);
/* The same of a packed HelloBody. */
bool mutate_hello_body(struct buf *body, char name[MUTATE_NAME_MAX], size_t which);

#endif
