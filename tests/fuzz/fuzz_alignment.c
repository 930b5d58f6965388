/* fuzz_alignment.c -- the text of a job of alignment, what an operator asks for, and a cell of a
 * table as an id: read, they are printed as they were; and what is normal stays so.
 *
 * Input: a byte of rules, then the text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/config/key_text.h"
#include "common/data/normal.h"
#include "common/flow/alignment.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_text(const uint8_t *text, size_t n)
{
    struct alignment_order order;
    struct alignment a;
    struct buf again;

    if (alignment_asked(&order, text, n, NULL) == STATUS_OK)
        CHECK(key_text_is_alignment(order.name) && order.rows < CONFIG_ROWS_N);
    if (alignment_parse(&a, text, n, NULL) != STATUS_OK)
        return;
    buf_init(&again, WIRE_JOB_TEXT_MAX);
    CHECK(alignment_print(&a, &again) == STATUS_OK);
    CHECK(again.len == n && memcmp(again.data, text, n) == 0);
    buf_deinit(&again);
}

/* Folded or composed once more it is as it was. */
static void fuzz_cell(uint8_t rules, const uint8_t *text, size_t n)
{
    const struct normal_rule rule = {(rules & 1) != 0, (rules & 2) != 0,
                                     (enum normal_form)(rules >> 2 & 3) % (NORMAL_BYTES + 1)};
    uint8_t once[NORMAL_OUT_MAX], again[NORMAL_OUT_MAX];
    const size_t got = normal_text(once, (const char *)text, n, &rule);

    if (got == SIZE_MAX)
        return;
    CHECK(got <= NORMAL_OUT_MAX);
    if (got <= NORMAL_TEXT_MAX) {
        CHECK(normal_text(again, (const char *)once, got, &rule) == got);
        CHECK(memcmp(once, again, got) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    fuzz_text(data + 1, size - 1);
    fuzz_cell(data[0], data + 1, size - 1);
    return 0;
}
