/* fuzz_schema.c -- any bytes as a schema: a refusal with a text, or one that comes back as it was
 * printed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/schema_text.h"
#include "tests/fuzz/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf first, second;
    struct error err = {0};
    struct schema s;

    if (schema_parse(&s, (const char *)data, size, "s", &err) != STATUS_OK) {
        feed_check_words(err.text);
        CHECK(s.n == 0 && s.column == NULL);
        return 0;
    }
    CHECK(s.written);
    buf_init(&first, 2 * SCHEMA_TEXT_MAX);
    buf_init(&second, 2 * SCHEMA_TEXT_MAX);
    CHECK(schema_print(&s, &first) == STATUS_OK);
    schema_deinit(&s);
    CHECK(schema_parse(&s, (const char *)first.data, first.len, "s", &err) == STATUS_OK);
    CHECK(schema_print(&s, &second) == STATUS_OK);
    CHECK(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    schema_deinit(&s);
    buf_deinit(&first);
    buf_deinit(&second);
    return 0;
}
