/* corners.c -- D_alpha at every corner of what the other parties can do.
 *
 * The sum of K1 trials of success h and K2 of success l has the generating function
 * G(z) = (l + h z)^K1 (h + l z)^K2, and (l + h z)(h + l z) G' = (K1 h (h + l z) + K2 l (l + h z)) G
 * gives, for its probabilities c(s) with N = K1 + K2,
 *
 *     l h (s + 1) c(s + 1) = (K1 h^2 + K2 l^2 - (h^2 + l^2) s) c(s) + l h (N - s + 1) c(s - 1)
 *
 * Up to where the bracket changes sign no term is negative; from there on the same holds for the
 * mirror image (K1 and K2, s and N - s change places), walking down.  So nothing cancels, and a law
 * costs O(N).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/corners.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/privacy/rdp.h"

#include <math.h>

const double corners_alpha[CORNERS_ORDERS] = {1.001, 1.01, 1.1, 1.25, 1.5, 2,
                                              4,     8,    16,  32,   64,  256};

/* Trials of success h, of success l, and both. */
struct trials {
    double high, low, beta;
    size_t n;
};

/* ln c(s) - ln c(0) for s = 0..until, into out[s * step]. */
static void walk(double *out, ptrdiff_t step, const struct trials *t, size_t until)
{
    double h = 0.5 + t->beta, l = 0.5 - t->beta, big = (double)t->n;
    double lead = t->high * h * h + t->low * l * l, fall = h * h + l * l, up = 1;

    out[0] = 0;
    for (size_t s = 0; s < until; s++) {
        double back = s == 0 ? 0 : l * h * (big - (double)s + 1) / up;

        up = (lead - fall * (double)s + back) / (l * h * (double)(s + 1)); /* c(s+1)/c(s) */
        out[(ptrdiff_t)(s + 1) * step] = out[(ptrdiff_t)s * step] + log(up);
    }
}

/* Where the bracket changes sign: the last s that is reached with no negative term from below. */
static size_t turn(const struct trials *t)
{
    double h = 0.5 + t->beta, l = 0.5 - t->beta;
    double s = floor((t->high * h * h + t->low * l * l) / (h * h + l * l)) + 1;

    return s < (double)t->n ? (size_t)s : t->n;
}

/* ln of the law of K1 trials of success h and K2 of success l: n + 1 values. */
static void fill_law(double *ln_c, const struct trials *t)
{
    struct trials mirrored = {t->low, t->high, t->beta, t->n};
    size_t at = turn(t);
    double below, sum = 0, largest = -INFINITY;

    walk(ln_c, 1, t, at);
    below = ln_c[at];
    walk(ln_c + t->n, -1, &mirrored, t->n - at);
    /* Both walks have come to `at`: the upper one is moved to where the lower one is. */
    for (size_t s = t->n + 1; s-- > at + 1;)
        ln_c[s] += below - ln_c[at];
    ln_c[at] = below;
    for (size_t s = 0; s <= t->n; s++)
        largest = fmax(largest, ln_c[s]);
    for (size_t s = 0; s <= t->n; s++)
        sum += exp(ln_c[s] - largest);
    sum = largest + log(sum);
    for (size_t s = 0; s <= t->n; s++)
        ln_c[s] -= sum;
}

void corners_figure(const struct corners *c, double out[CORNERS_ORDERS])
{
    struct rdp_pbm t;
    enum status s = rdp_pbm_init(&t, c->trials, c->beta, c->m_eff);

    for (size_t i = 0; i < CORNERS_ORDERS; i++)
        out[i] = s == STATUS_OK ? rdp_pbm(&t, corners_alpha[i] - 1) : NAN;
    if (s == STATUS_OK)
        rdp_pbm_deinit(&t);
}

/* One corner: ln_p and ln_w hold n + 1 values each. */
static void visit(struct corners_found *out, const struct corners *c, uint64_t k, double *ln_p,
                  double *ln_w)
{
    double b = c->trials;
    size_t n = (size_t)c->trials * c->m_eff;
    struct trials p = {b + (double)k, (double)n - b - (double)k, c->beta, n};
    struct trials q = {(double)k, (double)n - (double)k, c->beta, n};

    fill_law(ln_p, &p);
    fill_law(ln_w, &q);
    for (size_t s = 0; s <= n; s++)
        ln_w[s] -= ln_p[s];
    for (size_t i = 0; i < CORNERS_ORDERS; i++) {
        double d = rdp_divergence(ln_p, ln_w, n + 1, corners_alpha[i] - 1);

        if (out->swept == 0 || d > out->divergence[i]) {
            out->divergence[i] = d;
            out->k[i] = k;
        }
    }
    out->swept++;
}

static void judge(struct corners_found *out)
{
    out->holds = true;
    out->excess = -INFINITY;
    for (size_t i = 0; i < CORNERS_ORDERS; i++) {
        double excess = out->divergence[i] / out->figure[i] - 1;

        if (!(excess <= CORNERS_TOLERANCE)) /* a figure that is no number holds nothing */
            out->holds = false;
        if (!(excess <= out->excess)) {
            out->excess = excess;
            out->worst = i;
        }
    }
}

enum status corners_sweep(const struct corners *c, struct corners_found *out)
{
    const size_t outcomes = (size_t)c->trials * c->m_eff + 1;
    const uint64_t others = outcomes - 1 - c->trials;
    double *ln_p = mem_alloc(outcomes, sizeof *ln_p), *ln_w = mem_alloc(outcomes, sizeof *ln_w);
    enum status s = STATUS_MEMORY;

    CHECK(c->trials >= 1 && c->m_eff >= 1 && c->beta > 0 && c->beta < 0.5);
    *out = (struct corners_found){.corners = others + 1};
    out->stride = others * outcomes / (c->work_max > 0 ? c->work_max : CORNERS_WORK_MAX) + 1;
    if (ln_p != NULL && ln_w != NULL) {
        for (uint64_t k = 0; k < others; k += out->stride)
            visit(out, c, k, ln_p, ln_w);
        visit(out, c, others, ln_p, ln_w);
        c->figure(c, out->figure);
        judge(out);
        s = STATUS_OK;
    }
    mem_free(ln_p);
    mem_free(ln_w);
    return s;
}
