/* fuzz_contribution.c -- texts of jobs of contributions: what is read is printed as the same bytes,
 * and each place of its rounds is one of a row and a question.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/flow/contribution.h"
#include "common/wire/limits.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROUNDS_LOOKED_AT = 100 };

static void look_at_rounds(const struct contribution *c, const struct prediction *about)
{
    struct contribution_round at;
    uint64_t place = 0;

    for (int i = 0; i < ROUNDS_LOOKED_AT && contribution_at(&at, c, about, place); i++) {
        CHECK(at.ask < c->n && at.rows >= 1 && at.rows <= about->batch);
        CHECK(at.row <= about->rows - at.rows);
        place += at.rows;
    }
    CHECK(!contribution_at(&at, c, about, contribution_places(c, about)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint32_t parties = size > 0 ? 1 + (uint32_t)data[0] % PLAN_PARTIES_MAX : 1;
    const struct wire_bytes text = {data + (size > 0), size > 0 ? size - 1 : 0};
    struct contribution c = {0};
    struct prediction about;
    struct error err = {0};
    struct buf again;

    if (contribution_parse(&c, &about, &text, parties, &err) == STATUS_OK) {
        buf_init(&again, WIRE_JOB_TEXT_MAX);
        CHECK(contribution_print(&c, &about, &again) == STATUS_OK);
        CHECK(again.len == text.n && memcmp(again.data, text.data, text.n) == 0);
        look_at_rounds(&c, &about);
        buf_deinit(&again);
    }
    contribution_deinit(&c);
    return 0;
}
