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
#include "party/train/parts.h"

#include <string.h>

/* The first page of the memory that shares lie in: what is there, once all of it is. */
struct header {
    uint8_t holds[WIRE_DIGEST_BYTES];
    uint64_t held, bytes;
    uint8_t digest[WIRE_DIGEST_BYTES]; /* of the fields above */
};

enum { HEADER_BYTES = 4096 };
_Static_assert(sizeof(struct header) <= HEADER_BYTES, "the header fits its page");

bool party_deals(const struct party_train *p)
{
    return secagg_deals(p->learner.plan.protocol.aggregation);
}

/* --- what names a sharing --- */

static void add_table(struct digest *d, const struct table *t)
{
    const uint64_t shape[2] = {t->rows, t->cols};

    digest_update(d, shape, sizeof shape);
    digest_update(d, t->x, t->rows * t->cols * sizeof *t->x);
}

/* key = H("vfl/deal/1" || secret || plan || roster || data), name = H("vfl/dealing/1" || key) */
static void name_dealing(struct party_train *p)
{
    static const char key_label[] = "vfl/deal/1", name_label[] = "vfl/dealing/1";
    struct party_deal *d = &p->deal;

    digest_begin(&p->learner.digest);
    digest_update(&p->learner.digest, key_label, sizeof key_label - 1);
    digest_update(&p->learner.digest, d->secret, sizeof d->secret);
    digest_update(&p->learner.digest, p->learner.plan_digest, sizeof p->learner.plan_digest);
    digest_update(&p->learner.digest, p->setup->roster->digest, WIRE_DIGEST_BYTES);
    add_table(&p->learner.digest, p->setup->train);
    add_table(&p->learner.digest, p->setup->test);
    digest_final(&p->learner.digest, d->key);
    digest_begin(&p->learner.digest);
    digest_update(&p->learner.digest, name_label, sizeof name_label - 1);
    digest_update(&p->learner.digest, d->key, sizeof d->key);
    digest_final(&p->learner.digest, d->name);
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

bool party_deal_whole(const struct party_train *p)
{
    struct header h;

    return whole(&p->deal, &h);
}

/* What an earlier process left. */
static enum status recall(struct party_train *p)
{
    struct party_deal *d = &p->deal;
    struct header h;
    enum status s;

    if (p->setup->holdings.map == NULL)
        return STATUS_OK;
    d->bytes = 0;
    s = p->setup->holdings.map(p->setup->holdings.owner, &d->memory, &d->bytes, p->error);
    if (s != STATUS_OK || !whole(d, &h))
        return s;
    d->held = h.held;
    memcpy(d->holds, h.holds, sizeof d->holds);
    return STATUS_OK;
}

enum status party_deal_init(struct party_train *p)
{
    struct rng fresh = {0};
    enum status s;

    if (!party_deals(p))
        return STATUS_OK;
    s = rng_init_system(&fresh);
    if (s != STATUS_OK)
        return s;
    rng_fill(&fresh, p->deal.secret, sizeof p->deal.secret);
    rng_deinit(&fresh);
    s = rng_init_key(&p->deal.masks, p->deal.secret);
    if (s != STATUS_OK)
        return s;
    name_dealing(p);
    return recall(p);
}

void party_deal_restore(struct party_train *p, const uint8_t secret[RNG_KEY_BYTES])
{
    memcpy(p->deal.secret, secret, sizeof p->deal.secret);
    name_dealing(p);
}

void party_deal_deinit(struct party_train *p)
{
    struct party_deal *d = &p->deal;

    rng_deinit(&d->masks);
    if (d->x != NULL)
        secret_wipe(d->x, d->x_floats * sizeof *d->x);
    mem_free(d->x);
    if (p->setup->holdings.map == NULL && d->memory != NULL) {
        secret_wipe(d->memory, d->bytes);
        mem_free(d->memory);
    }
    secret_wipe(d, sizeof *d);
}

/* --- the generation --- */

void party_deal_say(const struct party_train *p, struct wire_hello *h)
{
    const struct party_deal *d = &p->deal;

    if (!party_deals(p))
        return;
    h->features = (uint32_t)p->setup->train->cols;
    h->degree = p->setup->config->degree;
    h->dealing = (struct wire_bytes){d->name, sizeof d->name};
    if (d->held == 0)
        return;
    h->holds = (struct wire_bytes){d->holds, sizeof d->holds};
    h->held = d->held;
}

/* What shares of every coded row of both splits take. */
static size_t room(const struct party_train *p)
{
    const struct party_deal *d = &p->deal;
    const struct fedvs_terms *t = &p->round.shape.terms;

    return HEADER_BYTES +
           ((size_t)d->chunks.train_len + d->chunks.test_len) * t->inputs_n * t->field->bytes;
}

/* What others say of their bottoms must not fill this party's disk. */
static enum status check_room(struct party_train *p, size_t bytes)
{
    const struct fedvs_terms *t = &p->round.shape.terms;
    uint32_t most = p->setup->config->policy.shares_mib, widest = 0;

    if (most == 0 || bytes >> 20 <= most)
        return STATUS_OK;
    for (uint32_t m = 1; m < p->set->members_n; m++) {
        if (t->inputs[m] > t->inputs[widest])
            widest = m;
    }
    return error_set(p->error, STATUS_POLICY,
                     "policy.max_shares_mib: shares of everybody's data take %zu MiB where %u are "
                     "the most; %u of their %u columns are of %s",
                     bytes >> 20, most, t->inputs[widest], t->inputs_n,
                     p->setup->roster->party[p->set->members[widest]].name);
}

/* Memory for them; what is in it stays when it fits. */
static enum status make_room(struct party_train *p, struct error *err)
{
    struct party_deal *d = &p->deal;
    size_t bytes = room(p);
    size_t floats =
        (size_t)p->round.shape.terms.segments * d->chunks.chunk_rows * p->setup->train->cols;

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
    if (p->setup->holdings.map != NULL)
        return p->setup->holdings.map(p->setup->holdings.owner, &d->memory, &d->bytes, err);
    mem_free(d->memory);
    d->memory = mem_alloc(bytes, 1);
    return d->memory != NULL
               ? STATUS_OK
               : error_set(err, STATUS_MEMORY, "no memory for %zu bytes of data shares", bytes);
}

enum status party_deal_begin(struct party_train *p)
{
    struct party_deal *d = &p->deal;
    enum status s;

    if (!party_deals(p))
        return STATUS_OK;
    s = dealing_terms(&p->round.shape.terms, &p->learner.plan, p->set->hellos, p->set->members_n,
                      p->error);
    if (s != STATUS_OK)
        return s;
    dealing_make(&d->chunks, &p->learner.plan, &p->round.shape.terms);
    p->round.shape.deal_rows_max = d->chunks.chunk_rows;
    d->held = dealing_start(p->set->hellos, p->set->members_n);
    if (d->held > d->chunks.chunks)
        d->held = 0;
    dealing_holds(d->holds, p->set->hellos, p->set->members_n);
    d->keys_due = true;
    return check_room(p, room(p));
}

/* --- a dealing round --- */

enum status party_plan_deal(struct party_train *p, const struct wire_broadcast *b)
{
    const struct party_deal *d = &p->deal;
    bool keys = b->purpose == PURPOSE_DEAL_KEYS;

    if (!party_deals(p))
        return party_violation(p->error, "deals what the plan does not share, round", b->round);
    if (keys != d->keys_due || (keys ? b->place != 0 : b->place != d->held) ||
        (!keys && d->held >= d->chunks.chunks))
        return party_violation(p->error, "deals out of order: place", b->place);
    p->round.task.coded = 0;
    p->round.task.rows = 0;
    if (!keys) {
        struct dealing_chunk c = dealing_chunk(&d->chunks, b->place);
        p->round.task.coded = c.rows;
    }
    return STATUS_OK;
}

/* Everything is dealt: rounds may be opened. */
bool party_dealt(const struct party_train *p)
{
    return !party_deals(p) || (!p->deal.keys_due && p->deal.held == p->deal.chunks.chunks);
}

/* The segments' rows of one chunk, one segment after another; padding is 0. */
static void gather(struct party_train *p, const struct dealing_chunk *c)
{
    const struct table *t = c->test ? p->setup->test : p->setup->train;
    const uint32_t len = c->test ? p->deal.chunks.test_len : p->deal.chunks.train_len;
    float *to = p->deal.x;

    for (uint32_t k = 0; k < p->round.shape.terms.segments; k++) {
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
static void key_masks(struct party_train *p, const struct dealing_chunk *c)
{
    const uint64_t place[4] = {c->test, c->first, c->rows, p->round.shape.terms.field->p};
    uint8_t key[RNG_KEY_BYTES];

    digest_begin(&p->learner.digest);
    digest_update(&p->learner.digest, p->deal.key, sizeof p->deal.key);
    digest_update(&p->learner.digest, place, sizeof place);
    digest_final(&p->learner.digest, key);
    rng_rekey(&p->deal.masks, key);
    secret_wipe(key, sizeof key);
}

static enum status sync_memory(struct party_train *p, struct error *err)
{
    if (p->setup->holdings.sync == NULL)
        return STATUS_OK;
    return p->setup->holdings.sync(p->setup->holdings.owner, err);
}

/* Everybody has confirmed the hellos that say how much room it takes.  That not all is there is on
 * the disk before a chunk is written over. */
static enum status begin_chunks(struct party_train *p, struct error *err)
{
    const struct party_deal *d = &p->deal;
    enum status s = make_room(p, err);

    if (s != STATUS_OK || d->held == d->chunks.chunks)
        return s;
    memset(d->memory, 0, sizeof(struct header));
    return sync_memory(p, err);
}

enum status party_work_deal(struct party_train *p, const struct secagg_round *r, struct error *err)
{
    struct party_deal *d = &p->deal;
    struct dealing_chunk c;
    enum status s;

    if (p->round.task.purpose == PURPOSE_DEAL_KEYS) {
        s = begin_chunks(p, err);
        return s == STATUS_OK ? secagg_deal_keys(p->round.masks, p->round.upload.payload,
                                                 p->round.upload.check, r)
                              : s;
    }
    c = dealing_chunk(&d->chunks, p->round.task.place);
    gather(p, &c);
    key_masks(p, &c);
    s = secagg_deal(p->round.masks, p->round.upload.payload, p->round.upload.check, d->x, c.rows, r,
                    &d->masks);
    secret_wipe(d->x, d->x_floats * sizeof *d->x);
    return s;
}

double party_flops_to_share(const struct party_train *p)
{
    return party_deals(p) && p->round.task.open ? PARTY_SLOW_FLOPS : 0;
}

static uint8_t *split_at(const struct party_train *p, bool test)
{
    const struct fedvs_terms *t = &p->round.shape.terms;
    size_t row = (size_t)t->inputs_n * t->field->bytes;

    return p->deal.memory + HEADER_BYTES + (test ? p->deal.chunks.train_len * row : 0);
}

const void *party_deal_shares(const struct party_train *p)
{
    return split_at(p, p->round.task.purpose == PURPOSE_EVALUATE_TEST);
}

/* The last share is in: from here on another process may use them too. */
static enum status finish(struct party_train *p, struct error *err)
{
    struct header h = {.held = p->deal.held, .bytes = p->deal.bytes};
    enum status s = sync_memory(p, err);

    memcpy(h.holds, p->deal.holds, sizeof h.holds);
    header_digest(h.digest, &h);
    if (s != STATUS_OK)
        return s;
    memcpy(p->deal.memory, &h, sizeof h);
    return sync_memory(p, err);
}

enum status party_work_take(struct party_train *p, const uint8_t *sealed, const uint8_t *tags,
                            const struct secagg_round *r, uint32_t *faulty, struct error *err)
{
    struct party_deal *d = &p->deal;
    const struct fedvs_terms *t = &p->round.shape.terms;
    struct dealing_chunk c;
    enum status s;

    if (p->round.task.purpose == PURPOSE_DEAL_KEYS) {
        s = secagg_take_keys(p->round.masks, sealed, tags, r, faulty, err);
        d->keys_due = s != STATUS_OK;
        return s;
    }
    c = dealing_chunk(&d->chunks, p->round.task.place);
    s = secagg_take(p->round.masks,
                    split_at(p, c.test) + (size_t)c.first * t->inputs_n * t->field->bytes, sealed,
                    tags, c.rows, r, faulty, err);
    if (s != STATUS_OK)
        return s;
    if (++d->held > d->furthest)
        d->furthest = d->held;
    if (d->held < d->chunks.chunks)
        return STATUS_OK;
    log_info("everybody's data is here in shares: %u training and %u test rows of %u elements",
             d->chunks.train_len, d->chunks.test_len, t->inputs_n);
    return finish(p, err);
}
