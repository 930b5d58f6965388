/* dealing.c -- cutting coded rows in chunks, and comparing what members hold.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/dealing.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/crypto/digest.h"
#include "common/data/segments.h"
#include "common/wire/purpose.h"

#include <string.h>

enum status dealing_terms(struct fedvs_terms *t, const struct plan *p,
                          const struct agree_hello *hellos, uint32_t n, struct error *err)
{
    uint32_t features[WIRE_MEMBERS_MAX], degree[WIRE_MEMBERS_MAX];

    for (uint32_t m = 0; m < n; m++) {
        features[m] = hellos[m].features;
        degree[m] = hellos[m].degree;
    }
    return fedvs_terms_init(t, p, n, features, degree, err);
}

static uint32_t coded_rows(uint32_t rows, uint32_t k)
{
    struct segments s;

    segments_init(&s, rows, k);
    return s.len;
}

static uint32_t chunks_of(uint32_t rows, uint32_t chunk_rows)
{
    return rows / chunk_rows + (rows % chunk_rows != 0);
}

void dealing_make(struct dealing *d, const struct plan *p, const struct fedvs_terms *t)
{
    uint64_t row = 0; /* bytes of one coded row in the longest Share */
    uint32_t most;

    for (uint32_t m = 0; m < p->shape.parties; m++)
        row = t->inputs[m] > row ? t->inputs[m] : row;
    row *= (uint64_t)(p->shape.parties - 1) * t->field->bytes;
    CHECK(row > 0);
    d->train_len = coded_rows(p->shape.train_rows, t->segments);
    d->test_len = coded_rows(p->shape.test_rows, t->segments);
    most = d->train_len > d->test_len ? d->train_len : d->test_len;
    CHECK(most > 0);
    d->chunk_rows = DEALING_SHARE_BYTES / row < most ? (uint32_t)(DEALING_SHARE_BYTES / row) : most;
    if (d->chunk_rows == 0)
        d->chunk_rows = 1;
    d->chunks =
        (uint64_t)chunks_of(d->train_len, d->chunk_rows) + chunks_of(d->test_len, d->chunk_rows);
}

struct dealing_chunk dealing_chunk(const struct dealing *d, uint64_t c)
{
    const uint64_t train = chunks_of(d->train_len, d->chunk_rows);
    struct dealing_chunk out = {.test = c >= train};
    uint32_t len = out.test ? d->test_len : d->train_len;

    CHECK(c < d->chunks);
    out.first = (uint32_t)(out.test ? c - train : c) * d->chunk_rows;
    out.rows = len - out.first < d->chunk_rows ? len - out.first : d->chunk_rows;
    return out;
}

void dealing_holds(uint8_t out[WIRE_DIGEST_BYTES], const struct agree_hello *hellos, size_t n)
{
    struct digest d;

    digest_begin(&d);
    for (size_t i = 0; i < n; i++) {
        uint8_t shape[8];

        CHECK(hellos[i].has_dealing);
        le_put(shape, hellos[i].features, 4);
        le_put(shape + 4, hellos[i].degree, 4);
        digest_update(&d, hellos[i].dealing, sizeof hellos[i].dealing);
        digest_update(&d, shape, sizeof shape);
    }
    digest_final(&d, out);
    digest_deinit(&d);
}

uint64_t dealing_start(const struct agree_hello *hellos, size_t n)
{
    uint8_t all[WIRE_DIGEST_BYTES];
    uint64_t least = UINT64_MAX;

    dealing_holds(all, hellos, n);
    for (size_t i = 0; i < n; i++) {
        if (!hellos[i].has_holds || memcmp(hellos[i].holds, all, sizeof all) != 0)
            return 0;
        least = hellos[i].held < least ? hellos[i].held : least;
    }
    return least;
}

enum secagg_part dealing_part(enum wire_purpose purpose)
{
    const struct purpose *is = purpose_of(purpose);

    if (!is->deals)
        return SECAGG_PART_ROUND;
    return is->keys ? SECAGG_PART_KEYS : SECAGG_PART_DATA;
}
