/* sm.c -- checked moves.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/sm.h"

#include "common/base/check.h"
#include "common/base/log.h"

void sm_move(struct sm *m, enum phase to, uint64_t generation)
{
    CHECK(phase_allows(m->phase, to));
    log_debug("generation %llu: %s -> %s", (unsigned long long)generation,
              phase_row(m->phase)->name, phase_row(to)->name);
    m->phase = to;
}
