/* fedvs_party.c -- a member's life, and what dealing and rounds have in common.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/fedvs_party.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/lcc/block.h"
#include "common/secagg/draw.h"

#include <string.h>

/* --- life --- */

struct mat_shape fedvs_mat_shape(const struct secagg_shape *s, size_t rows)
{
    const size_t n = s->terms.inputs_n, width = s->terms.width;

    return (struct mat_shape){.n = rows, .k = n, .m = width, .lda = n, .ldb = width, .ldc = width};
}

static size_t opened_bytes(const struct secagg_shape *s)
{
    size_t most = 0;

    for (uint32_t m = 0; m < s->parties; m++) {
        const size_t bytes[] = {fedvs_part_bytes(s, SECAGG_PART_ROUND, m, 0),
                                fedvs_part_bytes(s, SECAGG_PART_KEYS, m, 0),
                                fedvs_part_bytes(s, SECAGG_PART_DATA, m, s->deal_rows_max)};

        for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
            most = bytes[i] > most ? bytes[i] : most;
    }
    return most;
}

static void set_sizes(struct fedvs_party *p)
{
    const struct secagg_shape *s = &p->base.shape;
    const size_t rows = s->values_max / s->terms.segments / s->terms.width;
    const size_t row = (size_t)s->terms.inputs_n * p->field->bytes;
    const struct mat_shape largest = fedvs_mat_shape(s, rows);

    p->opened_bytes = opened_bytes(s);
    /* Rows that are multiplied together: as others' inputs allow. */
    p->gather_rows = (uint32_t)(FEDVS_GATHER_BYTES / row < 1 ? 1 : FEDVS_GATHER_BYTES / row);
    p->gather_rows = p->gather_rows < FEDVS_GATHER ? p->gather_rows : FEDVS_GATHER;
    p->gather_rows = rows < p->gather_rows ? (uint32_t)rows : p->gather_rows;
    p->gather_bytes = p->gather_rows * row;
    p->mat_bytes = p->field->mat_space(&largest);
}

static void cut_block(struct fedvs_party *p)
{
    const struct secagg_shape *s = &p->base.shape;
    const struct fedvs_terms *t = &s->terms;
    const size_t bytes = p->field->bytes, chunk = FEDVS_CHUNK * bytes;
    size_t at = 0;

    p->wide = block_cut(&at, p->block, FEDVS_CHUNK, sizeof *p->wide);
    p->coded = block_cut(&at, p->block, t->segments + t->privacy, chunk);
    p->shares = block_cut(&at, p->block, s->parties, chunk);
    p->own = block_cut(&at, p->block, (size_t)s->deal_rows_max * t->inputs[s->self], bytes);
    p->weights = block_cut(&at, p->block, (size_t)t->inputs_n * t->width, bytes);
    p->opened = block_cut(&at, p->block, p->opened_bytes, 1);
    p->gather = block_cut(&at, p->block, p->gather_bytes, 1);
    p->result = block_cut(&at, p->block, fedvs_upload_values(s, s->values_max), bytes);
    p->random = block_cut(&at, p->block, DRAW_BYTES, 1);
    p->mat = block_cut(&at, p->block, p->mat_bytes, 1);
    p->block_bytes = at;
}

void fedvs_party_free(struct secagg_party *base)
{
    struct fedvs_party *p = (struct fedvs_party *)base;

    product_deinit(&p->code);
    share_deinit(&p->keys);
    zero_deinit(&p->zero);
    rng_deinit(&p->uniform);
    if (p->block != NULL)
        secret_wipe(p->block, p->block_bytes);
    mem_free(p->block);
    secret_free(p, 1, sizeof *p);
}

static enum status make(struct fedvs_party *p, const struct secagg_pair *pairs)
{
    const struct secagg_shape *s = &p->base.shape;
    const struct zero_shape zero = {p->field, s->parties, s->self, s->terms.segments,
                                    s->terms.privacy};
    enum status st = fedvs_product_init(&p->code, s);

    if (st == STATUS_OK)
        st = share_init(&p->keys, s->parties, s->self, pairs);
    if (st == STATUS_OK)
        st = zero_init(&p->zero, &zero);
    if (st == STATUS_OK)
        st = rng_init_system(&p->uniform);
    if (st != STATUS_OK)
        return st;
    set_sizes(p);
    cut_block(p);
    p->block = mem_alloc(p->block_bytes, 1);
    if (p->block == NULL)
        return STATUS_MEMORY;
    cut_block(p);
    return STATUS_OK;
}

enum status fedvs_party_new(struct secagg_party **out, const struct secagg_shape *s,
                            const struct secagg_pair *pairs)
{
    struct fedvs_party *p;
    enum status st;

    CHECK(pairs != NULL && s->values_max >= s->terms.segments * s->terms.width);
    p = secret_alloc(1, sizeof *p);
    if (p == NULL)
        return STATUS_MEMORY;
    p->base.shape = *s;
    p->field = s->terms.field;
    p->before = fedvs_inputs_before(&s->terms, s->self);
    st = make(p, pairs);
    if (st != STATUS_OK) {
        fedvs_party_free(&p->base);
        return st;
    }
    *out = &p->base;
    return STATUS_OK;
}

/* --- sealed --- */

enum status fedvs_begin(struct fedvs_party *p, const struct secagg_round *r)
{
    enum status s = share_begin(&p->keys, r);

    if (s == STATUS_OK)
        p->due = FEDVS_DUE_NOTHING;
    return s;
}

void fedvs_put_shares(struct fedvs_party *p, uint8_t *sealed, uint8_t *own, size_t part, size_t at,
                      size_t some)
{
    const struct field *f = p->field;

    for (uint32_t j = 0; j < p->base.shape.parties; j++) {
        const uint8_t *share = p->shares + j * some * f->bytes;

        if (j == p->base.shape.self)
            memcpy(own + at * f->bytes, share, some * f->bytes);
        else
            f->pack(sealed + share_part(&p->keys, j, part) + f->packed(at), share, some);
    }
}

void fedvs_wipe_dealt(struct fedvs_party *p, size_t all, uint32_t rows)
{
    const size_t some = all < FEDVS_CHUNK ? all : FEDVS_CHUNK;

    secret_wipe(p->wide, some * sizeof *p->wide);
    secret_wipe(p->coded, rows * some * p->field->bytes);
    secret_wipe(p->shares, p->base.shape.parties * some * p->field->bytes);
    secret_wipe(p->random, DRAW_BYTES);
}

/* --- opened --- */

enum status fedvs_take_due(struct fedvs_party *p, enum fedvs_due due, const struct secagg_round *r,
                           struct error *err)
{
    CHECK(due != FEDVS_DUE_NOTHING);
    if (p->due != due || !share_is(&p->keys, r))
        return error_set(err, STATUS_PROTOCOL,
                         "shares of another round than the last, or for a second time");
    p->due = FEDVS_DUE_NOTHING;
    return STATUS_OK;
}

enum status fedvs_open_all(struct fedvs_party *p, const struct fedvs_taking *t, uint32_t *faulty,
                           struct error *err)
{
    const struct secagg_shape *s = &p->base.shape;
    const uint8_t *sealed = t->sealed, *tag = t->tags;
    size_t most = 0;
    enum status st = STATUS_OK;

    for (uint32_t from = 0; from < s->parties && st == STATUS_OK; from++) {
        const size_t bytes = fedvs_part_bytes(s, t->part, from, t->n);

        if (from == s->self)
            continue;
        most = bytes > most ? bytes : most;
        if (!share_open(&p->keys, from, p->opened, sealed, bytes, tag))
            st = error_set(err, STATUS_AUTH,
                           "a share that does not open: damaged, or not of this round, session, "
                           "broadcast or pair");
        else if (!t->use(p, from, t))
            st = error_set(err, STATUS_AUTH, "%s",
                           t->part == SECAGG_PART_KEYS ? "keys of other sets than were due"
                                                       : "a share that is not of the field");
        if (st != STATUS_OK)
            *faulty = from;
        sealed += bytes;
        tag += AEAD_TAG_BYTES;
    }
    secret_wipe(p->opened, most);
    return st;
}
