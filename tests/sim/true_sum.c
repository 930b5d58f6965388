/* true_sum.c -- codes of each party once more, and their sum.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/true_sum.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/rng.h"
#include "common/flow/dropout.h"
#include "common/secagg/encode.h"
#include "common/wire/purpose.h"
#include "server/parts.h"
#include "tests/sim/inside.h"
#include "tests/sim/world.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What one party was about to hide. */
struct codes {
    uint64_t generation, round;
    uint8_t trail[WIRE_DIGEST_BYTES]; /* what this party had been shown by then */
    size_t n, max;
    uint32_t *q;
    float *y;
    int64_t *z; /* fedvs */
};

enum { NOTHING_MAX = 1024 };

struct true_sum {
    struct codes *of; /* by party */
    uint32_t parties;
    struct rng noise;
    int64_t *w, *power; /* fedvs: a party's weights, a row's inputs */
    size_t w_max, power_max;
    float *want;
    uint32_t *sum;
    size_t max;
    float nothing[NOTHING_MAX]; /* zeros: of a party that is left out */
};

struct true_sum *true_sum_new(const struct sim *s)
{
    static const uint8_t key[RNG_KEY_BYTES];
    struct true_sum *t = mem_alloc(1, sizeof *t);

    CHECK(t != NULL && rng_init_key(&t->noise, key) == STATUS_OK);
    t->parties = s->options.parties;
    t->of = mem_alloc(t->parties, sizeof *t->of);
    CHECK(t->of != NULL);
    return t;
}

void true_sum_free(struct true_sum *t)
{
    if (t == NULL)
        return;
    for (uint32_t i = 0; i < t->parties; i++) {
        mem_free(t->of[i].q);
        mem_free(t->of[i].y);
        mem_free(t->of[i].z);
    }
    rng_deinit(&t->noise);
    mem_free(t->of);
    mem_free(t->want);
    mem_free(t->sum);
    mem_free(t->w);
    mem_free(t->power);
    mem_free(t);
}

static bool sums(const struct sim *s)
{
    return s->plan.protocol.straggler != STRAGGLER_ASYNC;
}

static bool multiplies(const struct sim *s)
{
    return s->plan.protocol.aggregation == AGGREGATION_FEDVS;
}

static bool knows_noise(const struct sim *s)
{
    enum plan_encoding e = s->plan.protocol.encoding;

    if (multiplies(s))
        return !s->options.unseeded; /* it rounds weights */
    return !s->options.unseeded || e == ENCODING_FIXED || e == ENCODING_FLOAT32 ||
           plan_compresses(&s->plan);
}

static void *room(void *block, size_t had, size_t want, size_t size)
{
    block = want > had ? mem_grow(block, had * size, want * size) : block;
    CHECK(block != NULL);
    return block;
}

/* --- fedvs: rows times weights, both in fixed point --- */

/* The rows of a round, in the order of its sums: a row in each segment for each coded row. */
static size_t rows_of(const struct party_session *p, uint32_t **row)
{
    const struct party_task *task = &inside(p)->round.task;
    bool test = task->purpose == PURPOSE_EVALUATE_TEST;
    uint32_t rows = test ? inside(p)->course.plan.shape.test_rows
                         : inside(p)->course.plan.shape.train_rows,
             k = inside(p)->course.plan.protocol.fedvs.segments, len = (rows + k - 1) / k;
    size_t n = 0;

    *row = mem_alloc((size_t)k * task->coded + 1, sizeof **row);
    CHECK(*row != NULL);
    for (uint32_t segment = 0; segment < k; segment++) {
        for (uint32_t i = 0; i < task->coded; i++) {
            uint32_t at = segment * len + inside(p)->round.coded[i];
            if (at < rows)
                (*row)[n++] = at;
        }
    }
    return n;
}

static void multiply(struct true_sum *t, const struct party_session *p, struct codes *c,
                     const float *x)
{
    const struct fedvs_terms *terms = &inside(p)->round.shape.terms;
    uint32_t d = (uint32_t)p->setup.data.train->cols, degree = p->setup.config->degree,
             width = inside(p)->course.plan.model.embedding;

    for (uint32_t i = 1; i <= degree; i++)
        fedvs_quantise_x(terms, t->power + (size_t)(i - 1) * d, x, d, i);
    for (uint32_t k = 0; k < width; k++) {
        int64_t sum = 0;
        for (uint32_t i = 0; i < d * degree; i++)
            sum += t->power[i] * t->w[(size_t)i * width + k];
        c->z[c->n++] = sum;
    }
}

static void multiply_rows(struct true_sum *t, const struct party_session *p, struct codes *c)
{
    const struct nn_layer *model = &inside(p)->learner.bottom.net.layer[0];
    const struct table *table = inside(p)->round.task.purpose == PURPOSE_EVALUATE_TEST
                                    ? p->setup.data.test
                                    : p->setup.data.train;
    size_t weights = (size_t)model->in * model->out, rows, inputs = model->in;
    uint64_t clipped = 0;
    uint32_t *row;

    t->w = room(t->w, t->w_max, weights, sizeof *t->w);
    t->w_max = weights > t->w_max ? weights : t->w_max;
    t->power = room(t->power, t->power_max, inputs, sizeof *t->power);
    t->power_max = inputs > t->power_max ? inputs : t->power_max;
    fedvs_quantise_w(&inside(p)->round.shape.terms, t->w, model->w, weights, &t->noise, &clipped);
    rows = rows_of(p, &row);
    c->z = room(c->z, c->max, rows * model->out, sizeof *c->z);
    c->max = rows * model->out > c->max ? rows * model->out : c->max;
    c->n = 0;
    for (size_t r = 0; r < rows; r++)
        multiply(t, p, c, table->x + row[r] * table->cols);
    mem_free(row);
}

/* --- codes of one party --- */

/* What compression leaves of it, with the residuals that went in. */
static void compress_codes(struct codes *c, const struct party_session *p, const float *x)
{
    const bool fed = inside(p)->learner.sent.kept && inside(p)->round.task.purpose == PURPOSE_TRAIN;
    const size_t bytes = compress_bytes(&inside(p)->round.shape.encode.compress, c->n);
    uint8_t key[COMPRESS_KEY_BYTES], *packed = mem_alloc(bytes + 1, 1);
    const struct compress_round round = {key, party_sent_importance(&inside(p)->learner.sent)};

    CHECK(packed != NULL);
    compress_key(key, inside(p)->round.dither, (uint16_t)p->fed.set.self);
    encode_pack(&inside(p)->round.shape.encode, packed, c->y, fed ? inside(p)->learner.sent.x : x,
                c->n, &round);
    CHECK(encode_unpack(&inside(p)->round.shape.encode, c->y, packed, c->n, &round));
    mem_free(packed);
}

static bool left_out(const struct party_session *p, uint32_t party)
{
    const struct party_task *task = &inside(p)->round.task;

    return task->purpose == PURPOSE_TRAIN &&
           dropout_leaves_out(&inside(p)->course.plan, task->place, party);
}

void true_sum_protected(struct true_sum *t, const struct sim *s, uint32_t party)
{
    const struct party_session *p = s->party[party].session;
    const struct party_task *task = &inside(p)->round.task;
    const struct nn_net *net = &inside(p)->learner.bottom.net;
    struct codes *c = &t->of[party];
    const float *x;
    uint8_t key[RNG_KEY_BYTES];
    uint64_t place = task->purpose == PURPOSE_TRAIN ? task->place : task->sweep << 32 | task->place;

    if (task->work != WORK_ROUND || !task->open || inside(p)->result.status != STATUS_OK ||
        !sums(s) || purpose_of(task->purpose)->deals)
        return;
    c->generation = p->fed.set.generation;
    c->round = task->round;
    memcpy(c->trail, inside(p)->learner.trail.value, sizeof c->trail);
    rng_seed_key(key, p->setup.start.seed, party + 1, "noise",
                 (uint64_t)task->purpose << 62 | place);
    rng_rekey(&t->noise, key);
    if (multiplies(s)) {
        multiply_rows(t, p, c);
        return;
    }
    x = left_out(p, party) ? t->nothing : net->layer[net->spec.layers - 1].y;
    c->n = (size_t)task->rows * inside(p)->course.plan.model.embedding;
    CHECK(x != t->nothing || c->n <= NOTHING_MAX);
    c->q = room(c->q, c->max, c->n, sizeof *c->q);
    c->y = room(c->y, c->max, c->n, sizeof *c->y);
    c->max = c->n > c->max ? c->n : c->max;
    if (inside(p)->round.shape.encode.compressed)
        compress_codes(c, p, x);
    else if (inside(p)->round.shape.encode.integers)
        encode_integers(&inside(p)->round.shape.encode, c->q, x, c->n, &t->noise);
    else
        encode_clip(&inside(p)->round.shape.encode, c->y, x, c->n);
}

/* --- the sum --- */

/* By place in the sum: value i of member m of a concatenation, or simply i. */
static size_t place_of(const struct server_session *v, size_t i, uint32_t member)
{
    size_t width = v->train.trainer.plan->model.embedding;

    return v->train.trainer.head.top.apart
               ? (i / width * v->train.trainer.head.top.parties + v->fed.set.member[member]) *
                         width +
                     i % width
               : i;
}

static void concatenate(struct true_sum *t, const struct server_session *v, const struct codes *c,
                        uint32_t member)
{
    for (size_t i = 0; i < c->n; i++) {
        float *to = &t->want[place_of(v, i, member)];
        if (v->train.sum.shape.encode.integers)
            encode_estimate(&v->train.sum.shape.encode, to, &c->q[i], 1, 1);
        else
            *to = c->y[i];
    }
}

static void add_up(struct true_sum *t, const struct server_session *v, const bool *in,
                   uint32_t in_n)
{
    const bool zero = v->train.trainer.plan->protocol.absent == ABSENT_ZERO;
    double factor = zero ? 1 : (double)v->fed.set.n / in_n;
    size_t n = (size_t)v->train.round.task.rows * v->train.trainer.plan->model.embedding;

    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        t->sum[i] = 0;
        for (uint32_t m = 0; m < v->fed.set.n; m++) {
            const struct codes *c = &t->of[v->fed.set.member[m]];
            if (!in[m])
                continue;
            t->sum[i] += v->train.sum.shape.encode.integers ? c->q[i] : 0;
            sum += v->train.sum.shape.encode.integers ? 0 : (double)c->y[i];
        }
        t->want[i] = (float)sum;
    }
    if (v->train.sum.shape.encode.integers)
        encode_estimate(&v->train.sum.shape.encode, t->want, t->sum, n, in_n);
    for (size_t i = 0; i < n && in_n < v->fed.set.n; i++)
        t->want[i] = (float)((double)t->want[i] * factor);
}

static void add_products(struct true_sum *t, const struct server_session *v)
{
    size_t n = (size_t)v->train.round.task.rows * v->train.trainer.plan->model.embedding;
    int bits = (int)(v->train.trainer.plan->protocol.fedvs.x_bits +
                     v->train.trainer.plan->protocol.fedvs.w_bits);

    for (size_t i = 0; i < n; i++) {
        int64_t sum = 0;
        for (uint32_t m = 0; m < v->fed.set.n; m++)
            sum += t->of[v->fed.set.member[m]].z[i];
        t->want[i] = (float)ldexp((double)sum, -bits);
    }
}

/* What the server takes for the members of the sum must have been asked the same. */
static uint32_t members_in(const struct true_sum *t, const struct server_session *v, bool *in,
                           char *why)
{
    uint8_t absent[WIRE_MEMBERS_MAX];
    uint32_t n = secagg_present(v->train.sum.secagg, absent), k = 0;
    bool some = v->train.sum.shape.partial;

    n = some ? n : v->fed.set.n;
    for (uint32_t m = 0; m < v->fed.set.n; m++) {
        const struct codes *c = &t->of[v->fed.set.member[m]];
        in[m] = !some || k >= v->fed.set.n - n || absent[k] != m;
        k += !in[m];
        if (in[m] &&
            (c->generation != v->fed.set.generation || c->round != v->train.round.number ||
             c->n != (size_t)v->train.round.task.rows * v->train.trainer.plan->model.embedding)) {
            snprintf(why, 128, "round %llu has a sum, p%u did not work on it",
                     (unsigned long long)v->train.round.number, v->fed.set.member[m] + 1u);
            return 0;
        }
    }
    return n;
}

/* A sum of embeddings by models of different runs would be none: all were shown the same. */
static bool one_trail(const struct true_sum *t, const struct server_session *v, const bool *in,
                      char *why)
{
    const struct codes *first = NULL;

    for (uint32_t m = 0; m < v->fed.set.n && !v->train.trainer.head.top.apart; m++) {
        const struct codes *c = &t->of[v->fed.set.member[m]];
        if (!in[m])
            continue;
        if (first != NULL && memcmp(first->trail, c->trail, sizeof c->trail) != 0) {
            snprintf(why, 128, "round %llu has a sum of models that were shown different gradients",
                     (unsigned long long)v->train.round.number);
            return false;
        }
        first = c;
    }
    return true;
}

bool true_sum_holds(struct true_sum *t, const struct sim *s, char *why)
{
    const struct server_session *v = s->server;
    size_t values = (size_t)v->train.round.task.rows * v->train.trainer.head.top.inputs;
    bool in[WIRE_MEMBERS_MAX];
    uint32_t in_n;

    if (v->train.worked.error.status != STATUS_OK || server_stored_alone(&v->train.trainer) ||
        !sums(s))
        return true;
    t->want = room(t->want, t->max, values, sizeof *t->want);
    t->sum = room(t->sum, t->max, values, sizeof *t->sum);
    t->max = values > t->max ? values : t->max;
    in_n = members_in(t, v, in, why);
    if (in_n == 0 || !one_trail(t, v, in, why))
        return false;
    if (!knows_noise(s))
        return true;
    for (size_t i = 0; i < values; i++) /* of who is not there: 0, or under max nothing is larger */
        t->want[i] =
            v->train.trainer.head.top.max && v->train.trainer.plan->protocol.absent == ABSENT_IGNORE
                ? -FLT_MAX
                : 0;
    for (uint32_t m = 0; m < v->fed.set.n && v->train.trainer.head.top.apart; m++) {
        if (in[m])
            concatenate(t, v, &t->of[v->fed.set.member[m]], m);
    }
    if (multiplies(s))
        add_products(t, v);
    else if (!v->train.trainer.head.top.apart)
        add_up(t, v, in, in_n);
    for (size_t i = 0; i < values && v->train.trainer.head.top.mean; i++)
        t->want[i] *= 1.0f / (float)v->train.trainer.head.top.parties;
    if (memcmp(t->want, v->train.trainer.head.fused, values * sizeof *t->want) == 0)
        return true;
    snprintf(why, 128, "round %llu (%s %llu): not the sum of its members' codes",
             (unsigned long long)v->train.round.number,
             purpose_of(v->train.round.task.purpose)->name,
             (unsigned long long)v->train.round.task.place);
    return false;
}
