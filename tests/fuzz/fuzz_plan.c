/* fuzz_plan.c -- a peer's plan text: refused, or a plan that prints to the very same bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/config/plan.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    struct plan p;
    struct buf out;

    if (plan_parse(&p, (const char *)data, size, &err) != STATUS_OK) {
        CHECK(err.status == STATUS_PROTOCOL || err.status == STATUS_LIMIT);
        CHECK(err.text[0] != 0);
        return 0;
    }
    CHECK(plan_check(&p, &err) == STATUS_OK);
    buf_init(&out, PLAN_TEXT_MAX);
    CHECK(plan_print(&p, &out) == STATUS_OK);
    CHECK(out.len == size && memcmp(out.data, data, size) == 0);
    buf_deinit(&out);
    return 0;
}
