/* embedded.c -- from columns to tables.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/embedded.h"

#include "common/base/check.h"

_Static_assert((int)SCHEMA_EMBEDDED_MAX <= (int)NN_EMBEDDED_MAX, "columns without a table");
_Static_assert((int)SCHEMA_VECTOR_MAX <= (int)NN_EMBEDDED_WIDTH_MAX, "vectors that are too long");
_Static_assert((int)SCHEMA_VECTORS_MAX <= (int)NN_EMBEDDED_PARAMS_MAX, "tables that are too large");
_Static_assert((int)LEVELS_MAX + 2 <= (int)NN_EMBEDDED_LEVELS_MAX,
               "and one for other, one missing");

struct nn_embedded embedded_of(const struct schema *s)
{
    struct nn_embedded e = {.n = 0};
    size_t at = 0;

    for (size_t i = 0; s != NULL && i < s->n; at += schema_width(&s->column[i++])) {
        const struct schema_column *c = &s->column[i];

        if (!schema_is_embedded(c))
            continue;
        CHECK(e.n < NN_EMBEDDED_MAX && c->vector > 0);
        e.of[e.n].column = (uint32_t)at;
        e.of[e.n].levels = (uint32_t)schema_levels(c);
        e.of[e.n++].width = c->vector;
    }
    return e;
}
