/* shown.c -- rounds with every member in one process.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/secagg/shown.h"

#include <math.h>

static uint32_t between(struct rng *r, uint32_t least, uint32_t most)
{
    return least + (uint32_t)rng_below(r, most - least + 1);
}

struct shown_case shown_random_case(struct rng *r, enum plan_aggregation a,
                                    enum plan_encoding encoding)
{
    const bool clear = a == AGGREGATION_CLEAR;
    struct shown_case c = {
        .aggregation = a,
        .encoding = encoding,
        .concat = clear && rng_below(r, 2) == 1,
        .parties = between(r, clear ? 1 : 2, SHOWN_PARTIES_MAX),
        .width = between(r, 1, SHOWN_WIDTH_MAX),
        .rows = between(r, 1, rng_below(r, 2) == 1 ? 20 : 800),
        .clip = 0.3 + 3 * rng_uniform(r),
    };

    if (encoding == ENCODING_PBM)
        c.bits = between(r, 1, 70);
    else if (encoding == ENCODING_FIXED)
        c.bits = between(r, 1, a == AGGREGATION_CODED ? 13 : 24);
    else
        c.bits = between(r, 1, 8);
    c.privacy = between(r, 1, c.parties > 1 ? c.parties - 1 : 1);
    c.segments = c.parties > c.privacy ? between(r, 1, c.parties - c.privacy) : 1;
    return c;
}

struct secagg_shape shown_shape(const struct shown_case *c, uint32_t self)
{
    struct plan p = generation_plan(c->encoding);
    struct secagg_shape s;

    p.protocol.clip = c->clip;
    p.protocol.fixed.bits = c->bits;
    p.protocol.pbm.trials = c->encoding == ENCODING_PBM ? c->bits : 16;
    p.protocol.pbm.beta = 0.2;
    p.protocol.bits = c->bits;
    p.model.embedding = c->width;
    s = generation_shape(&p, c->parties, c->width * (c->rows + 3)); /* room for a longer round */
    s.concat = c->concat;
    s.segments = c->segments;
    s.privacy = c->privacy;
    s.self = self;
    s.shown = true;
    return s;
}

void shown_init(struct shown *w, const struct shown_case *c, struct rng *r)
{
    const struct secagg_shape s = shown_shape(c, 0);

    *w = (struct shown){.c = *c, .n = (size_t)c->width * c->rows, .number = rng_below(r, 1000)};
    generation_init(&w->g, c->aggregation, &s, r);
    rng_fill(r, w->g.dither, sizeof w->g.dither);
    for (uint32_t m = 0; m < c->parties; m++) {
        w->x[m] = mem_alloc(w->n, sizeof *w->x[m]);
        for (size_t i = 0; i < w->n; i++) {
            static const double corner[] = {0, 1, -1, 0.5};
            const double v = rng_below(r, 8) == 0 ? corner[rng_below(r, 4)] : rng_normal(r) / 2;

            w->x[m][i] = (float)(v * c->clip); /* some beyond the clip */
        }
    }
    for (uint32_t i = 0; i < c->width; i++)
        w->importance[i] = (float)rng_uniform(r);
    w->combined = mem_alloc(w->n * (c->concat ? c->parties : 1), sizeof *w->combined);
    w->shown_bytes = secagg_shown_bytes(c->aggregation, &s, w->n);
    w->shown = mem_alloc(w->shown_bytes, 1);
    w->round.scratch = mem_alloc(secagg_scratch_bytes(&s, w->n) + 1, 1);
}

void shown_deinit(struct shown *w)
{
    for (uint32_t m = 0; m < w->c.parties; m++)
        mem_free(w->x[m]);
    mem_free(w->combined);
    mem_free(w->shown);
    mem_free(w->round.scratch);
    generation_deinit(&w->g);
}

/* The noise of member m in the last round, from its beginning. */
static void noise_of(const struct shown *w, uint32_t m, struct rng *r)
{
    uint8_t key[RNG_KEY_BYTES];

    rng_seed_key(key, 5, m, "noise", w->number);
    CHECK(rng_init_key(r, key) == STATUS_OK);
}

void shown_run(struct shown *w)
{
    void *scratch = w->round.scratch;
    struct error err = {0};

    w->round = generation_round(&w->g, ++w->number);
    w->round.importance = w->importance;
    w->round.scratch = scratch;
    for (uint32_t m = 0; m < w->c.parties; m++) {
        struct rng noise;

        noise_of(w, m, &noise);
        CHECK(generation_protect(&w->g, m, w->x[m], w->n, &w->round, &noise) == STATUS_OK);
        rng_deinit(&noise);
    }
    CHECK(generation_relay(&w->g, w->n, &w->round) == STATUS_OK);
    secagg_begin(w->g.server, w->n);
    secagg_dither(w->g.server, w->round.dither);
    for (uint32_t k = 0; k < w->c.parties; k++) {
        const uint32_t m = (uint32_t)((k + w->number) % w->c.parties);

        CHECK(secagg_add(w->g.server, m, w->g.payload[m], w->g.check[m], &err) == STATUS_OK);
    }
    CHECK(secagg_combine(w->g.server, w->combined, w->c.width, &err) == STATUS_OK);
    secagg_show(w->g.server, w->shown);
}

void shown_alone(const struct shown *w, uint32_t m, float *y)
{
    const struct secagg_shape s = shown_shape(&w->c, m);

    secagg_alone(&s, y, w->x[m], w->n, &w->round);
}

void shown_codes(const struct shown *w, uint32_t m, uint32_t *q)
{
    const struct secagg_shape s = shown_shape(&w->c, m);
    struct rng noise;

    noise_of(w, m, &noise);
    encode_integers(&s.encode, q, w->x[m], w->n, &noise);
    rng_deinit(&noise);
}

enum status shown_others(const struct shown *w, uint32_t m, float *out, const uint8_t *bytes)
{
    const struct secagg_shape s = shown_shape(&w->c, m);
    float *own = mem_alloc(w->n, sizeof *own);
    struct error err = {0};
    enum status st;

    CHECK(own != NULL);
    shown_alone(w, m, own);
    st = secagg_others(&s, out, bytes, own, w->n, w->c.width, &w->round, &err);
    CHECK(err.status == st);
    mem_free(own);
    return st;
}
