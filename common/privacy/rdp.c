/* rdp.c -- the exact divergence of the Poisson Binomial Mechanism, and the conversion to (epsilon,
 * delta).
 *
 * With h = 1/2 + beta, l = 1/2 - beta, rho = h/l, N = b M, the worst pair of neighbours is
 *
 *     P = Bin(N, h)    and    Q = Bin(b, l) * Bin(N - b, h)          (* is convolution)
 *
 * in this order: everybody at one end of the range, and in Q the one party at the other.  The
 * reverse order, D(Q || P) or the party as an outlier in P, is smaller, so whoever picks it
 * under-reports.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/rdp.h"

#include "common/base/check.h"
#include "common/base/golden.h"
#include "common/base/mem.h"

#include <math.h>

/* Terms e^-46 below the largest of at most 2^19 terms change a sum by less than its rounding. */
static const double NEGLIGIBLE = 46.0;

/* ln P(s) of P = Bin(n, 1/2 + beta), n + 1 values.  Ratios from the mode outwards, then one
 * normalisation: no term is a difference, and nothing of the size of ln n! ever appears. */
static void fill_ln_p(double *ln_p, size_t n, double beta)
{
    double h = 0.5 + beta, l = 0.5 - beta, sum = 0;
    size_t mode = (size_t)((double)n * h);

    ln_p[mode] = 0;
    for (size_t s = mode; s < n; s++)
        ln_p[s + 1] = ln_p[s] + log((double)(n - s) * h / ((double)(s + 1) * l));
    for (size_t s = mode; s > 0; s--)
        ln_p[s - 1] = ln_p[s] + log((double)s * l / ((double)(n - s + 1) * h));
    for (size_t s = 0; s <= n; s++)
        sum += exp(ln_p[s]);
    sum = log(sum);
    for (size_t s = 0; s <= n; s++)
        ln_p[s] -= sum;
}

/* ln W(s), W(s) = Q(s)/P(s) = rho^b f(s), f(s) = E[x^J], x = rho^-2, J ~ Hypergeometric(N, s, b).
 *
 * f is the hypergeometric polynomial 2F1(-b, -s; -N; 1 - x) and satisfies, in s,
 *
 *     (N - s) f(s+1) = B(s) f(s) + s x f(s-1),     B(s) = N - b (1 - x) - s (1 + x)
 *
 * Where B >= 0 every term is positive walking up from f(0) = 1; where B < 0 every term is positive
 * walking down from f(N) = x^b.  B falls in s, so the two walks cover the table in O(N) steps and
 * nothing ever cancels.  They walk on ratios of neighbours, which neither overflow nor pile up
 * errors. */
static void fill_ln_w(double *ln_w, uint32_t trials, double beta, size_t n)
{
    double h = 0.5 + beta, l = 0.5 - beta, b = trials, big = (double)n;
    double x = l * l / (h * h), lead = big - b * (2 * beta / (h * h)); /* 1 - x = 2 beta / h^2 */
    double ends = b * 2 * atanh(2 * beta);                             /* b ln rho */
    double up = 1, down = 1;
    size_t s;

    ln_w[0] = ends;
    for (s = 0; s < n && lead - (double)s * (1 + x) >= 0; s++) {
        up = (lead - (double)s * (1 + x) + (double)s * x / up) / (double)(n - s); /* f(s+1)/f(s) */
        ln_w[s + 1] = ln_w[s] + log(up);
    }
    ln_w[n] = -ends;
    for (size_t t = n; t > s + 1; t--) {
        down = ((double)t * (1 + x) - lead + (double)(n - t) / down) /
               ((double)t * x); /* f(t-1)/f(t) */
        ln_w[t - 1] = ln_w[t] + log(down);
    }
}

enum status rdp_pbm_init(struct rdp_pbm *t, uint32_t trials, double beta, uint32_t m_eff)
{
    size_t n = (size_t)trials * m_eff;

    CHECK(trials >= 1 && m_eff >= 1 && beta > 0 && beta < 0.5);
    *t = (struct rdp_pbm){.trials = trials, .m_eff = m_eff, .beta = beta};
    if (m_eff == 1)
        return STATUS_OK;
    t->ln_p = mem_alloc(n + 1, sizeof *t->ln_p);
    t->ln_w = mem_alloc(n + 1, sizeof *t->ln_w);
    if (t->ln_p == NULL || t->ln_w == NULL) {
        rdp_pbm_deinit(t);
        return STATUS_MEMORY;
    }
    t->n = n + 1;
    fill_ln_p(t->ln_p, n, beta);
    fill_ln_w(t->ln_w, trials, beta, n);
    return STATUS_OK;
}

void rdp_pbm_deinit(struct rdp_pbm *t)
{
    mem_free(t->ln_p);
    mem_free(t->ln_w);
    *t = (struct rdp_pbm){0};
}

/* ln sum_s P(s) W(s)^-excess, by the largest term. */
static double ln_power_sum(const double *ln_p, const double *ln_w, size_t n, double excess)
{
    double largest = -INFINITY, sum = 0;

    for (size_t s = 0; s < n; s++) {
        double term = ln_p[s] - excess * ln_w[s];

        largest = term > largest ? term : largest;
    }
    for (size_t s = 0; s < n; s++) {
        double term = ln_p[s] - excess * ln_w[s] - largest;

        if (term > -NEGLIGIBLE)
            sum += exp(term);
    }
    return largest + log(sum);
}

/* e^(-excess u) - 1 + excess (e^u - 1): how far W^-excess lies above its tangent at W = 1, for u =
 * ln W. */
static double above_tangent(double u, double excess)
{
    double e = excess;

    if (fabs(u) < 1e-3 && e * fabs(u) < 1e-3) /* e sum_k>=2 u^k/k! (1 + (-1)^k e^(k-1)) */
        return e * u * u *
               ((1 + e) / 2 +
                u * ((1 - e * e) / 6 + u * ((1 + e * e * e) / 24 + u * (1 - e * e * e * e) / 120)));
    return expm1(-e * u) + e * expm1(u);
}

/* sum_s P(s) W(s)^-excess - 1.  Since the sum of P (W - 1) = Q - P is 0, the tangent of W^-excess
 * at W = 1 may be subtracted under the sum; then no term is negative and the digits of a tiny
 * result survive. */
static double power_sum_minus_1(const double *ln_p, const double *ln_w, size_t n, double excess)
{
    double sum = 0;

    for (size_t s = 0; s < n; s++) {
        double u = ln_w[s], grow = u > -excess * u ? u : -excess * u;

        if (ln_p[s] + grow < -2 * NEGLIGIBLE)
            continue;
        if (grow <= 30)
            sum += exp(ln_p[s]) * above_tangent(u, excess);
        else /* one exponential dwarfs the rest, but P alone might underflow */
            sum +=
                exp(ln_p[s] - excess * u) + excess * exp(ln_p[s] + u) - (1 + excess) * exp(ln_p[s]);
    }
    return sum;
}

/* D_alpha(P || Q) = 1/(alpha - 1) ln sum_s P(s) W(s)^(1 - alpha). */
double rdp_divergence(const double *ln_p, const double *ln_w, size_t n, double excess)
{
    double ln_sum;

    CHECK(excess > 0);
    if (isinf(excess))
        return -ln_w[n - 1]; /* W falls in s */
    ln_sum = ln_power_sum(ln_p, ln_w, n, excess);
    if (ln_sum < 0.5)
        ln_sum = log1p(power_sum_minus_1(ln_p, ln_w, n, excess));
    return ln_sum / excess;
}

double rdp_trial(double beta, double excess)
{
    double ln_rho = 2 * atanh(2 * beta);
    double ln_p[2] = {log(0.5 - beta), log(0.5 + beta)}, ln_w[2] = {ln_rho, -ln_rho};

    return rdp_divergence(ln_p, ln_w, 2, excess);
}

double rdp_pbm(const struct rdp_pbm *t, double excess)
{
    if (t->n == 0)
        return t->trials * rdp_trial(t->beta, excess);
    return rdp_divergence(t->ln_p, t->ln_w, t->n, excess);
}

double rdp_gaussian(double shift, double sigma, double excess)
{
    return (1 + excess) * shift * shift / (2 * sigma * sigma);
}

double rdp_discrete_tau(double ratio, uint32_t n)
{
    const double square = 2 * 3.14159265358979323846 * 3.14159265358979323846 * ratio * ratio;
    double sum = 0;

    for (uint32_t k = 1; k < n; k++)
        sum += exp(-square * k / (k + 1.0));
    return 10 * sum;
}

double rdp_discrete(double shift, double sigma, double tau, double coordinates, double excess)
{
    const double s = shift / sigma, linear = s + tau * sqrt(coordinates);

    return (1 + excess) * fmin(s * s + 2 * tau * coordinates, linear * linear) / 2;
}

/* Canonne, Kamath, Steinke 2020, Proposition 12. */
double rdp_epsilon(double rdp, double excess, double delta)
{
    return rdp + log(excess) - log1p(excess) - (log(delta) + log1p(excess)) / excess;
}

struct minimise {
    double (*total)(const void *context, double excess);
    const void *context;
    double delta;
};

static double epsilon_at(void *minimise, double log_excess)
{
    const struct minimise *m = minimise;
    const double excess = exp(log_excess);

    return rdp_epsilon(m->total(m->context, excess), excess, m->delta);
}

/* In alpha the bound is a convex function over alpha - 1, hence quasi-convex, so golden-section
 * search on ln(alpha - 1) finds its minimum.  At whatever order it stops, the bound holds. */
double rdp_minimise(double (*total)(const void *context, double excess), const void *context,
                    double delta, double *excess)
{
    struct minimise m = {.total = total, .context = context, .delta = delta};
    struct golden best;

    CHECK(delta > 0 && delta < 1);
    best = golden_search(epsilon_at, &m, -24, 8, 62);
    *excess = exp(best.at);
    return fmax(best.value, 0);
}
