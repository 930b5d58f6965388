/* fuzz_columns.c -- any text as the columns of parties: refused, or every party has columns that
 * exist and nobody else has.
 *
 * Input: bytes 0 to 2 parties, features, height of an image or steps of a series; the rest is the
 * specification, none when there is no rest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/columns.h"
#include "common/data/table.h"
#include "tests/fuzz/feed.h"

enum { TEXT_MAX = 300, FEATURES_MAX = 256 };

/* Something of that height, where one goes into the features. */
static struct plan_widths shape_of(uint32_t features, uint32_t height, bool series)
{
    if (height == 0 || features % height != 0)
        return (struct plan_widths){0};
    if (series)
        return (struct plan_widths){2, {height, features / height}};
    if (features % (3 * height) == 0)
        return (struct plan_widths){3, {3, height, features / height / 3}};
    return (struct plan_widths){3, {1, height, features / height}};
}

static void check_columns(const struct columns *c, const struct columns_want *want)
{
    uint8_t seen[FEATURES_MAX] = {0};

    CHECK(c->parties >= 1 && c->parties <= PLAN_PARTIES_MAX && c->first[0] == 0);
    CHECK(want->parties == 0 || c->parties == want->parties);
    for (uint32_t p = 0; p < c->parties; p++) {
        struct plan_widths shape;
        uint32_t values = 1;

        CHECK(c->first[p + 1] > c->first[p]);
        if (columns_shape(c, p, &shape)) {
            for (size_t i = 0; i < shape.n; i++)
                values *= shape.width[i];
            CHECK(values == c->first[p + 1] - c->first[p]);
        }
        for (uint32_t i = c->first[p]; i < c->first[p + 1]; i++) {
            CHECK(c->column[i] < want->features && !seen[c->column[i]]);
            seen[c->column[i]] = 1;
        }
    }
    /* Nothing but a list may leave columns out. */
    CHECK(want->spec != NULL || c->first[c->parties] == want->features);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    struct columns_want want = {.parties = feed_byte(&f)};
    char text[TEXT_MAX];
    struct error err = {0};
    struct columns c;

    want.features = feed_among(&f, 1, FEATURES_MAX - 1);
    want.shape = shape_of(want.features, feed_among(&f, 0, 16), want.features % 4 == 0);
    if (f.left > 0 && !feed_text(&f, text, sizeof text))
        return 0;
    if (f.left > 0)
        want.spec = text;
    else if (want.parties == 0)
        return 0;
    if (columns_assign(&c, &want, &err) == STATUS_OK) {
        check_columns(&c, &want);
        columns_deinit(&c);
    } else {
        CHECK(err.status == STATUS_CONFIG && err.text[0] != 0 && c.column == NULL);
    }
    return 0;
}
