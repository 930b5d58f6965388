/* fedvs_terms.h -- what a run of FedVS is made of: field, sizes, fixed point, and why no sum wraps.
 *
 * FedVS (Li, Yao, Liu 2023), sections 4.1 to 4.3.  Member m has d_m features and a polynomial
 * bottom of degree D_m: inputs[m] = d_m D_m columns, power by power as in common/nn/polynomial.h,
 * (x, x^2, ..., x^D), and W_m of inputs[m] x P.
 *
 *   data     Round(2^x_bits x^i), nearest, x cut off at x_max first          (section 4.2)
 *   weights  floor(v) + 1 with odds v - floor(v), else floor(v), v = 2^w_bits w, w cut off at
 *            w_max first: the mean is v                                      (eq. 3)
 *   sums     a field element x <= (p-1)/2 is itself, any other x - p; times 2^-(x_bits + w_bits)
 *            (eq. 7, without its 1/N)
 *
 * A decoded value is a sum of products of the two.  None is larger in size than
 *
 *   bound = sum over m, i of d_m Round(2^x_bits x_max^i) ceil(2^w_bits w_max),
 *
 * which inputs and weights at their limits reach; bound <= (p-1)/2, so the field does not wrap and
 * what a server decodes beyond the bound is nobody's honest sum (threats C5).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_FEDVS_TERMS_H
#define COLONNADE_SECAGG_FEDVS_TERMS_H

#include "common/base/status.h"
#include "common/config/plan.h"
#include "common/crypto/rng.h"
#include "common/field/field.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FEDVS_KEYS_MAX = 512 /* subset keys of one member (zero.h) */ };

struct fedvs_terms {
    const struct field *field; /* NULL: no terms */
    uint32_t parties;          /* M */
    uint32_t width;            /* P */
    uint32_t segments, privacy;
    uint32_t x_bits, w_bits;
    double x_max, w_max;
    uint32_t inputs_n; /* all members' inputs: the columns of a row */
    uint32_t inputs[PLAN_PARTIES_MAX];
    uint32_t degree[PLAN_PARTIES_MAX];
    uint64_t bound; /* the largest size of a sum */
};

/* features[parties], degree[parties]: of each member's signed hello.  STATUS_CONFIG, with the
 * numbers: a member without a polynomial or without features (named by its index), more results
 * needed than there are members, more than FEDVS_KEYS_MAX subset keys a member, more than
 * PLAN_VALUES_MAX weights, or a bound that the plan's prime (auto: the larger one) does not hold.
 * auto takes the smaller prime that holds.  On failure *t is zeroed. */
enum status fedvs_terms_init(struct fedvs_terms *t, const struct plan *p, uint32_t parties,
                             const uint32_t *features, const uint32_t *degree,
                             struct error *err) MUST_USE;

/* How large one member's embedding value may be: the bound of who has the largest one, not rounded;
 * 0 without terms.  Everybody knows it who knows the hellos. */
double fedvs_reach(const struct fedvs_terms *t);

/* Columns of all members before `member`. */
uint32_t fedvs_inputs_before(const struct fedvs_terms *t, uint32_t member);

/* out[n]: the power i >= 1 of x[n]; powers are rounded to double one after another.  What is not
 * finite counts as 0. */
void fedvs_quantise_x(const struct fedvs_terms *t, int64_t *out, const float *x, size_t n,
                      uint32_t power);
/* out[n] of w[n], one draw of `noise` for each; *clipped counts those beyond w_max.  What is not
 * finite counts as 0. */
void fedvs_quantise_w(const struct fedvs_terms *t, int64_t *out, const float *w, size_t n,
                      struct rng *noise, uint64_t *clipped);
/* out[n] from sums[n]. */
void fedvs_real(const struct fedvs_terms *t, float *out, const int64_t *sums, size_t n);

#endif
