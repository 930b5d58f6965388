/* colluder.c -- the noise of a seeded party, a second time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/colluder.h"

#include "common/base/mem.h"

#include <math.h>

enum status colluder_init(struct colluder *c, const struct plan *p, uint64_t seed,
                          size_t values_max, struct error *err)
{
    const uint8_t key[RNG_KEY_BYTES] = {0};
    enum status s = STATUS_OK;

    *c = (struct colluder){.seed = seed, .values_max = values_max};
    if (p->protocol.encoding != ENCODING_PBM ||
        encode_init(&c->encode, p, p->shape.parties) != STATUS_OK)
        return error_set(err, STATUS_CONFIG, "--seed: only noise of pbm is drawn again");
    c->code = mem_alloc(values_max, sizeof *c->code);
    c->x = mem_alloc(values_max, sizeof *c->x);
    s = c->code == NULL || c->x == NULL ? STATUS_MEMORY : rng_init_key(&c->noise, key);
    for (size_t i = 0; i < values_max && s == STATUS_OK; i++)
        c->x[i] = c->encode.clip;
    return s == STATUS_OK ? s : error_set(err, s, "--seed: %s", status_words(s));
}

void colluder_deinit(struct colluder *c)
{
    mem_free(c->code);
    mem_free(c->x);
    rng_deinit(&c->noise);
    *c = (struct colluder){0};
}

void colluder_part(struct colluder *c, float *out, uint32_t party, const struct colluder_round *r)
{
    const uint64_t place = (uint64_t)r->purpose << 62 |
                           (r->purpose == PURPOSE_TRAIN ? r->place : r->sweep << 32 | r->place);
    uint8_t key[RNG_KEY_BYTES];

    rng_seed_key(key, c->seed, party + 1, "noise", place);
    rng_rekey(&c->noise, key);
    encode_integers(&c->encode, c->code, c->x, r->values, &c->noise);
    encode_estimate(&c->encode, out, c->code, r->values, 1);
}

bool colluder_is_code(const struct colluder *c, double value)
{
    const struct pbm *p = &c->encode.pbm;
    const double code = value * p->beta * p->trials / p->clip + 0.5 * p->trials;

    return fabs(code - round(code)) < 0.01 && round(code) >= 0 && round(code) <= p->trials;
}
