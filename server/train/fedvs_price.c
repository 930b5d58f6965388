/* fedvs_price.c -- the price of a plan under fedvs, for each input.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/fedvs_price.h"

#include "common/base/check.h"
#include "common/config/aggregation.h"
#include "common/field/field.h"
#include "common/secagg/fedvs_terms.h"

enum { DEGREES_SHOWN = 3 };

/* The terms of a run with so many features in all, one at each party but the first. */
static enum status terms_of(const struct plan *p, uint32_t features_n, uint32_t degree,
                            struct error *err)
{
    uint32_t features[PLAN_PARTIES_MAX], degrees[PLAN_PARTIES_MAX], parties = p->shape.parties;
    struct fedvs_terms terms;

    for (uint32_t m = 0; m < parties; m++) {
        features[m] = m == 0 ? features_n - (parties - 1) : 1;
        degrees[m] = degree;
    }
    return fedvs_terms_init(&terms, p, parties, features, degrees, err);
}

enum status fedvs_price_check(const struct plan *p, struct error *err)
{
    if (!aggregation_of(p)->polynomial)
        return STATUS_OK;
    return terms_of(p, p->shape.parties, 1, err);
}

uint64_t fedvs_price_inputs(const struct plan *p, enum plan_prime prime, uint32_t degree)
{
    uint32_t most = p->shape.parties - 1, beyond = PLAN_VALUES_MAX + 1;
    struct plan with = *p;

    CHECK(p->shape.parties > 0);
    with.protocol.fedvs.prime = prime;
    while (beyond - most > 1) {
        uint32_t middle = most + (beyond - most) / 2;

        if (terms_of(&with, middle, degree, NULL) == STATUS_OK)
            most = middle;
        else
            beyond = middle;
    }
    return most < p->shape.parties ? 0 : (uint64_t)most * degree;
}

static enum status print_field(const struct plan *p, enum plan_prime prime, struct buf *out)
{
    const struct field *f = prime == PRIME_31 ? &field_31 : &field_61;
    const size_t coded = p->training.batch / p->protocol.fedvs.segments;
    enum status s = buf_printf(
        out, "#   %s: result %zu bytes up, weights %zu bytes an input and other party; sums hold",
        f->name, f->packed(coded * p->model.embedding), f->packed(p->model.embedding));

    for (uint32_t d = 1; s == STATUS_OK && d <= DEGREES_SHOWN; d++)
        s = buf_printf(out, "%s %llu inputs at degree %u", d == 1 ? "" : ",",
                       (unsigned long long)fedvs_price_inputs(p, prime, d), d);
    return s == STATUS_OK ? buf_printf(out, "\n") : s;
}

enum status fedvs_price_print(const struct plan *p, struct buf *out)
{
    const enum plan_prime prime = p->protocol.fedvs.prime;
    const uint32_t results = 2 * (p->protocol.fedvs.segments + p->protocol.fedvs.privacy - 1) + 1;
    enum status s = buf_printf(
        out,
        "# any %u results decode: %u may be late or never come, once all have shared weights\n"
        "# a full training round, with an input for each feature and degree of all parties "
        "together;\n"
        "# up: the result, and weights for the inputs of the party; down: weights for those of the "
        "others,\n"
        "# and the gradient, %zu bytes\n",
        results, p->shape.parties - results,
        sizeof(float) * p->training.batch * (size_t)p->model.embedding);

    if (s == STATUS_OK && prime != PRIME_61)
        s = print_field(p, PRIME_31, out);
    if (s == STATUS_OK && prime != PRIME_31)
        s = print_field(p, PRIME_61, out);
    return s;
}
