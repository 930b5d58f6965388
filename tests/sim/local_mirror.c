/* local_mirror.c -- what is said in a run, beside what the mirror computes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/local_mirror.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/compress/down.h"
#include "common/flow/dither.h"
#include "tests/sim/inside.h"
#include "tests/sim/local_step.h"
#include "tests/sim/world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLOSE_ENOUGH 4e-5

static void differ(struct local_mirror *m, const char *what, double got, double want)
{
    if (m->wrong[0] == 0 && !(fabs(got - want) < CLOSE_ENOUGH))
        snprintf(m->wrong, sizeof m->wrong, "step %llu: %s is %.7g, should be %.7g",
                 (unsigned long long)m->steps, what, got, want);
}

/* --- uploads --- */

/* Where a message stands in the schedule. */
struct place {
    enum wire_purpose purpose;
    uint64_t place, sweep;
    uint16_t member; /* COMPRESS_HEAD: the head */
};

/* The numbers of an upload in clear, as whoever gets it must read them. */
static void read_upload(struct local_mirror *m, const struct wire_bytes *payload, uint32_t n,
                        const struct place *at, float *y)
{
    const struct plan *p = local_plan(m);
    const uint32_t top = p->protocol.encoding == ENCODING_PBM ? p->protocol.pbm.trials
                                                              : (1U << p->protocol.fixed.bits) - 1;
    uint8_t dither[WIRE_DIGEST_BYTES], key[COMPRESS_KEY_BYTES];
    uint32_t code[LOCAL_ROWS * LOCAL_WIDTH];
    struct compress c;

    if (plan_compresses(p)) {
        compress_of(&c, p);
        dither_make(dither, &m->digest, p, at->purpose, at->place, at->sweep);
        compress_key(key, dither, at->member);
        CHECK(payload->n == compress_bytes(&c, n));
        CHECK(compress_unpack(&c, y, payload->data, n, &(struct compress_round){.dither = key}));
        for (uint32_t i = 0; i < n; i++)
            y[i] = fminf(fmaxf(y[i], (float)-local_clip(m)), (float)local_clip(m));
        return;
    }
    if (p->protocol.encoding == ENCODING_FLOAT32) {
        CHECK(payload->n == n * sizeof *y);
        memcpy(y, payload->data, payload->n);
        return;
    }
    bits_unpack32(code, payload->data, n, bits_width((uint64_t)top + 1));
    for (uint32_t i = 0; i < n && p->protocol.encoding == ENCODING_FIXED; i++)
        y[i] = (float)((2.0 * code[i] / top - 1) * local_clip(m));
    for (uint32_t i = 0; i < n && p->protocol.encoding == ENCODING_PBM; i++) /* PBM, section 3 */
        y[i] = (float)((code[i] - top / 2.0) * local_clip(m) / (top * p->protocol.pbm.beta));
}

static double squares(const float *x, const float *y, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    return sum;
}

/* Is y what a compressor makes of the mirror's own x?  Roundings may take a point across the border
 * of a cell, so that of a quantiser is asked of its error; that of top-k of every value. */
static void compare_compressed(struct local_mirror *m, const struct compress *c, const float *x,
                               const float *y, uint32_t n, const struct place *at)
{
    float mine[LOCAL_ROWS * LOCAL_WIDTH], weight[LOCAL_WIDTH];
    uint8_t dither[WIRE_DIGEST_BYTES], key[COMPRESS_KEY_BYTES], packed[sizeof mine + 64];
    struct compress_round round = {.dither = key};
    double got, want;

    dither_make(dither, &m->digest, local_plan(m), at->purpose, at->place, at->sweep);
    compress_key(key, dither, at->member);
    for (uint32_t i = 0; i < m->width && c->kind == ENCODING_TOPK; i++) {
        weight[i] = (float)m->importance[at->member][i];
        if (weight[i] > 0 && m->slip != LOCAL_NO_WEIGHTS)
            round.importance = weight;
    }
    m->weighted += round.importance != NULL;
    CHECK(n * sizeof *mine <= sizeof mine && compress_bytes(c, n) <= sizeof packed);
    compress_pack(c, packed, x, n, &round);
    CHECK(compress_unpack(c, mine, packed, n, &round));
    for (uint32_t i = 0; i < n && c->kind == ENCODING_TOPK; i++)
        differ(m, "a value that top-k sent", (double)y[i], (double)mine[i]);
    got = squares(x, y, n);
    want = squares(x, mine, n);
    if (got > 1.02 * want + CLOSE_ENOUGH)
        differ(m,
               at->member == COMPRESS_HEAD ? "what compression took from the head, squared,"
                                           : "what compression took, squared,",
               got, want);
}

/* The mirror's own numbers for an upload: exact[party]. */
static void embed_rows(struct local_mirror *m, uint32_t party, const struct table *t,
                       const uint32_t *row, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        double *x = m->exact[party][r];

        local_embed(m, &m->bottom[party], t->x + (size_t)(row != NULL ? row[r] : r) * LOCAL_COLUMNS,
                    x);
        for (uint32_t i = 0; i < m->width && row != NULL; i++) {
            x[i] += m->residual[party][row[r]][i];
            m->again += fabs(m->residual[party][row[r]][i]) > 0;
        }
    }
}

static void compare_upload(struct local_mirror *m, uint32_t party, const struct wire_upload *u,
                           uint32_t n, const struct place *at)
{
    const double clip = local_clip(m);
    float x[LOCAL_ROWS * LOCAL_WIDTH], y[LOCAL_ROWS * LOCAL_WIDTH];
    struct compress c;

    read_upload(m, &u->payload, n, at, y);
    for (uint32_t i = 0; i < n; i++) {
        const double exact = m->exact[party][i / m->width][i % m->width];

        x[i] = (float)fmax(-clip, fmin(clip, exact));
        if (local_plan(m)->protocol.encoding == ENCODING_FLOAT32)
            differ(m, "an embedding", (double)y[i], exact);
        m->sent[party][i / m->width][i % m->width] =
            local_plan(m)->protocol.encoding == ENCODING_FLOAT32 ? exact : (double)y[i];
    }
    if (!plan_compresses(local_plan(m)))
        return;
    compress_of(&c, local_plan(m));
    compare_compressed(m, &c, x, y, n, at);
}

static void hear_upload(struct wire_msg *msg, void *owner)
{
    const struct local_ear *ear = owner;
    struct local_mirror *m = ear->mirror;
    const struct sim_party *p = &m->sim->party[ear->party];
    struct place at = {msg->upload.purpose, m->steps, 0, (uint16_t)ear->party};
    uint32_t n;
    const uint32_t *row = local_batch(m, m->steps, &n);

    if (at.purpose == PURPOSE_TRAIN) {
        CHECK(m->heard[ear->party]++ == m->steps);
        embed_rows(m, ear->party, &p->train, row, n);
        compare_upload(m, ear->party, &msg->upload, n * m->width, &at);
    } else if (plan_compresses(local_plan(m)) && at.purpose == PURPOSE_EVALUATE_TEST) {
        at.place = 0; /* all rows in one round */
        at.sweep = inside(p->session)->round.task.sweep;
        embed_rows(m, ear->party, &p->test, NULL, m->sim->options.test_rows);
        compare_upload(m, ear->party, &msg->upload, m->sim->options.test_rows * m->width, &at);
        m->evaluated++;
    }
}

/* --- broadcasts --- */

static void compare_bottoms(struct local_mirror *m)
{
    for (uint32_t p = 0; p < m->parties; p++) {
        const struct nn_layer *l = &party_session_bottom(m->sim->party[p].session)->layer[0];

        for (uint32_t i = 0; i < m->width; i++) {
            for (uint32_t c = 0; c < LOCAL_COLUMNS; c++)
                differ(m, "a weight of a bottom", (double)l->w[c * m->width + i],
                       m->bottom[p].w[c][i]);
            differ(m, "a bias of a bottom", (double)l->b[i], m->bottom[p].b[i]);
        }
    }
}

static void compare_head(struct local_mirror *m)
{
    const struct nn_layer *l;

    if (m->identity)
        return;
    l = &server_session_head(m->sim->server)->layer[0];
    for (uint32_t o = 0; o < LOCAL_OUTPUTS; o++) {
        for (uint32_t i = 0; i < local_inputs(m); i++)
            differ(m, "a weight of the head", (double)l->w[i * LOCAL_OUTPUTS + o], m->head.w[i][o]);
        differ(m, "a bias of the head", (double)l->b[o], m->head.b[o]);
    }
}

static void head_of(const struct local_mirror *m, struct local_head *head, const float *params)
{
    const float *b = params + local_inputs(m) * LOCAL_OUTPUTS;

    for (uint32_t o = 0; o < LOCAL_OUTPUTS; o++) {
        for (uint32_t i = 0; i < local_inputs(m); i++)
            head->w[i][o] = (double)params[i * LOCAL_OUTPUTS + o];
        head->b[o] = (double)b[o];
    }
}

static uint32_t params_of(const struct local_mirror *m, const struct local_head *head,
                          float *params)
{
    const uint32_t weights = local_inputs(m) * LOCAL_OUTPUTS;

    for (uint32_t o = 0; o < LOCAL_OUTPUTS; o++) {
        for (uint32_t i = 0; i < local_inputs(m); i++)
            params[i * LOCAL_OUTPUTS + o] = (float)head->w[i][o];
        params[weights + o] = (float)head->b[o];
    }
    return weights + LOCAL_OUTPUTS;
}

/* The head of the round as the parties get it: a compressor's is not the server's. */
static struct local_head head_down(struct local_mirror *m, const struct wire_broadcast *b)
{
    const struct place at = {PURPOSE_TRAIN, m->steps, 0, COMPRESS_HEAD};
    struct local_head head = m->head;
    float mine[(LOCAL_INPUTS + 1) * LOCAL_OUTPUTS];
    uint8_t dither[WIRE_DIGEST_BYTES];
    float params[(LOCAL_INPUTS + 1) * LOCAL_OUTPUTS];
    uint32_t blob[2048], n;
    struct down d;

    down_of(&d, local_plan(m));
    (void)local_batch(m, m->steps, &n);
    CHECK(b->gradient.n <= sizeof blob);
    if (b->gradient.n != down_words(&d, n) * sizeof *blob)
        differ(m, "the size of what comes down", (double)b->gradient.n,
               (double)down_words(&d, n) * sizeof *blob);
    if (!plan_compresses(local_plan(m)) || !m->refreshed || m->identity)
        return head;
    memcpy(blob, b->gradient.data, b->gradient.n);
    dither_make(dither, &m->digest, local_plan(m), PURPOSE_TRAIN, m->steps, 0);
    CHECK(down_head_unpack(&d, params, blob, n, dither));
    compare_compressed(m, &d.head, mine, params, params_of(m, &head, mine), &at);
    head_of(m, &head, params);
    return head;
}

static void hear_broadcast(struct wire_msg *msg, void *owner)
{
    const struct local_ear *ear = owner;
    struct local_mirror *m = ear->mirror;
    struct local_head down;

    if (!msg->broadcast.closes || msg->broadcast.close_step != m->steps)
        return; /* the others' copies */
    compare_bottoms(m);
    down = head_down(m, &msg->broadcast);
    local_step(m, &down);
    compare_head(m);
}

/* The bottom as it is before the first step. */
static void hear_hello(struct wire_msg *msg, void *owner)
{
    const struct local_ear *ear = owner;
    struct local_mirror *m = ear->mirror;
    const struct nn_layer *l = &party_session_bottom(m->sim->party[ear->party].session)->layer[0];

    (void)msg;
    CHECK(l->in == LOCAL_COLUMNS && l->out == m->width);
    for (uint32_t i = 0; i < m->width; i++) {
        for (uint32_t c = 0; c < LOCAL_COLUMNS; c++)
            m->bottom[ear->party].w[c][i] = (double)l->w[c * m->width + i];
        m->bottom[ear->party].b[i] = (double)l->b[i];
    }
}

static void listen(struct local_mirror *m, int from, uint32_t party, enum wire_kind kind,
                   void (*hear)(struct wire_msg *, void *))
{
    sim_rule(m->sim, (struct sim_rule){.act = SIM_ALTER,
                                       .from = from,
                                       .party = (int)party,
                                       .kind = kind,
                                       .nth = kind == WIRE_HELLO ? 1 : 0,
                                       .alter = hear,
                                       .owner = &m->ear[party]});
}

void local_mirror_init(struct local_mirror *m, struct sim *s)
{
    const struct plan *p = &s->plan;

    memset(m, 0, sizeof *m);
    m->sim = s;
    m->parties = s->options.parties;
    m->width = p->model.embedding;
    m->most = p->model.fusion == FUSION_MAX;
    m->apart = m->most || p->model.fusion == FUSION_CONCAT;
    m->mean = p->model.fusion == FUSION_MEAN;
    m->identity = p->model.output == OUTPUT_IDENTITY;
    m->refreshed = p->protocol.local_view == VIEW_REFRESHED;
    m->sequential = p->protocol.local_order == ORDER_SEQUENTIAL;
    CHECK(m->parties <= LOCAL_PARTIES && p->shape.train_rows <= LOCAL_ROWS);
    CHECK(m->width <= LOCAL_WIDTH);
    if (!m->identity) {
        const struct nn_layer *l = &server_session_head(s->server)->layer[0];
        float params[(LOCAL_INPUTS + 1) * LOCAL_OUTPUTS];

        CHECK(l->in == local_inputs(m) && l->out == LOCAL_OUTPUTS);
        memcpy(params, l->w, sizeof *params * local_inputs(m) * LOCAL_OUTPUTS);
        memcpy(params + local_inputs(m) * LOCAL_OUTPUTS, l->b, sizeof *params * LOCAL_OUTPUTS);
        head_of(m, &m->head, params);
    }
    CHECK(schedule_init(&m->schedule, p->training.seed, p->shape.train_rows, p->training.batch,
                        1) == STATUS_OK);
    for (uint32_t i = 0; i < m->parties; i++) {
        m->ear[i] = (struct local_ear){m, i};
        listen(m, (int)i, i, WIRE_HELLO, hear_hello);
        listen(m, (int)i, i, WIRE_UPLOAD, hear_upload);
        listen(m, SIM_SERVER, i, WIRE_BROADCAST, hear_broadcast);
    }
}

void local_mirror_deinit(struct local_mirror *m)
{
    schedule_deinit(&m->schedule);
    digest_deinit(&m->digest);
}

/* What a party has of the others, as it is before the division of mean. */
static void compare_others(struct local_mirror *m, uint32_t party)
{
    const struct party_refresh *f = &inside(m->sim->party[party].session)->learner.refresh;
    const uint32_t columns = m->apart ? m->parties * m->width : m->width;
    uint32_t n;

    (void)local_batch(m, m->steps - 1, &n);
    for (uint32_t i = 0; i < n * columns; i++)
        differ(m, "the others' part", (double)f->others[i] * local_factor(m),
               m->others[party][i / columns][i % columns]);
}

/* What the party keeps for next time. */
static void compare_kept(struct local_mirror *m, uint32_t party)
{
    const struct party_sent *sent = &inside(m->sim->party[party].session)->learner.sent;

    for (uint32_t i = 0; i < m->sim->options.train_rows * m->width && sent->residual != NULL; i++)
        differ(m, "a residual", (double)sent->residual[i],
               m->residual[party][i / m->width][i % m->width]);
    for (uint32_t i = 0; i < m->width && sent->importance != NULL; i++)
        differ(m, "an importance", (double)sent->importance[i], m->importance[party][i]);
    if ((sent->residual != NULL) != local_plan(m)->protocol.error_feedback)
        differ(m, "error feedback", sent->residual != NULL, local_plan(m)->protocol.error_feedback);
}

void local_mirror_compare(struct local_mirror *m)
{
    compare_bottoms(m);
    compare_head(m);
    for (uint32_t p = 0; p < m->parties; p++) {
        compare_kept(m, p);
        if (inside(m->sim->party[p].session)->learner.refresh.on != local_refreshes(m, p))
            differ(m, "a party that refreshes",
                   inside(m->sim->party[p].session)->learner.refresh.on, local_refreshes(m, p));
        else if (local_refreshes(m, p) && m->steps > 0)
            compare_others(m, p);
    }
}
