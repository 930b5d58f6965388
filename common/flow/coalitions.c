/* coalitions.c -- orders by a public stream, and the sets on their way.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/coalitions.h"

#include "common/base/check.h"
#include "common/crypto/rng.h"

#include <string.h>

void coalition_remove(struct coalition *c, uint32_t party)
{
    c->without[party / 64] |= UINT64_C(1) << party % 64;
}

bool coalition_equal(const struct coalition *a, const struct coalition *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

struct coalition coalition_none(uint32_t n)
{
    struct coalition c = {{0}};

    for (uint32_t i = 0; i < n; i++)
        coalition_remove(&c, i);
    return c;
}

enum status coalitions_shuffle(uint32_t *list, uint32_t n, uint64_t seed, uint32_t party,
                               const char *purpose, uint64_t place)
{
    uint8_t key[RNG_KEY_BYTES];
    struct rng stream = {0};
    enum status s;

    rng_seed_key(key, seed, party, purpose, place);
    s = rng_init_key(&stream, key);
    for (uint32_t i = n; s == STATUS_OK && i-- > 1;) {
        const uint32_t j = (uint32_t)rng_below(&stream, i + 1), was = list[i];

        list[i] = list[j];
        list[j] = was;
    }
    rng_deinit(&stream);
    return s;
}

enum status coalitions_order(uint32_t *order, uint32_t n, uint32_t k)
{
    enum status s;

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    s = coalitions_shuffle(order, n, n, 0, "orders", k / 2);
    for (uint32_t i = 0; k % 2 == 1 && i < n / 2; i++) {
        const uint32_t was = order[i];

        order[i] = order[n - 1 - i];
        order[n - 1 - i] = was;
    }
    return s;
}

/* --- what has to be asked --- */

static enum status add(struct coalition out[COALITIONS_MAX], size_t *n, const struct coalition *c)
{
    for (size_t i = 0; i < *n; i++)
        if (coalition_equal(&out[i], c))
            return STATUS_OK;
    if (*n == COALITIONS_MAX)
        return STATUS_LIMIT;
    out[(*n)++] = *c;
    return STATUS_OK;
}

/* All but who stands in the order from some place on, for each place. */
static enum status add_order(struct coalition out[COALITIONS_MAX], size_t *n, uint32_t parties,
                             uint32_t k)
{
    uint32_t order[PLAN_PARTIES_MAX];
    struct coalition c = {{0}};
    enum status s = coalitions_order(order, parties, k);

    for (uint32_t i = parties; s == STATUS_OK && i-- > 1;) {
        coalition_remove(&c, order[i]);
        s = add(out, n, &c);
    }
    return s;
}

enum status coalitions_list(struct coalition out[COALITIONS_MAX], size_t *n, uint32_t parties,
                            uint32_t orders)
{
    struct coalition c = {{0}};
    enum status s;

    CHECK(parties > 0 && parties <= PLAN_PARTIES_MAX);
    CHECK(orders > 0 || parties <= COALITIONS_WHOLE_MAX);
    *n = 0;
    s = add(out, n, &c);
    for (uint32_t i = 0; s == STATUS_OK && i < parties && parties > 1; i++) {
        c = (struct coalition){{0}};
        coalition_remove(&c, i);
        s = add(out, n, &c);
    }
    for (uint32_t bits = 1; orders == 0 && s == STATUS_OK && bits + 1 < 1u << parties; bits++) {
        c = (struct coalition){{bits}};
        s = add(out, n, &c);
    }
    for (uint32_t k = 0; s == STATUS_OK && k < orders; k++)
        s = add_order(out, n, parties, k);
    return s;
}
