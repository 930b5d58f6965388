/* deal.c -- before the rounds of fedvs: subset keys and shares of the data go to everybody.
 *
 * The happy path: confirms -> keys, sealed -> the others' -> chunk by chunk: own data, in shares ->
 * the others' -> the first round.  It is a row of SHARE phases without uploads.
 *
 * What is dealt is fixed by one key: the same chunk dealt again, after a cut, is the same bytes
 * before they are sealed.  That key depends on the plan, the roster and the data itself, so masks
 * are never used for other data, or for other holders (threats C2, C4).  Who holds how much is said
 * in the hellos, and dealing goes on from there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/deal.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/wire/purpose.h"

#include <string.h>

/* The first page of the memory that shares lie in: what is there, once all of it is. */
struct header {
    uint8_t holds[WIRE_DIGEST_BYTES];
    uint64_t held, bytes;
    uint8_t digest[WIRE_DIGEST_BYTES]; /* of the fields above */
};

enum { HEADER_BYTES = 4096 };
_Static_assert(sizeof(struct header) <= HEADER_BYTES, "the header fits its page");

/* --- what names a sharing --- */

static void add_table(struct digest *d, const struct table *t)
{
    const uint64_t shape[2] = {t->rows, t->cols};

    digest_update(d, shape, sizeof shape);
    digest_update(d, t->x, t->rows * t->cols * sizeof *t->x);
}

/* key = H("vfl/deal/1" || secret || plan || roster || data), name = H("vfl/dealing/1" || key) */
static void name_dealing(struct party_deal *d, const struct party_course *c,
                         const struct party_setup *setup)
{
    static const char key_label[] = "vfl/deal/1", name_label[] = "vfl/dealing/1";

    digest_begin(&d->digest);
    digest_update(&d->digest, key_label, sizeof key_label - 1);
    digest_update(&d->digest, d->secret, sizeof d->secret);
    digest_update(&d->digest, c->digest, sizeof c->digest);
    digest_update(&d->digest, setup->roster->digest, WIRE_DIGEST_BYTES);
    add_table(&d->digest, setup->data.train);
    add_table(&d->digest, setup->data.test);
    digest_final(&d->digest, d->key);
    digest_begin(&d->digest);
    digest_update(&d->digest, name_label, sizeof name_label - 1);
    digest_update(&d->digest, d->key, sizeof d->key);
    digest_final(&d->digest, d->name);
}

static void header_digest(uint8_t out[WIRE_DIGEST_BYTES], const struct header *h)
{
    digest_sha256(out, h, offsetof(struct header, digest));
}

/* All is there that the header speaks of. */
static bool whole(const struct party_deal *d, struct header *h)
{
    uint8_t digest[WIRE_DIGEST_BYTES];

    if (d->memory == NULL || d->bytes < HEADER_BYTES)
        return false;
    memcpy(h, d->memory, sizeof *h);
    header_digest(digest, h);
    return h->bytes == d->bytes && memcmp(digest, h->digest, sizeof digest) == 0;
}

bool party_deal_whole(const struct party_deal *d)
{
    return d->whole;
}

/* What an earlier process left. */
static enum status recall(struct party_deal *d, struct error *err)
{
    struct header h;
    enum status s;

    if (d->holdings.map == NULL)
        return STATUS_OK;
    d->bytes = 0;
    s = d->holdings.map(d->holdings.owner, &d->memory, &d->bytes, err);
    if (s != STATUS_OK || !whole(d, &h)) {
        d->memory = NULL; /* of no use: mapped anew when room is made */
        d->bytes = 0;
        return s;
    }
    d->whole = true;
    d->held = h.held;
    memcpy(d->holds, h.holds, sizeof d->holds);
    return STATUS_OK;
}

enum status party_deal_init(struct party_deal *d, const struct party_course *c,
                            const struct party_setup *setup, struct error *err)
{
    struct rng fresh = {0};
    enum status s;

    d->on = secagg_deals(c->plan.protocol.aggregation);
    if (!d->on)
        return STATUS_OK;
    d->holdings = setup->holdings;
    s = rng_init_system(&fresh);
    if (s != STATUS_OK)
        return s;
    rng_fill(&fresh, d->secret, sizeof d->secret);
    rng_deinit(&fresh);
    s = rng_init_key(&d->masks, d->secret);
    if (s != STATUS_OK)
        return s;
    name_dealing(d, c, setup);
    return recall(d, err);
}

void party_deal_restore(struct party_deal *d, const struct party_course *c,
                        const struct party_setup *setup, const uint8_t secret[RNG_KEY_BYTES])
{
    if (!d->on)
        return;
    memcpy(d->secret, secret, sizeof d->secret);
    name_dealing(d, c, setup);
}

void party_deal_deinit(struct party_deal *d)
{
    rng_deinit(&d->masks);
    digest_deinit(&d->digest);
    if (d->x != NULL)
        secret_wipe(d->x, d->x_floats * sizeof *d->x);
    mem_free(d->x);
    if (d->holdings.map == NULL && d->memory != NULL) {
        secret_wipe(d->memory, d->bytes);
        mem_free(d->memory);
    }
    secret_wipe(d, sizeof *d);
}

/* --- the generation --- */

void party_deal_say(const struct party_deal *d, const struct party_setup *setup,
                    struct wire_hello *h)
{
    if (!d->on)
        return;
    h->features = (uint32_t)setup->data.train->cols;
    h->degree = setup->config->degree;
    h->dealing = (struct wire_bytes){d->name, sizeof d->name};
    if (d->held == 0)
        return;
    h->holds = (struct wire_bytes){d->holds, sizeof d->holds};
    h->held = d->held;
}

/* What shares of every coded row of both splits take. */
static size_t room(const struct party_deal *d, const struct fedvs_terms *t)
{
    return HEADER_BYTES +
           ((size_t)d->chunks.train_len + d->chunks.test_len) * t->inputs_n * t->field->bytes;
}

/* What others say of their bottoms must not fill this party's disk. */
static enum status check_room(const struct fedvs_terms *t, const struct party_setup *setup,
                              const struct party_set *set, size_t bytes, struct error *err)
{
    uint32_t most = setup->config->policy.shares_mib, widest = 0;

    if (most == 0 || bytes >> 20 <= most)
        return STATUS_OK;
    for (uint32_t m = 1; m < set->members_n; m++) {
        if (t->inputs[m] > t->inputs[widest])
            widest = m;
    }
    return error_set(err, STATUS_POLICY,
                     "policy.max_shares_mib: shares of everybody's data take %zu MiB where %u are "
                     "the most; %u of their %u columns are of %s",
                     bytes >> 20, most, t->inputs[widest], t->inputs_n,
                     setup->roster->party[set->members[widest]].name);
}

/* Memory for them; what is in it stays when it fits. */
static enum status make_room(struct party_deal *d, const struct fedvs_terms *t, size_t columns,
                             struct error *err)
{
    size_t bytes = room(d, t), floats = (size_t)t->segments * d->chunks.chunk_rows * columns;

    if (floats > d->x_floats) {
        mem_free(d->x);
        d->x = mem_alloc(floats, sizeof *d->x);
        d->x_floats = d->x == NULL ? 0 : floats;
    }
    if (d->x == NULL)
        return error_set(err, STATUS_MEMORY, "no memory to deal data from");
    if (bytes == d->bytes && d->memory != NULL)
        return STATUS_OK;
    d->bytes = bytes;
    if (d->holdings.map != NULL)
        return d->holdings.map(d->holdings.owner, &d->memory, &d->bytes, err);
    mem_free(d->memory);
    d->memory = mem_alloc(bytes, 1);
    return d->memory != NULL
               ? STATUS_OK
               : error_set(err, STATUS_MEMORY, "no memory for %zu bytes of data shares", bytes);
}

enum status party_deal_begin(struct party_deal *d, struct secagg_shape *shape, const struct plan *p,
                             const struct party_setup *setup, const struct party_set *set,
                             struct error *err)
{
    enum status s;

    if (!d->on)
        return STATUS_OK;
    s = dealing_terms(&shape->terms, p, set->hellos, set->members_n, err);
    if (s != STATUS_OK)
        return s;
    dealing_make(&d->chunks, p, &shape->terms);
    shape->deal_rows_max = d->chunks.chunk_rows;
    d->held = dealing_start(set->hellos, set->members_n);
    if (d->held > d->chunks.chunks)
        d->held = 0;
    dealing_holds(d->holds, set->hellos, set->members_n);
    d->keys_due = true;
    return check_room(&shape->terms, setup, set, room(d, &shape->terms), err);
}

/* --- a dealing round --- */

enum status party_deal_plan(const struct party_deal *d, struct party_task *task,
                            const struct wire_broadcast *b, struct error *err)
{
    const bool keys = purpose_of(b->purpose)->keys;

    if (!d->on)
        return party_violation(err, "deals what the plan does not share, round", b->round);
    if (keys != d->keys_due || (keys ? b->place != 0 : b->place != d->held) ||
        (!keys && d->held >= d->chunks.chunks))
        return party_violation(err, "deals out of order: place", b->place);
    task->coded = keys ? 0 : dealing_chunk(&d->chunks, b->place).rows;
    task->rows = 0;
    return STATUS_OK;
}

/* Everything is dealt: rounds may be opened. */
bool party_dealt(const struct party_deal *d)
{
    return !d->on || (!d->keys_due && d->held == d->chunks.chunks);
}

/* The segments' rows of one chunk, one segment after another; padding is 0. */
static void gather(struct party_deal *d, const struct table *t, const struct dealing_chunk *c,
                   uint32_t segments)
{
    const uint32_t len = c->test ? d->chunks.test_len : d->chunks.train_len;
    float *to = d->x;

    for (uint32_t k = 0; k < segments; k++) {
        for (uint32_t r = 0; r < c->rows; r++, to += t->cols) {
            const size_t row = (size_t)k * len + c->first + r;

            if (row < t->rows)
                memcpy(to, t->x + row * t->cols, t->cols * sizeof *to);
            else
                memset(to, 0, t->cols * sizeof *to);
        }
    }
}

/* H(key || split || first row || rows || p): another cut of the rows draws other masks, and so does
 * the other field, which a member may bring about by other columns. */
static void key_masks(struct party_deal *d, const struct dealing_chunk *c,
                      const struct field *field)
{
    const uint64_t place[4] = {c->test, c->first, c->rows, field->p};
    uint8_t key[RNG_KEY_BYTES];

    digest_begin(&d->digest);
    digest_update(&d->digest, d->key, sizeof d->key);
    digest_update(&d->digest, place, sizeof place);
    digest_final(&d->digest, key);
    rng_rekey(&d->masks, key);
    secret_wipe(key, sizeof key);
}

static enum status sync_memory(const struct party_deal *d, struct error *err)
{
    if (d->holdings.sync == NULL)
        return STATUS_OK;
    return d->holdings.sync(d->holdings.owner, err);
}

/* Everybody has confirmed the hellos that say how much room it takes.  That not all is there is on
 * the disk before a chunk is written over. */
static enum status begin_chunks(struct party_deal *d, const struct fedvs_terms *t, size_t columns,
                                struct error *err)
{
    enum status s = make_room(d, t, columns, err);

    if (s != STATUS_OK || d->held == d->chunks.chunks)
        return s;
    d->whole = false;
    memset(d->memory, 0, sizeof(struct header));
    return sync_memory(d, err);
}

enum status party_deal_work(struct party_deal *d, struct party_round *round,
                            const struct party_setup *setup, const struct secagg_round *r,
                            struct error *err)
{
    const struct fedvs_terms *t = &round->shape.terms;
    struct party_upload *u = &round->upload;
    struct dealing_chunk c;
    enum status s;

    if (purpose_of(round->task.purpose)->keys) {
        s = begin_chunks(d, t, setup->data.train->cols, err);
        return s == STATUS_OK ? secagg_deal_keys(round->masks, u->payload, u->check, r) : s;
    }
    c = dealing_chunk(&d->chunks, round->task.place);
    gather(d, c.test ? setup->data.test : setup->data.train, &c, t->segments);
    key_masks(d, &c, t->field);
    s = secagg_deal(round->masks, u->payload, u->check, d->x, c.rows, r, &d->masks);
    secret_wipe(d->x, d->x_floats * sizeof *d->x);
    return s;
}

static size_t row_bytes(const struct fedvs_terms *t)
{
    return (size_t)t->inputs_n * t->field->bytes;
}

static uint8_t *split_at(const struct party_deal *d, const struct fedvs_terms *t, bool test)
{
    return d->memory + HEADER_BYTES + (test ? d->chunks.train_len * row_bytes(t) : 0);
}

const void *party_deal_shares(const struct party_deal *d, const struct party_task *t,
                              const struct secagg_shape *s)
{
    const struct purpose *is = purpose_of(t->purpose);

    /* While they are dealt there may be none yet. */
    return is->deals ? NULL : split_at(d, &s->terms, is->test);
}

/* The last share is in: from here on another process may use them too. */
static enum status finish(struct party_deal *d, struct error *err)
{
    struct header h = {.held = d->held, .bytes = d->bytes};
    enum status s = sync_memory(d, err);

    memcpy(h.holds, d->holds, sizeof h.holds);
    header_digest(h.digest, &h);
    if (s != STATUS_OK)
        return s;
    memcpy(d->memory, &h, sizeof h);
    s = sync_memory(d, err);
    d->whole = s == STATUS_OK;
    return s;
}

enum status party_deal_take(struct party_deal *d, struct party_round *round,
                            const struct party_sealed *got, const struct secagg_round *r,
                            uint32_t *faulty, struct error *err)
{
    const struct fedvs_terms *t = &round->shape.terms;
    struct dealing_chunk c;
    enum status s;

    if (purpose_of(round->task.purpose)->keys) {
        s = secagg_take_keys(round->masks, got->sealed, got->tags, r, faulty, err);
        d->keys_due = s != STATUS_OK;
        return s;
    }
    c = dealing_chunk(&d->chunks, round->task.place);
    s = secagg_take(round->masks, split_at(d, t, c.test) + (size_t)c.first * row_bytes(t),
                    got->sealed, got->tags, c.rows, r, faulty, err);
    if (s != STATUS_OK)
        return s;
    if (++d->held > d->furthest)
        d->furthest = d->held;
    if (d->held < d->chunks.chunks)
        return STATUS_OK;
    log_info("everybody's data is here in shares: %u training and %u test rows of %u elements",
             d->chunks.train_len, d->chunks.test_len, t->inputs_n);
    return finish(d, err);
}
