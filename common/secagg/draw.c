/* draw.c -- random bytes to random elements.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/draw.h"

#include "common/crypto/secret.h"

static void next_of_rng(void *stream, void *out, size_t n)
{
    rng_fill(stream, out, n);
}

static void next_of_prg(void *stream, void *out, size_t n)
{
    prg_fill(stream, out, n);
}

/* Asks for no word more than there are elements to make, so that none is lost between two calls. */
static void make(const struct field *f, uint8_t *out, size_t n, uint8_t *random,
                 void (*next)(void *stream, void *out, size_t n), void *stream)
{
    size_t used;

    while (n > 0) {
        const size_t want = n * f->bytes, bytes = want < DRAW_BYTES ? want : DRAW_BYTES;
        size_t made;

        next(stream, random, bytes);
        made = f->uniform(out, n, random, bytes, &used);
        out += made * f->bytes;
        n -= made;
    }
}

void draw_from_rng(const struct field *f, void *out, size_t n, struct rng *r, uint8_t *random)
{
    make(f, out, n, random, next_of_rng, r);
}

void draw_from_prg(const struct field *f, void *out, size_t n, struct prg *g, uint8_t *random)
{
    make(f, out, n, random, next_of_prg, g);
}

void draw_forget(struct rng *r)
{
    uint8_t key[RNG_KEY_BYTES];

    rng_fill(r, key, sizeof key);
    rng_rekey(r, key);
    secret_wipe(key, sizeof key);
}
