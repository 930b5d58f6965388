/* fedvs_terms.c -- sizes of a run of FedVS, the proof that its sums fit, and fixed point.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/fedvs_terms.h"

#include "common/base/check.h"
#include "common/base/finite.h"
#include "common/crypto/secret.h"
#include "common/secagg/zero.h"

#include <math.h>
#include <string.h>

_Static_assert((int)FEDVS_KEYS_MAX == (int)ZERO_KEYS_MAX, "the limit of zero.h");

/* --- the proof --- */

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Of a value that is not negative; what no int64_t holds no prime does. */
static uint64_t integer(double v)
{
    return v < 0x1p62 ? (uint64_t)v : UINT64_MAX;
}

/* The largest sizes that fedvs_quantise_x() gives powers 1 to `degree`, added up: it is monotone in
 * the size of x.  A degree is what a hello says: each power costs one step. */
static uint64_t powers_max(const struct fedvs_terms *t, uint32_t degree)
{
    uint64_t sum = 0;
    double v = 1;

    for (uint32_t i = 1; i <= degree; i++) {
        v *= t->x_max;
        sum = add(sum, integer(nearbyint(ldexp(v, (int)t->x_bits))));
    }
    return sum;
}

static uint64_t weight_max(const struct fedvs_terms *t)
{
    return integer(ceil(ldexp(t->w_max, (int)t->w_bits)));
}

static uint64_t bound_of(const struct fedvs_terms *t)
{
    uint64_t powers = 0;

    for (uint32_t m = 0; m < t->parties; m++)
        powers = add(powers, multiply(t->inputs[m] / t->degree[m], powers_max(t, t->degree[m])));
    return multiply(powers, weight_max(t));
}

static bool holds(const struct field *f, uint64_t bound)
{
    return bound <= (f->p - 1) / 2;
}

static enum status choose_field(struct fedvs_terms *t, enum plan_prime prime, struct error *err)
{
    const bool small = prime == PRIME_31 || (prime == PRIME_AUTO && holds(&field_31, t->bound));
    const struct field *f = small ? &field_31 : &field_61;

    if (!holds(f, t->bound)) {
        const double over = log2((double)t->bound) - log2((double)(f->p / 2));

        return error_set(err, STATUS_CONFIG,
                         "fedvs: a sum over %u inputs may reach %s%llu, and the prime %s holds up "
                         "to %llu: protocol.fedvs.x_bits and w_bits are %d too many together, or "
                         "x_max and w_max too large",
                         t->inputs_n, t->bound == UINT64_MAX ? "more than " : "",
                         (unsigned long long)t->bound, f->name, (unsigned long long)(f->p / 2),
                         over > 1 ? (int)ceil(over) : 1);
    }
    t->field = f;
    return STATUS_OK;
}

/* --- sizes --- */

static enum status set_inputs(struct fedvs_terms *t, const uint32_t *features,
                              const uint32_t *degree, struct error *err)
{
    const uint64_t inputs_max = PLAN_VALUES_MAX / t->width;
    uint64_t all = 0;

    for (uint32_t m = 0; m < t->parties; m++) {
        const uint64_t inputs = (uint64_t)features[m] * degree[m];

        if (inputs == 0)
            return error_set(err, STATUS_CONFIG,
                             "fedvs: member %u has %u features and degree %u: every bottom must be "
                             "a polynomial (model.polynomial.degree)",
                             m, features[m], degree[m]);
        all = add(all, inputs);
        if (all > inputs_max)
            return error_set(err, STATUS_CONFIG,
                             "fedvs: members 0 to %u have %llu inputs (features times degree), and "
                             "at an embedding of %u there are at most %llu",
                             m, (unsigned long long)all, t->width, (unsigned long long)inputs_max);
        t->inputs[m] = (uint32_t)inputs;
        t->degree[m] = degree[m];
    }
    t->inputs_n = (uint32_t)all;
    return STATUS_OK;
}

static enum status check_members(const struct fedvs_terms *t, struct error *err)
{
    const uint64_t results = 2 * ((uint64_t)t->segments + t->privacy - 1) + 1;
    const uint64_t keys = zero_keys_n(t->parties, t->privacy);

    if (t->segments < 1 || t->privacy < 1 || results > t->parties)
        return error_set(err, STATUS_CONFIG,
                         "fedvs: %u segments and privacy %u need 2 (%u + %u - 1) + 1 = %llu "
                         "results, of %u parties",
                         t->segments, t->privacy, t->segments, t->privacy,
                         (unsigned long long)results, t->parties);
    if (keys > ZERO_KEYS_MAX)
        return error_set(err, STATUS_CONFIG,
                         "fedvs: %u parties and privacy %u need %llu subset keys at each, above "
                         "%d",
                         t->parties, t->privacy, (unsigned long long)keys, (int)ZERO_KEYS_MAX);
    return STATUS_OK;
}

enum status fedvs_terms_init(struct fedvs_terms *t, const struct plan *p, uint32_t parties,
                             const uint32_t *features, const uint32_t *degree, struct error *err)
{
    enum status s;

    CHECK(parties >= 1 && parties <= PLAN_PARTIES_MAX && p->model.embedding >= 1);
    *t = (struct fedvs_terms){
        .parties = parties,
        .width = p->model.embedding,
        .segments = p->protocol.fedvs.segments,
        .privacy = p->protocol.fedvs.privacy,
        .x_bits = p->protocol.fedvs.x_bits,
        .w_bits = p->protocol.fedvs.w_bits,
        .x_max = p->protocol.fedvs.x_max,
        .w_max = p->protocol.fedvs.w_max,
    };
    CHECK(t->x_max > 0 && t->w_max > 0 && t->x_bits < 62 && t->w_bits < 62);
    s = check_members(t, err);
    if (s == STATUS_OK)
        s = set_inputs(t, features, degree, err);
    if (s == STATUS_OK) {
        t->bound = bound_of(t);
        s = choose_field(t, p->protocol.fedvs.prime, err);
    }
    if (s != STATUS_OK)
        memset(t, 0, sizeof *t);
    return s;
}

double fedvs_reach(const struct fedvs_terms *t)
{
    double most = 0;

    for (uint32_t m = 0; t->field != NULL && m < t->parties; m++) {
        double powers = 0, v = 1;

        for (uint32_t i = 1; i <= t->degree[m]; i++) {
            v *= t->x_max;
            powers += v;
        }
        most = fmax(most, t->inputs[m] / t->degree[m] * powers * t->w_max);
    }
    return most;
}

uint32_t fedvs_inputs_before(const struct fedvs_terms *t, uint32_t member)
{
    uint32_t n = 0;

    CHECK(member < t->parties);
    for (uint32_t m = 0; m < member; m++)
        n += t->inputs[m];
    return n;
}

/* --- fixed point --- */

enum { DRAWS = 256 /* that are made at once */ };

static double cut(double v, double max)
{
    v = v > -max ? v : -max;
    return v < max ? v : max;
}

/* floor(v); the compiler's own begins with a branch on v. */
static int64_t whole_below(double v)
{
    const int64_t toward_zero = (int64_t)v;

    return toward_zero - ((double)toward_zero > v);
}

void fedvs_quantise_x(const struct fedvs_terms *t, int64_t *out, const float *x, size_t n,
                      uint32_t power)
{
    const double scale = ldexp(1, (int)t->x_bits);

    CHECK(power >= 1);
    for (size_t k = 0; k < n; k++) {
        const double v = cut((double)finite_or_zero(x[k]), t->x_max);
        double y = v;

        for (uint32_t i = 1; i < power; i++)
            y *= v;
        out[k] = (int64_t)nearbyint(y * scale);
    }
}

void fedvs_quantise_w(const struct fedvs_terms *t, int64_t *out, const float *w, size_t n,
                      struct rng *noise, uint64_t *clipped)
{
    const double scale = ldexp(1, (int)t->w_bits);
    uint64_t draw[DRAWS];

    for (size_t k = 0; k < n; k++) {
        const double v = cut((double)finite_or_zero(w[k]), t->w_max) * scale;
        const int64_t below = whole_below(v);

        if (k % DRAWS == 0)
            rng_fill(noise, draw, (n - k < DRAWS ? n - k : DRAWS) * sizeof *draw);
        *clipped += !(fabs((double)w[k]) <= t->w_max);
        out[k] = below + ((double)(draw[k % DRAWS] >> 11) * 0x1p-53 < v - (double)below);
    }
    secret_wipe(draw, sizeof draw);
}

void fedvs_real(const struct fedvs_terms *t, float *out, const int64_t *sums, size_t n)
{
    const double unit = ldexp(1, -(int)(t->x_bits + t->w_bits));

    for (size_t k = 0; k < n; k++)
        out[k] = (float)(unit * (double)sums[k]);
}
