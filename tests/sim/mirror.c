/* mirror.c -- linear vertical learning in double: Ignore and VAFL (FedVS, section 6), written from
 * the papers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/mirror.h"

#include "common/base/check.h"
#include "common/flow/agenda.h"
#include "common/flow/dropout.h"
#include "tests/sim/world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLOSE_ENOUGH 2e-5

static const struct plan *plan_of(const struct mirror *m)
{
    return &m->sim->plan;
}

static bool asynchronous(const struct mirror *m)
{
    return plan_of(m)->protocol.straggler == STRAGGLER_ASYNC;
}

static bool concat(const struct mirror *m)
{
    return plan_of(m)->model.fusion == FUSION_CONCAT;
}

static bool takes_most(const struct mirror *m)
{
    return plan_of(m)->model.fusion == FUSION_MAX;
}

static uint32_t parties(const struct mirror *m)
{
    return m->sim->options.parties;
}

static void differ(struct mirror *m, const char *what, uint64_t step, double got, double want)
{
    if (m->wrong[0] == 0 && !(fabs(got - want) < CLOSE_ENOUGH))
        snprintf(m->wrong, sizeof m->wrong, "step %llu: %s is %.7g, should be %.7g",
                 (unsigned long long)step, what, got, want);
}

/* --- a bottom: C tanh(x W + b) --- */

static double clip_of(const struct mirror *m)
{
    return plan_of(m)->protocol.clip;
}

static void embed(const struct mirror *m, uint32_t party, const float *x, double *h)
{
    for (uint32_t i = 0; i < MIRROR_WIDTH; i++) {
        double sum = m->b[party][i];

        for (uint32_t c = 0; c < MIRROR_COLUMNS; c++)
            sum += (double)x[c] * m->w[party][c][i];
        h[i] = clip_of(m) * tanh(sum);
    }
}

static const float *row_of(const struct mirror *m, uint32_t party, uint32_t row)
{
    return m->sim->party[party].train.x + (size_t)row * MIRROR_COLUMNS;
}

static void descend(struct mirror *m, uint32_t party, const uint32_t *row, uint32_t n,
                    double (*g)[MIRROR_WIDTH])
{
    double dw[MIRROR_COLUMNS][MIRROR_WIDTH] = {{0}}, db[MIRROR_WIDTH] = {0}, h[MIRROR_WIDTH];
    const double rate = plan_of(m)->training.learning_rate;

    for (uint32_t r = 0; r < n; r++) {
        const float *x = row_of(m, party, row[r]);

        embed(m, party, x, h);
        for (uint32_t i = 0; i < MIRROR_WIDTH; i++) {
            double t = h[i] / clip_of(m), d = g[r][i] * clip_of(m) * (1 - t * t);

            for (uint32_t c = 0; c < MIRROR_COLUMNS; c++)
                dw[c][i] += (double)x[c] * d;
            db[i] += d;
        }
    }
    for (uint32_t i = 0; i < MIRROR_WIDTH; i++) {
        for (uint32_t c = 0; c < MIRROR_COLUMNS; c++)
            m->w[party][c][i] -= rate * dw[c][i];
        m->b[party][i] -= rate * db[i];
    }
}

/* --- the head: softmax(u V + c), cross entropy --- */

static uint32_t inputs(const struct mirror *m)
{
    return concat(m) ? parties(m) * MIRROR_WIDTH : MIRROR_WIDTH;
}

/* Probabilities of one fused row; returns its loss. */
static double predict(const struct mirror *m, const double *u, double y, double *prob)
{
    double logit[MIRROR_OUTPUTS], sum = 0;

    for (uint32_t o = 0; o < MIRROR_OUTPUTS; o++) {
        logit[o] = m->head_b[o];
        for (uint32_t i = 0; i < inputs(m); i++)
            logit[o] += u[i] * m->head_w[i][o];
        sum += exp(logit[o]);
    }
    for (uint32_t o = 0; o < MIRROR_OUTPUTS; o++)
        prob[o] = exp(logit[o]) / sum;
    return -log(prob[y > 0.5 ? 1 : 0]);
}

typedef double fused_rows[MIRROR_ROWS][MIRROR_PARTIES * MIRROR_WIDTH];

/* du: d loss / d u of every row; then a step of the head. */
static void learn(struct mirror *m, fused_rows u, fused_rows du, const uint32_t *row, uint32_t n)
{
    const double rate = plan_of(m)->training.learning_rate;
    double d[MIRROR_ROWS][MIRROR_OUTPUTS];

    for (uint32_t r = 0; r < n; r++) {
        double y = (double)m->sim->train_target[row[r]];

        (void)predict(m, u[r], y, d[r]);
        d[r][y > 0.5 ? 1 : 0] -= 1;
        for (uint32_t o = 0; o < MIRROR_OUTPUTS; o++)
            d[r][o] /= n;
        for (uint32_t i = 0; i < inputs(m); i++) {
            du[r][i] = 0;
            for (uint32_t o = 0; o < MIRROR_OUTPUTS; o++)
                du[r][i] += d[r][o] * m->head_w[i][o];
        }
    }
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t o = 0; o < MIRROR_OUTPUTS; o++) {
            for (uint32_t i = 0; i < inputs(m); i++)
                m->head_w[i][o] -= rate * u[r][i] * d[r][o];
            m->head_b[o] -= rate * d[r][o];
        }
    }
}

/* --- a step --- */

/* What stands for all M embeddings of a row when some are there.  Sum: that over those there times
 * M / there; mean: their average; concat: zeros for the others; all of these under absent zero, sum
 * and mean as they are.  Returns d u / d embedding. */
static double fuse(const struct mirror *m, double *u, const bool *there, double (*h)[MIRROR_WIDTH])
{
    uint32_t n = 0, all = parties(m);
    double factor;

    memset(u, 0, sizeof(double) * MIRROR_PARTIES * MIRROR_WIDTH);
    for (uint32_t p = 0; p < all; p++)
        n += there[p];
    if (plan_of(m)->protocol.absent == ABSENT_ZERO)
        n = all;
    factor = concat(m) ? 1 : plan_of(m)->model.fusion == FUSION_MEAN ? 1.0 / n : (double)all / n;
    for (uint32_t p = 0; p < all; p++) {
        for (uint32_t i = 0; there[p] && i < MIRROR_WIDTH; i++)
            u[(concat(m) ? p * MIRROR_WIDTH : 0) + i] += factor * h[p][i];
    }
    return factor;
}

/* The largest of those there, and of zeros for the others under absent zero; whose that is. */
static void fuse_most(const struct mirror *m, double *u, uint32_t *whose, const bool *there,
                      double (*h)[MIRROR_WIDTH])
{
    const bool zero = plan_of(m)->protocol.absent == ABSENT_ZERO;

    for (uint32_t i = 0; i < MIRROR_WIDTH; i++) {
        u[i] = -1e9;
        for (uint32_t p = 0; p < parties(m); p++) {
            const double x = there[p] ? h[p][i] : zero ? 0 : -1e10;

            if (x > u[i]) {
                u[i] = x;
                whose[i] = p;
            }
        }
    }
}

/* One step on these rows from the embeddings that `kept` holds where `there` says so. */
static void step(struct mirror *m, const uint32_t *row, uint32_t n, bool (*there)[MIRROR_PARTIES])
{
    static fused_rows u, du;
    uint32_t whose[MIRROR_ROWS][MIRROR_WIDTH];
    double h[MIRROR_PARTIES][MIRROR_WIDTH], factor[MIRROR_ROWS];

    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t p = 0; p < parties(m); p++)
            memcpy(h[p], m->kept[p][row[r]], sizeof h[p]);
        factor[r] = takes_most(m) ? 1 : fuse(m, u[r], there[r], h);
        if (takes_most(m))
            fuse_most(m, u[r], whose[r], there[r], h);
    }
    learn(m, u, du, row, n);
    for (uint32_t p = 0; p < parties(m); p++) {
        for (uint32_t r = 0; r < n; r++) {
            for (uint32_t i = 0; i < MIRROR_WIDTH; i++)
                m->gradient[p][r][i] =
                    takes_most(m) && whose[r][i] != p
                        ? 0
                        : factor[r] * du[r][(concat(m) ? p * MIRROR_WIDTH : 0) + i];
        }
    }
}

/* Each row that has a stand-in in it moves that by what the party's embedding would have got. */
static void teach_stand_in(struct mirror *m, uint32_t party, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++)
        for (uint32_t i = 0; i < MIRROR_WIDTH; i++)
            m->stand_in[party][i] -= plan_of(m)->training.learning_rate * m->gradient[party][r][i];
}

/* Everybody's embeddings of one batch; who is absent or deaf takes no step, and who is left out has
 * a stand-in that does. */
static void synchronous_step(struct mirror *m, uint64_t at)
{
    static bool there[MIRROR_ROWS][MIRROR_PARTIES], out[PLAN_PARTIES_MAX];
    uint32_t n;
    const uint32_t *row = schedule_batch(&m->schedule[0], at, &n);

    (void)dropout_of(out, plan_of(m), at);
    for (uint32_t p = 0; p < parties(m); p++) {
        for (uint32_t r = 0; r < n; r++) {
            there[r][p] = !((m->absent[at] | m->away[at]) >> p & 1);
            if (out[p])
                memcpy(m->kept[p][row[r]], m->stand_in[p], sizeof m->stand_in[p]);
            else
                embed(m, p, row_of(m, p, row[r]), m->kept[p][row[r]]);
        }
        m->left_out += out[p];
    }
    step(m, row, n, there);
    for (uint32_t p = 0; p < parties(m); p++) {
        if (out[p])
            teach_stand_in(m, p, n);
        else if (!((m->absent[at] | m->away[at] | m->deaf[at]) >> p & 1))
            descend(m, p, row, n, m->gradient[p]);
        m->taken[p] = at + 1;
    }
}

/* One party's embeddings of a batch of its own; the others' as they last came. */
static void arrival(struct mirror *m, uint32_t party)
{
    static bool there[MIRROR_ROWS][MIRROR_PARTIES];
    uint32_t n;
    const uint32_t *row = schedule_batch(&m->schedule[party], m->taken[party], &n);

    for (uint32_t r = 0; r < n; r++) {
        embed(m, party, row_of(m, party, row[r]), m->kept[party][row[r]]);
        m->seen[party][row[r]] = true;
        for (uint32_t p = 0; p < parties(m); p++) {
            there[r][p] = m->seen[p][row[r]];
            m->unseen += !there[r][p];
            m->stale += there[r][p] && p != party;
        }
    }
    step(m, row, n, there);
    descend(m, party, row, n, m->gradient[party]);
    m->taken[party]++;
    m->arrivals++;
}

/* --- listening --- */

static void compare_gradient(struct mirror *m, uint32_t party, const struct wire_broadcast *b)
{
    size_t n = b->gradient.n / sizeof(float);

    for (size_t i = 0; i < n; i++) {
        float got;

        memcpy(&got, b->gradient.data + i * sizeof got, sizeof got);
        differ(m, "a gradient", b->close_step, (double)got,
               m->gradient[party][i / MIRROR_WIDTH][i % MIRROR_WIDTH]);
    }
}

static void hear_broadcast(struct wire_msg *msg, void *owner)
{
    const struct mirror_ear *ear = owner;
    struct mirror *m = ear->mirror;
    const struct wire_broadcast *b = &msg->broadcast;
    uint32_t absent = 0;

    if (!b->closes)
        return;
    CHECK(b->close_step < MIRROR_STEPS);
    for (size_t i = 0; i < b->absent.n; i++)
        absent |= 1u << b->absent.data[i];
    differ(m, "the set of the absent", b->close_step, absent, m->absent[b->close_step]);
    if (asynchronous(m)) {
        differ(m, "an arrival's own step", b->close_step, (double)b->close_step,
               (double)m->taken[ear->party]);
        arrival(m, ear->party);
    } else if (b->close_step == m->arrivals) {
        synchronous_step(m, m->arrivals++);
    }
    compare_gradient(m, ear->party, b);
}

/* The bottom as it is before the first step. */
static void hear_hello(struct wire_msg *msg, void *owner)
{
    const struct mirror_ear *ear = owner;
    struct mirror *m = ear->mirror;
    const struct nn_layer *l = &party_session_bottom(m->sim->party[ear->party].session)->layer[0];

    (void)msg;
    CHECK(l->in == MIRROR_COLUMNS && l->out == MIRROR_WIDTH);
    for (uint32_t i = 0; i < MIRROR_WIDTH; i++) {
        for (uint32_t c = 0; c < MIRROR_COLUMNS; c++)
            m->w[ear->party][c][i] = (double)l->w[c * MIRROR_WIDTH + i];
        m->b[ear->party][i] = (double)l->b[i];
    }
}

void mirror_init(struct mirror *m, struct sim *s)
{
    const struct nn_layer *l = &server_session_head(s->server)->layer[0];
    const struct plan *p = &s->plan;

    memset(m, 0, sizeof *m);
    m->sim = s;
    CHECK(parties(m) <= MIRROR_PARTIES && s->options.train_rows <= MIRROR_ROWS);
    CHECK(l->in == inputs(m) && l->out == MIRROR_OUTPUTS && p->model.embedding == MIRROR_WIDTH);
    for (uint32_t o = 0; o < MIRROR_OUTPUTS; o++) {
        for (uint32_t i = 0; i < inputs(m); i++)
            m->head_w[i][o] = (double)l->w[i * MIRROR_OUTPUTS + o];
        m->head_b[o] = (double)l->b[o];
    }
    for (uint32_t i = 0; i < parties(m); i++) {
        m->ear[i] = (struct mirror_ear){m, i};
        CHECK(schedule_init(&m->schedule[i], agenda_seed(p, i), p->shape.train_rows,
                            p->training.batch, p->protocol.fedvs.segments) == STATUS_OK);
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = (int)i,
                                      .kind = WIRE_HELLO,
                                      .nth = 1,
                                      .alter = hear_hello,
                                      .owner = &m->ear[i]});
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = (int)i,
                                      .kind = WIRE_BROADCAST,
                                      .alter = hear_broadcast,
                                      .owner = &m->ear[i]});
    }
}

void mirror_deinit(struct mirror *m)
{
    for (uint32_t i = 0; i < parties(m); i++)
        schedule_deinit(&m->schedule[i]);
}

/* --- at the end --- */

static double test_loss(const struct mirror *m)
{
    double u[MIRROR_PARTIES * MIRROR_WIDTH], h[MIRROR_PARTIES][MIRROR_WIDTH], prob[MIRROR_OUTPUTS],
        loss = 0;
    const bool all[MIRROR_PARTIES] = {true, true, true, true, true};
    uint32_t whose[MIRROR_WIDTH];
    uint32_t n = m->sim->options.test_rows;

    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t p = 0; p < parties(m); p++)
            embed(m, p, m->sim->party[p].test.x + (size_t)r * MIRROR_COLUMNS, h[p]);
        if (takes_most(m))
            fuse_most(m, u, whose, all, h);
        else
            (void)fuse(m, u, all, h);
        loss += predict(m, u, (double)m->sim->test_target[r], prob) / n;
    }
    return loss;
}

void mirror_compare(struct mirror *m)
{
    const struct nn_layer *head = &server_session_head(m->sim->server)->layer[0];

    for (uint32_t p = 0; p < parties(m); p++) {
        const struct nn_layer *l = &party_session_bottom(m->sim->party[p].session)->layer[0];

        for (uint32_t i = 0; i < MIRROR_COLUMNS * MIRROR_WIDTH; i++)
            differ(m, "a weight of a bottom", m->taken[p], (double)l->w[i],
                   m->w[p][i / MIRROR_WIDTH][i % MIRROR_WIDTH]);
    }
    for (uint32_t i = 0; i < inputs(m) * MIRROR_OUTPUTS; i++)
        differ(m, "a weight of the head", m->arrivals, (double)head->w[i],
               m->head_w[i / MIRROR_OUTPUTS][i % MIRROR_OUTPUTS]);
    for (uint32_t i = 0; head[1].w != NULL && i < parties(m) * MIRROR_WIDTH; i++)
        differ(m, "a stand-in", m->arrivals, (double)head[1].w[i],
               m->stand_in[i / MIRROR_WIDTH][i % MIRROR_WIDTH]);
    differ(m, "the loss over the test rows", m->arrivals,
           sim_server_report(m->sim)->measured.scored.test.value[SCORE_LOSS], test_loss(m));
}
