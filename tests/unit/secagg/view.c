/* view.c -- opening what was sealed, and taking off what hides.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/secagg/view.h"

#include "common/base/check.h"
#include "common/field/mod.h"
#include "common/lcc/points.h"
#include "common/secagg/draw.h"
#include "common/secagg/round.h"
#include "common/secagg/share.h"

#include <string.h>

static uint64_t add(const struct view *w, uint64_t a, uint64_t b)
{
    return mod_add(a, b, w->p);
}

static uint64_t sub(const struct view *w, uint64_t a, uint64_t b)
{
    return mod_sub(a, b, w->p);
}

static uint64_t mul(const struct view *w, uint64_t a, uint64_t b)
{
    return mod_mul(a, b, w->p);
}

uint64_t view_alpha(const struct view *w, uint32_t m)
{
    return points_alpha(w->threshold, m);
}

static bool in(uint32_t set, uint32_t m)
{
    return (set >> m & 1) != 0;
}

/* --- keys --- */

/* What `from` sealed for `to` last. */
static void open_part(struct view *w, uint8_t *text, uint32_t from, uint32_t to,
                      enum secagg_part part, const struct secagg_round *r)
{
    const struct members *g = &w->g;
    struct share_keys keys;

    CHECK(share_init(&keys, g->c.parties, to, g->pairs[to]) == STATUS_OK);
    CHECK(share_begin(&keys, r) == STATUS_OK);
    CHECK(share_open(&keys, from, text, g->share[from] + members_part(g, from, to, part, 0),
                     secagg_part_bytes(AGGREGATION_FEDVS, &g->shape, part, from, 0),
                     g->tag[from] + (to < from ? to : to - 1) * (size_t)MEMBERS_TAG));
    share_deinit(&keys);
}

/* Is a's list of missing members before b's?  Sets have equally many. */
static bool before(struct view *w, uint32_t a, uint32_t b)
{
    const uint32_t all = (1U << w->g.c.parties) - 1, differ = a ^ b;

    return differ != 0 && (all & ~a & (differ & -differ)) != 0;
}

/* The place of a set among those of its dealer. */
static uint32_t place_of(struct view *w, uint32_t set)
{
    uint32_t place = 0;

    for (uint32_t other = 1; other < 1U << w->g.c.parties; other++)
        place += __builtin_popcount(other) == __builtin_popcount(set) &&
                 __builtin_ctz(other) == __builtin_ctz(set) && before(w, other, set);
    return place;
}

static void learn_keys(struct view *w, const struct secagg_round *r)
{
    const uint32_t parties = w->g.c.parties;
    uint8_t text[32 * 64];

    memset(w->key, 0, sizeof w->key);
    for (uint32_t set = 1; set < 1U << parties; set++) {
        const uint32_t dealer = (uint32_t)__builtin_ctz(set);
        const uint32_t last = 31 - (uint32_t)__builtin_clz(set);

        if (__builtin_popcount(set) != (int)(parties - w->g.c.privacy))
            continue;
        open_part(w, text, dealer, last, SECAGG_PART_KEYS, r);
        memcpy(w->key[set], text + (size_t)32 * place_of(w, set), 32);
    }
}

/* --- shares of zero --- */

/* x[m][e] += what one set adds to the results of round t. */
static void add_set(struct view *w, uint64_t x[][VIEW_ELEMENTS], uint32_t set, uint32_t t)
{
    static uint8_t random[DRAW_BYTES];
    const struct field *f = w->g.shape.terms.field;
    uint64_t elements[VIEW_ELEMENTS];
    uint8_t iv[PRG_IV_BYTES];
    struct digest d;
    struct prg stream;

    CHECK(prg_init(&stream, w->key[set]) == STATUS_OK);
    round_iv(&d, iv, "vfl/zero/1", &w->round[t]);
    prg_seek(&stream, iv);
    for (uint32_t i = 0; i + 1 < w->threshold; i++) {
        draw_from_prg(f, elements, w->n, &stream, random);
        for (uint32_t m = 0; m < w->g.c.parties; m++) {
            uint64_t v = mod_pow(view_alpha(w, m), i, w->p);

            for (uint32_t k = 0; k < w->g.c.segments; k++)
                v = mul(w, v, sub(w, view_alpha(w, m), points_beta(k)));
            for (uint32_t j = 0; j < w->g.c.parties; j++)
                v = in(set, j) ? v : mul(w, v, sub(w, view_alpha(w, m), view_alpha(w, j)));
            for (uint32_t e = 0; e < w->n; e++)
                x[m][e] = add(w, x[m][e], mul(w, v, f->get(elements, e)));
        }
    }
    prg_deinit(&stream);
    digest_deinit(&d);
}

void view_learn_zero(struct view *w, uint32_t coalition)
{
    memset(w->zero, 0, sizeof w->zero);
    memset(w->known, 0, sizeof w->known);
    for (uint32_t t = 0; t < w->rounds; t++)
        for (uint32_t set = 0; set < 1U << w->g.c.parties; set++) {
            if (__builtin_popcount(set) != (int)(w->g.c.parties - w->g.c.privacy))
                continue;
            add_set(w, w->zero[t], set, t);
            if ((set & coalition) != 0)
                add_set(w, w->known[t], set, t);
        }
}

uint64_t view_product(const struct view *w, uint32_t t, uint32_t m, uint32_t e)
{
    const struct fedvs_terms *terms = &w->g.shape.terms;
    const size_t row = e / terms->width, column = e % terms->width;
    uint64_t v = 0;

    for (uint32_t i = 0; i < terms->inputs_n; i++)
        v = add(w, v,
                mul(w, terms->field->get(w->g.data[m], row * terms->inputs_n + i),
                    w->weights[t][m][i][column]));
    return v;
}

/* --- rounds --- */

/* Everybody's weights at member j, by inputs of all members and columns of the embedding. */
static void learn_weights(struct view *w, uint32_t t)
{
    const struct fedvs_terms *terms = &w->g.shape.terms;
    uint8_t text[1024], elements[1024];
    uint32_t row = 0;

    for (uint32_t from = 0; from < w->g.c.parties; row += terms->inputs[from++]) {
        uint64_t points[MEMBERS_MAX], c[MEMBERS_MAX], to = view_alpha(w, from);
        uint32_t used = 0;

        for (uint32_t j = 0; j < w->g.c.parties; j++)
            if (j != from && used < w->threshold)
                points[used++] = view_alpha(w, j);
        points_lagrange(c, &to, 1, points, w->threshold, w->p);
        used = 0;
        for (uint32_t j = 0; j < w->g.c.parties; j++) {
            if (j == from)
                continue;
            open_part(w, text, from, j, SECAGG_PART_ROUND, &w->round[t]);
            terms->field->unpack(elements, text, (size_t)terms->inputs[from] * terms->width);
            for (uint32_t i = 0; i < terms->inputs[from] * terms->width; i++) {
                const uint64_t v = terms->field->get(elements, i);
                uint64_t *own = &w->weights[t][from][row + i / terms->width][i % terms->width];

                w->weights[t][j][row + i / terms->width][i % terms->width] = v;
                /* A dealer's own share: on the same polynomial. */
                *own = used < w->threshold ? add(w, *own, mul(w, c[used], v)) : *own;
            }
            used++;
        }
    }
}

void view_run(struct view *w, uint32_t rounds, bool same_weights, struct rng *r)
{
    const struct field *f = w->g.shape.terms.field;

    w->rounds = rounds;
    w->n = w->g.len * w->g.c.width;
    CHECK(w->n <= VIEW_ELEMENTS && rounds <= VIEW_ROUNDS);
    memset(w->weights, 0, sizeof w->weights);
    for (uint32_t i = 0; i < w->g.len; i++)
        w->coded[i] = i;
    for (uint32_t t = 0; t < rounds; t++) {
        uint64_t elements[VIEW_ELEMENTS];

        if (!same_weights)
            members_draw_weights(&w->g, r);
        w->round[t] = members_run(&w->g, w->coded, w->g.len);
        for (uint32_t m = 0; m < w->g.c.parties; m++) {
            f->unpack(elements, w->g.payload[m], w->n);
            for (uint32_t e = 0; e < w->n; e++)
                w->result[t][m][e] = f->get(elements, e);
        }
        learn_weights(w, t);
    }
}

void view_begin(struct view *w, const struct members_case *c, struct rng *r)
{
    struct secagg_round keys;

    members_init(&w->g, c, r);
    w->p = w->g.shape.terms.field->p;
    w->threshold = c->segments + c->privacy;
    w->results = 2 * w->threshold - 1;
    CHECK(w->g.shape.terms.inputs_n <= VIEW_INPUTS && c->width <= VIEW_INPUTS);
    keys = members_round(&w->g);
    w->g.number--;
    members_deal_keys(&w->g);
    learn_keys(w, &keys);
    members_deal_data(&w->g);
}
