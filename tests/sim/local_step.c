/* local_step.c -- the steps of FedBCD and C-VFL, in double, written from the papers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/local_step.h"

#include "tests/sim/world.h"

#include <math.h>
#include <string.h>

const struct plan *local_plan(const struct local_mirror *m)
{
    return &m->sim->plan;
}

static uint64_t turns(const struct local_mirror *m)
{
    return m->sequential ? m->parties : 1;
}

const uint32_t *local_batch(struct local_mirror *m, uint64_t step, uint32_t *n)
{
    return schedule_batch(&m->schedule, step / turns(m), n);
}

bool local_refreshes(const struct local_mirror *m, uint32_t party)
{
    const uint32_t holders = local_plan(m)->protocol.label_holders;

    return m->refreshed && (holders == 0 || party < holders) && m->slip != LOCAL_ALL_STALE;
}

/* eta^r, r being local iterations over the run (FedBCD, section VII). */
static double rate(const struct local_mirror *m, uint32_t q)
{
    const struct plan *p = local_plan(m);
    const double eta = p->training.learning_rate;
    const double r = (double)(m->steps / turns(m) * p->protocol.local_iterations + q);

    if (p->training.schedule == SCHEDULE_CONSTANT || m->slip == LOCAL_CONSTANT)
        return eta;
    if (p->training.schedule == SCHEDULE_INVERSE_SQRT)
        return eta / sqrt(r + 1);
    return eta / sqrt((r + 1) * m->parties);
}

static double pull(const struct local_mirror *m)
{
    return m->slip == LOCAL_NO_PULL ? 0 : local_plan(m)->protocol.proximal;
}

static uint32_t iterations(const struct local_mirror *m)
{
    return m->slip == LOCAL_ONE_STEP ? 1 : local_plan(m)->protocol.local_iterations;
}

/* --- a bottom: C tanh(x W + b) --- */

double local_clip(const struct local_mirror *m)
{
    return local_plan(m)->protocol.clip;
}

static const float *row_of(const struct local_mirror *m, uint32_t party, uint32_t row)
{
    return m->sim->party[party].train.x + (size_t)row * LOCAL_COLUMNS;
}

void local_embed(const struct local_mirror *m, const struct local_bottom *b, const float *x,
                 double *h)
{
    for (uint32_t i = 0; i < m->width; i++) {
        double sum = b->b[i];

        for (uint32_t c = 0; c < LOCAL_COLUMNS; c++)
            sum += (double)x[c] * b->w[c][i];
        h[i] = local_clip(m) * tanh(sum);
    }
}

/* theta -= eta (g + mu (theta - start)). */
static void move(double *theta, double g, double start, double eta, double mu)
{
    *theta -= eta * (g + mu * (*theta - start));
}

/* One local step with g = d loss / d h. */
static void descend(struct local_mirror *m, uint32_t party, const struct local_bottom *start,
                    local_rows g, uint32_t q)
{
    struct local_bottom *b = &m->bottom[party], d = {{{0}}, {0}};
    double h[LOCAL_WIDTH];
    uint32_t n;
    const uint32_t *row = local_batch(m, m->steps, &n);

    for (uint32_t r = 0; r < n; r++) {
        const float *x = row_of(m, party, row[r]);

        local_embed(m, b, x, h);
        for (uint32_t i = 0; i < m->width; i++) {
            double t = h[i] / local_clip(m), s = g[r][i] * local_clip(m) * (1 - t * t);

            for (uint32_t c = 0; c < LOCAL_COLUMNS; c++)
                d.w[c][i] += (double)x[c] * s;
            d.b[i] += s;
        }
    }
    for (uint32_t i = 0; i < m->width; i++) {
        for (uint32_t c = 0; c < LOCAL_COLUMNS; c++)
            move(&b->w[c][i], d.w[c][i], start->w[c][i], rate(m, q), pull(m));
        move(&b->b[i], d.b[i], start->b[i], rate(m, q), pull(m));
    }
}

/* --- the head: softmax(u V + c), cross entropy; under identity softmax(u) --- */

uint32_t local_inputs(const struct local_mirror *m)
{
    return m->apart && !m->most ? m->parties * m->width : m->width;
}

/* What the head takes of one row's columns: under max the largest of each coordinate, and whose it
 * is, of several the first party's. */
static const double *taken(const struct local_mirror *m, const double *u, double *most,
                           uint32_t *whose)
{
    if (!m->most)
        return u;
    for (uint32_t i = 0; i < m->width; i++) {
        whose[i] = 0;
        for (uint32_t p = 1; p < m->parties; p++)
            if (u[p * m->width + i] > u[whose[i] * m->width + i])
                whose[i] = p;
        most[i] = u[whose[i] * m->width + i];
    }
    return most;
}

/* Of rows of the class of y: n / (2 times the training rows of that class), or 1. */
static double class_weight(const struct local_mirror *m, double y)
{
    const uint32_t rows = m->sim->options.train_rows;
    uint32_t same = 0;

    if (local_plan(m)->training.class_weights == CLASS_WEIGHTS_NONE || m->slip == LOCAL_UNWEIGHTED)
        return 1;
    for (uint32_t i = 0; i < rows; i++)
        same += (m->sim->train_target[i] > 0.5F) == (y > 0.5);
    return rows / (2.0 * same);
}

/* d loss / d logits of one row, of n. */
static void slope(const struct local_mirror *m, const struct local_head *head, const double *u,
                  double y, uint32_t n, double *d)
{
    double sum = 0;

    for (uint32_t o = 0; o < LOCAL_OUTPUTS; o++) {
        double logit = m->identity ? u[o] : head->b[o];

        for (uint32_t i = 0; i < local_inputs(m) && !m->identity; i++)
            logit += u[i] * head->w[i][o];
        d[o] = exp(logit);
        sum += d[o];
    }
    for (uint32_t o = 0; o < LOCAL_OUTPUTS; o++)
        d[o] = class_weight(m, y) * (d[o] / sum - ((y > 0.5) == (o == 1) ? 1 : 0)) / n;
}

/* du = d loss / d u at this head. */
static void slopes(struct local_mirror *m, const struct local_head *head, local_fused u,
                   local_fused du)
{
    uint32_t n;
    const uint32_t *row = local_batch(m, m->steps, &n);

    for (uint32_t r = 0; r < n; r++) {
        double d[LOCAL_OUTPUTS], most[LOCAL_WIDTH];
        uint32_t whose[LOCAL_WIDTH] = {0};
        const double *v = taken(m, u[r], most, whose);

        memset(du[r], 0, sizeof du[r]);
        slope(m, head, v, (double)m->sim->train_target[row[r]], n, d);
        for (uint32_t i = 0; i < local_inputs(m); i++) {
            double *to = &du[r][m->most ? whose[i] * m->width + i : i];

            *to = m->identity ? d[i] : 0;
            for (uint32_t o = 0; o < LOCAL_OUTPUTS && !m->identity; o++)
                *to += d[o] * head->w[i][o];
        }
    }
}

/* Local step q of the head on the sums that came (FedBCD, Algorithm 1: party K's own block). */
static void learn(struct local_mirror *m, const struct local_head *start, local_fused u, uint32_t q)
{
    struct local_head g = {{{0}}, {0}};
    uint32_t n;
    const uint32_t *row = local_batch(m, m->steps, &n);

    for (uint32_t r = 0; r < n; r++) {
        double d[LOCAL_OUTPUTS], most[LOCAL_WIDTH];
        uint32_t whose[LOCAL_WIDTH];
        const double *v = taken(m, u[r], most, whose);

        slope(m, &m->head, v, (double)m->sim->train_target[row[r]], n, d);
        for (uint32_t o = 0; o < LOCAL_OUTPUTS; o++) {
            for (uint32_t i = 0; i < local_inputs(m); i++)
                g.w[i][o] += v[i] * d[o];
            g.b[o] += d[o];
        }
    }
    for (uint32_t o = 0; o < LOCAL_OUTPUTS; o++) {
        for (uint32_t i = 0; i < local_inputs(m); i++)
            move(&m->head.w[i][o], g.w[i][o], start->w[i][o], rate(m, q), pull(m));
        move(&m->head.b[o], g.b[o], start->b[o], rate(m, q), pull(m));
    }
}

/* --- a step --- */

double local_factor(const struct local_mirror *m)
{
    return m->mean ? 1.0 / m->parties : 1;
}

static uint32_t first_column(const struct local_mirror *m, uint32_t party)
{
    return m->apart ? party * m->width : 0;
}

/* u += factor of what `from` has for the batch. */
static void add(const struct local_mirror *m, local_fused u, uint32_t party, local_rows from,
                uint32_t n, double sign)
{
    for (uint32_t r = 0; r < n; r++)
        for (uint32_t i = 0; i < m->width; i++)
            u[r][first_column(m, party) + i] += sign * local_factor(m) * from[r][i];
}

/* The party's columns of du, as d loss / d its embedding. */
static void part_of(const struct local_mirror *m, uint32_t party, local_fused du, local_rows g,
                    uint32_t n)
{
    for (uint32_t r = 0; r < n; r++)
        for (uint32_t i = 0; i < m->width; i++)
            g[r][i] = local_factor(m) * du[r][first_column(m, party) + i];
}

static void weigh(struct local_mirror *m, uint32_t party, local_rows g, uint32_t n)
{
    for (uint32_t i = 0; i < m->width; i++) {
        m->importance[party][i] = 0;
        for (uint32_t r = 0; r < n; r++)
            m->importance[party][i] += fabs(g[r][i]);
    }
}

/* What a party takes out of the sum: what it sent, but never its noise.  The slip is the other. */
static void own_part(const struct local_mirror *m, uint32_t party, local_rows own, uint32_t n)
{
    const bool noisy = local_plan(m)->protocol.encoding == ENCODING_PBM ||
                       local_plan(m)->protocol.encoding == ENCODING_GAUSSIAN;
    const bool clipped = noisy && !m->apart && m->slip != LOCAL_EXACT;

    memcpy(own, m->sent[party], n * sizeof *own);
    for (uint32_t r = 0; r < n; r++)
        for (uint32_t i = 0; i < m->width && clipped; i++)
            own[r][i] = fmax(-local_clip(m), fmin(local_clip(m), m->exact[party][r][i]));
    if ((!noisy || m->apart) && m->slip == LOCAL_EXACT)
        memcpy(own, m->exact[party], n * sizeof *own);
}

/* Q steps of one party from the sums u, with `head` where it computes by itself (C-VFL, Algorithm
 * 1, lines 11-14), or with the gradient du of the step (Algorithm 2; FedBCD, a passive party). */
static void descend_all(struct local_mirror *m, uint32_t party, const struct local_head *head,
                        local_fused u, local_fused du)
{
    static local_fused fresh, slopes_now;
    static local_rows g, h, own;
    const struct local_bottom start = m->bottom[party];
    uint32_t n;
    const uint32_t *row = local_batch(m, m->steps, &n);

    own_part(m, party, own, n);
    part_of(m, party, du, g, n);
    for (uint32_t q = 0; q < iterations(m); q++) {
        if (local_refreshes(m, party)) {
            memcpy(fresh, u, sizeof fresh);
            if (m->slip != LOCAL_OWN_TWICE)
                add(m, fresh, party, own, n, -1);
            memcpy(m->others[party], fresh, sizeof fresh);
            for (uint32_t r = 0; r < n; r++)
                local_embed(m, &m->bottom[party], row_of(m, party, row[r]), h[r]);
            add(m, fresh, party, h, n, 1);
            slopes(m, head, fresh, slopes_now);
            part_of(m, party, slopes_now, g, n);
        }
        if (q == 0)
            weigh(m, party, g, n);
        descend(m, party, &start, g, q);
    }
}

static bool has_turn(const struct local_mirror *m, uint32_t party)
{
    return !m->sequential || m->slip == LOCAL_ALL_AT_ONCE || m->steps % m->parties == party;
}

/* What was left out of each record of the batch. */
static void keep_residuals(struct local_mirror *m)
{
    uint32_t n;
    const uint32_t *row = local_batch(m, m->steps, &n);

    for (uint32_t p = 0; p < m->parties; p++) {
        for (uint32_t r = 0; r < n; r++) {
            for (uint32_t i = 0; i < m->width && m->slip != LOCAL_NO_RESIDUAL; i++)
                m->residual[p][row[r]][i] =
                    fmax(-local_clip(m), fmin(local_clip(m), m->exact[p][r][i])) - m->sent[p][r][i];
        }
    }
}

void local_step(struct local_mirror *m, const struct local_head *down)
{
    static local_fused u, du;
    const struct local_head start = m->head;
    bool last = (m->steps + 1) % turns(m) == 0 || m->slip == LOCAL_ALL_AT_ONCE;
    uint32_t n;

    (void)local_batch(m, m->steps, &n);
    memset(u, 0, sizeof u);
    for (uint32_t p = 0; p < m->parties; p++)
        add(m, u, p, m->sent[p], n, 1);
    slopes(m, &start, u, du);
    for (uint32_t q = 0; q < iterations(m) && last && !m->identity; q++)
        learn(m, &start, u, q);
    for (uint32_t p = 0; p < m->parties; p++) {
        if (has_turn(m, p))
            descend_all(m, p, m->slip == LOCAL_LATE_HEAD ? &m->head : down, u, du);
    }
    if (local_plan(m)->protocol.error_feedback)
        keep_residuals(m);
    m->steps++;
}
