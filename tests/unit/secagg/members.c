/* members.c -- keys, records, dealing, rounds, and what should come out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/secagg/members.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/secagg/zero.h"

#include <math.h>
#include <string.h>

static uint32_t below(struct rng *r, uint32_t n)
{
    return (uint32_t)rng_below(r, n);
}

/* --- cases --- */

static bool exists(const struct members_case *c)
{
    return 2 * (c->segments + c->privacy - 1) + 1 <= c->parties;
}

struct members_case members_random_case(struct rng *r, enum plan_prime prime)
{
    const bool small = prime == PRIME_31;
    struct members_case c = {.prime = prime};

    do {
        c.parties = 3 + below(r, 7);
        c.segments = 1 + below(r, 4);
        c.privacy = 1 + below(r, 3);
    } while (!exists(&c));
    c.width = 1 + below(r, 5);
    c.rows = 1 + below(r, 24);
    c.chunk_rows = 1 + below(r, 9);
    for (uint32_t m = 0; m < c.parties; m++) {
        c.features[m] = 1 + below(r, 4);
        c.degree[m] = 1 + below(r, 3);
    }
    c.x_bits = small ? 2 + below(r, 4) : 2 + below(r, 11);
    c.w_bits = small ? 2 + below(r, 6) : 2 + below(r, 20);
    c.x_max = 0.5 + rng_uniform(r);
    c.w_max = 0.5 + 2 * rng_uniform(r);
    return c;
}

struct plan members_plan(const struct members_case *c)
{
    struct plan p;

    plan_defaults(&p);
    p.model.embedding = c->width;
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.aggregation = AGGREGATION_FEDVS;
    p.protocol.fedvs.segments = c->segments;
    p.protocol.fedvs.privacy = c->privacy;
    p.protocol.fedvs.prime = c->prime;
    p.protocol.fedvs.x_bits = c->x_bits;
    p.protocol.fedvs.w_bits = c->w_bits;
    p.protocol.fedvs.x_max = c->x_max;
    p.protocol.fedvs.w_max = c->w_max;
    return p;
}

/* --- life --- */

static size_t largest_share(const struct secagg_shape *s, uint32_t m)
{
    const size_t bytes[] = {
        secagg_share_bytes(AGGREGATION_FEDVS, s, SECAGG_PART_ROUND, m, 0),
        secagg_share_bytes(AGGREGATION_FEDVS, s, SECAGG_PART_KEYS, m, 0),
        secagg_share_bytes(AGGREGATION_FEDVS, s, SECAGG_PART_DATA, m, s->deal_rows_max)};
    size_t most = 0;

    for (size_t i = 0; i < 3; i++)
        most = bytes[i] > most ? bytes[i] : most;
    return most;
}

static void make_shape(struct members *g)
{
    const struct members_case *c = &g->c;
    const struct plan p = members_plan(c);
    struct error err = {0};

    g->len = (c->rows + c->segments - 1) / c->segments;
    g->shape = (struct secagg_shape){
        .parties = c->parties,
        .values_max = (uint32_t)members_values(g, g->len),
        .deal_rows_max = c->chunk_rows == 0 || c->chunk_rows > g->len ? g->len : c->chunk_rows,
    };
    CHECK(encode_init(&g->shape.encode, &p, c->parties) == STATUS_OK);
    CHECK(fedvs_terms_init(&g->shape.terms, &p, c->parties, c->features, c->degree, &err) ==
          STATUS_OK);
}

static void make_pairs(struct members *g, struct rng *r)
{
    for (uint32_t i = 0; i < g->c.parties; i++)
        for (uint32_t j = i + 1; j < g->c.parties; j++) {
            rng_fill(r, &g->pairs[i][j], sizeof g->pairs[i][j]);
            g->pairs[j][i] = g->pairs[i][j];
            memcpy(g->pairs[j][i].seal_to, g->pairs[i][j].seal_from, SECAGG_KEY_BYTES);
            memcpy(g->pairs[j][i].seal_from, g->pairs[i][j].seal_to, SECAGG_KEY_BYTES);
        }
}

static void make_member(struct members *g, uint32_t m, struct rng *r)
{
    const struct members_case *c = &g->c;
    const struct fedvs_terms *t = &g->shape.terms;
    struct secagg_shape own = g->shape;

    own.self = m;
    CHECK(secagg_party_new(&g->party[m], AGGREGATION_FEDVS, &own, g->pairs[m]) == STATUS_OK);
    g->x[m] = mem_alloc((size_t)c->rows * c->features[m], sizeof *g->x[m]);
    g->w[m] = mem_alloc((size_t)t->inputs[m] * c->width, sizeof *g->w[m]);
    g->data[m] = mem_alloc((size_t)g->len * t->inputs_n, t->field->bytes);
    /* Exact sizes, so that a sanitizer sees a write past the end. */
    g->share[m] = mem_alloc(largest_share(&g->shape, m), 1);
    g->tag[m] = mem_alloc(c->parties - 1, MEMBERS_TAG);
    g->payload[m] =
        mem_alloc(secagg_payload_bytes(AGGREGATION_FEDVS, &g->shape, g->shape.values_max), 1);
    for (size_t i = 0; i < (size_t)c->rows * c->features[m]; i++)
        g->x[m][i] = (float)(c->x_max * 1.25 * (2 * rng_uniform(r) - 1));
}

void members_init(struct members *g, const struct members_case *c, struct rng *r)
{
    uint32_t features = 0;
    size_t most = 0;

    *g = (struct members){.c = *c};
    CHECK(c->parties <= MEMBERS_MAX);
    make_shape(g);
    make_pairs(g, r);
    rng_fill(r, g->sid, sizeof g->sid);
    rng_fill(r, g->broadcast, sizeof g->broadcast);
    for (uint32_t m = 0; m < c->parties; m++) {
        make_member(g, m, r);
        most += largest_share(&g->shape, m);
        features = c->features[m] > features ? c->features[m] : features;
    }
    g->sealed = mem_alloc(most, 1);
    g->tags = mem_alloc(c->parties - 1, MEMBERS_TAG);
    g->chunk = mem_alloc((size_t)c->segments * g->shape.deal_rows_max * features, sizeof(float));
    members_draw_weights(g, r);
    CHECK(secagg_server_new(&g->server, AGGREGATION_FEDVS, &g->shape) == STATUS_OK);
}

void members_deinit(struct members *g)
{
    for (uint32_t m = 0; m < g->c.parties; m++) {
        secagg_party_free(g->party[m]);
        mem_free(g->x[m]);
        mem_free(g->w[m]);
        mem_free(g->data[m]);
        mem_free(g->share[m]);
        mem_free(g->tag[m]);
        mem_free(g->payload[m]);
    }
    mem_free(g->sealed);
    mem_free(g->tags);
    mem_free(g->chunk);
    secagg_server_free(g->server);
}

struct secagg_round members_round(struct members *g)
{
    return (struct secagg_round){
        .purpose = 1, .round = ++g->number, .sid = g->sid, .broadcast = g->broadcast};
}

/* --- the server's part of sharing --- */

size_t members_part(const struct members *g, uint32_t from, uint32_t to, enum secagg_part part,
                    size_t n)
{
    return (to < from ? to : to - 1) *
           secagg_part_bytes(AGGREGATION_FEDVS, &g->shape, part, from, n);
}

void members_route(struct members *g, uint32_t to, enum secagg_part part, size_t n)
{
    size_t at = 0, k = 0;

    for (uint32_t from = 0; from < g->c.parties; from++) {
        const size_t bytes = secagg_part_bytes(AGGREGATION_FEDVS, &g->shape, part, from, n);

        if (from == to)
            continue;
        memcpy(g->sealed + at, g->share[from] + members_part(g, from, to, part, n), bytes);
        memcpy(g->tags + k++ * MEMBERS_TAG,
               g->tag[from] + (to < from ? to : to - 1) * (size_t)MEMBERS_TAG, MEMBERS_TAG);
        at += bytes;
    }
    CHECK(at == secagg_relay_bytes(AGGREGATION_FEDVS, &g->shape, part, to, n));
}

/* --- dealing --- */

void members_deal_keys(struct members *g)
{
    const struct secagg_round r = members_round(g);
    struct error err = {0};
    uint32_t faulty;

    for (uint32_t m = 0; m < g->c.parties; m++)
        CHECK(secagg_deal_keys(g->party[m], g->share[m], g->tag[m], &r) == STATUS_OK);
    for (uint32_t m = 0; m < g->c.parties; m++) {
        members_route(g, m, SECAGG_PART_KEYS, 0);
        CHECK(secagg_take_keys(g->party[m], g->sealed, g->tags, &r, &faulty, &err) == STATUS_OK);
    }
}

enum status members_deal_chunk(struct members *g, uint32_t m, uint32_t at, uint32_t rows,
                               const struct secagg_round *round)
{
    const uint32_t d = g->c.features[m];
    uint8_t key[RNG_KEY_BYTES];
    struct rng masks;
    enum status s;

    memset(g->chunk, 0, (size_t)g->c.segments * rows * d * sizeof(float));
    for (uint32_t k = 0; k < g->c.segments; k++)
        for (uint32_t i = 0; i < rows; i++) {
            const size_t row = (size_t)k * g->len + at + i;

            if (row < g->c.rows)
                memcpy(g->chunk + ((size_t)k * rows + i) * d, g->x[m] + row * d, d * sizeof(float));
        }
    rng_seed_key(key, 4711, m, "masks", at);
    CHECK(rng_init_key(&masks, key) == STATUS_OK);
    s = secagg_deal(g->party[m], g->share[m], g->tag[m], g->chunk, rows, round, &masks);
    rng_deinit(&masks);
    return s;
}

void members_deal_data(struct members *g)
{
    const size_t row = (size_t)g->shape.terms.inputs_n * g->shape.terms.field->bytes;
    struct error err = {0};
    uint32_t faulty;

    for (uint32_t at = 0, rows; at < g->len; at += rows) {
        const struct secagg_round r = members_round(g);

        rows = g->len - at < g->shape.deal_rows_max ? g->len - at : g->shape.deal_rows_max;
        for (uint32_t m = 0; m < g->c.parties; m++)
            CHECK(members_deal_chunk(g, m, at, rows, &r) == STATUS_OK);
        for (uint32_t m = 0; m < g->c.parties; m++) {
            members_route(g, m, SECAGG_PART_DATA, rows);
            CHECK(secagg_take(g->party[m], g->data[m] + at * row, g->sealed, g->tags, rows, &r,
                              &faulty, &err) == STATUS_OK);
        }
    }
}

/* --- rounds --- */

void members_draw_weights(struct members *g, struct rng *r)
{
    for (uint32_t m = 0; m < g->c.parties; m++)
        for (size_t i = 0; i < (size_t)g->shape.terms.inputs[m] * g->c.width; i++)
            g->w[m][i] = (float)(g->c.w_max * 1.1 * (2 * rng_uniform(r) - 1));
}

static void start_noise(struct rng *noise, uint32_t m, const struct secagg_round *r)
{
    uint8_t key[RNG_KEY_BYTES];

    rng_seed_key(key, 4711, m, "noise", r->round);
    CHECK(rng_init_key(noise, key) == STATUS_OK);
}

enum status members_protect(struct members *g, uint32_t m, const struct secagg_round *r)
{
    struct rng noise;
    enum status s;

    start_noise(&noise, m, r);
    s = secagg_protect(g->party[m], g->share[m], g->tag[m], g->w[m],
                       (size_t)g->shape.terms.inputs[m] * g->c.width, r, &noise);
    rng_deinit(&noise);
    return s;
}

enum status members_relay(struct members *g, uint32_t m, const struct secagg_round *r,
                          uint32_t *faulty)
{
    struct secagg_round own = *r;
    struct error err = {0};
    enum status s;

    own.data = g->data[m];
    s = secagg_relay(g->party[m], g->payload[m], g->sealed, g->tags, members_values(g, r->coded_n),
                     &own, faulty, &err);
    CHECK(err.status == s);
    return s;
}

struct secagg_round members_run(struct members *g, const uint32_t *coded, uint32_t coded_n)
{
    struct secagg_round r = members_round(g);
    uint32_t faulty;

    r.coded = coded;
    r.coded_n = coded_n;
    for (uint32_t m = 0; m < g->c.parties; m++)
        CHECK(members_protect(g, m, &r) == STATUS_OK);
    for (uint32_t m = 0; m < g->c.parties; m++) {
        members_route(g, m, SECAGG_PART_ROUND, 0);
        CHECK(members_relay(g, m, &r, &faulty) == STATUS_OK);
    }
    return r;
}

/* --- in plain integers --- */

size_t members_values(const struct members *g, uint32_t coded_n)
{
    return (size_t)coded_n * g->c.segments * g->c.width;
}

size_t members_real(const struct members *g, const uint32_t *coded, uint32_t coded_n)
{
    size_t rows = 0;

    for (uint32_t k = 0; k < g->c.segments; k++)
        for (uint32_t i = 0; i < coded_n; i++)
            rows += (size_t)k * g->len + coded[i] < g->c.rows;
    return rows * g->c.width;
}

void members_weights(const struct members *g, uint32_t m, int64_t *out,
                     const struct secagg_round *r)
{
    struct rng noise;

    start_noise(&noise, m, r);
    for (size_t i = 0; i < (size_t)g->shape.terms.inputs[m] * g->c.width; i++) {
        const double w = fmax(-g->c.w_max, fmin(g->c.w_max, (double)g->w[m][i]));
        const double v = w * pow(2, g->c.w_bits), u = rng_uniform(&noise);

        out[i] = (int64_t)floor(v);
        if (u < v - floor(v))
            out[i]++;
    }
    rng_deinit(&noise);
}

void members_inputs(const struct members *g, uint32_t m, int64_t *out, uint32_t row)
{
    const uint32_t d = g->c.features[m];

    for (uint32_t i = 0; i < g->c.degree[m]; i++)
        for (uint32_t f = 0; f < d; f++) {
            double x = 0, power = 1;

            if (row < g->c.rows)
                x = fmax(-g->c.x_max, fmin(g->c.x_max, (double)g->x[m][row * d + f]));
            for (uint32_t k = 0; k <= i; k++)
                power *= x;
            out[i * d + f] = llrint(power * pow(2, g->c.x_bits));
        }
}

void members_sums(const struct members *g, int64_t *sums, const struct secagg_round *r)
{
    const uint32_t width = g->c.width;
    int64_t inputs[64], w[64 * 8];

    memset(sums, 0, members_values(g, r->coded_n) * sizeof *sums);
    for (uint32_t m = 0; m < g->c.parties; m++) {
        CHECK(g->shape.terms.inputs[m] <= 64 && width <= 8);
        members_weights(g, m, w, r);
        for (uint32_t k = 0; k < g->c.segments; k++)
            for (uint32_t i = 0; i < r->coded_n; i++) {
                int64_t *sum = sums + ((size_t)k * r->coded_n + i) * width;

                members_inputs(g, m, inputs, k * g->len + r->coded[i]);
                for (uint32_t j = 0; j < g->shape.terms.inputs[m]; j++)
                    for (uint32_t c = 0; c < width; c++)
                        sum[c] += inputs[j] * w[j * width + c];
            }
    }
}

void members_draw_coded(const struct members *g, uint32_t *coded, uint32_t n, struct rng *r)
{
    uint32_t made = 0;

    CHECK(n <= g->len);
    for (uint32_t row = 0; row < g->len && made < n; row++)
        if (below(r, g->len - row) < n - made)
            coded[made++] = row;
}

void members_shuffle(uint32_t *order, uint32_t n, struct rng *r)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = below(r, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
}
