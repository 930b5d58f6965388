/* people.c -- what people.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/people.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

void people_make(struct persons *p, size_t train, size_t test, uint32_t n)
{
    struct group g = {.rows = train + test};
    struct error err = {0};
    char name[16];

    g.at = mem_alloc(g.rows + 1, sizeof *g.at);
    CHECK(g.at != NULL && n > 0);
    buf_init(&g.text, TEXT_MAX);
    for (size_t i = 0; i < g.rows; i++) {
        snprintf(name, sizeof name, "who-%zu", (i < train ? i : i - train) % n);
        g.at[i] = (uint32_t)g.text.len;
        CHECK(buf_append(&g.text, name, strlen(name) + 1) == STATUS_OK);
    }
    CHECK(group_number(&g, &err) == STATUS_OK && persons_init(p, &g, train, &err) == STATUS_OK);
}
