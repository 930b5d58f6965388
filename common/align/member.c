/* member.c -- raising, shuffling and taking places back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/member.h"

#include "common/align/told.h"
#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/base/parallel.h"
#include "common/crypto/secret.h"

#include <stdatomic.h>
#include <string.h>

enum { BLOCK = 128 }; /* points that one thread takes at once, and their sum */

struct align_member {
    struct align_course course;
    uint32_t self;
    const uint8_t *rows;
    uint8_t session[DIGEST_BYTES], transcript[DIGEST_BYTES];
    unsigned threads;
    struct rng rng;
    struct tally_key key;
    /* What raises the own list, as it leaves and as it comes home: their product is the key; of
     * common rows the key and nothing. */
    uint8_t leaving[GROUP_BYTES], homing[GROUP_BYTES];
    uint8_t *list, *next;     /* what it gives; what it makes of what it is given */
    uint8_t sum[GROUP_BYTES]; /* of the points of this stage so far: as given, of stage 0 as made */
    bool summed;              /* there are any */
    uint8_t own_sum[GROUP_BYTES];         /* of the own list, as it left */
    uint32_t *shuffle[ALIGN_MEMBERS_MAX]; /* by stage: which entry came to stand where */
    uint8_t tally[TALLY_BYTES];
    uint8_t *tallies; /* everybody's of the stage before; all zeros: none yet */
    bool told_common;
    uint32_t common;
    uint8_t *told;            /* prefixes, by place */
    uint32_t *given, *places; /* on their way back */
    uint64_t *taken;          /* bits: places that have been seen */
    uint32_t blamed;
    size_t most; /* entries of the longest list */
};

/* --- points --- */

struct raising {
    const uint8_t *key, *from, *rows; /* key NULL: sums alone; rows NULL: points are there */
    uint8_t *to, *sums; /* sums: by block, of what comes, or of what is made of rows */
    size_t n;
    atomic_bool bad;
};

/* One block, or a part of it at the end. */
static bool raise_block(const struct raising *r, size_t block)
{
    const size_t begin = block * BLOCK, end = begin + BLOCK < r->n ? begin + BLOCK : r->n;
    const uint8_t *summed = r->rows != NULL ? r->to : r->from;
    uint8_t point[GROUP_BYTES];
    bool good = true;

    for (size_t i = begin; i < end && good; i++) {
        const uint8_t *p = r->rows != NULL ? point : r->from + i * GROUP_BYTES;
        uint8_t *to = r->key != NULL ? r->to + i * GROUP_BYTES : NULL;

        if (r->rows != NULL)
            good = group_hash(point, "vfl/align/point/1", r->rows + i * ALIGN_ROW_BYTES,
                              ALIGN_ROW_BYTES) == STATUS_OK;
        if (good)
            good = r->key != NULL ? group_raise(to, r->key, p) : group_is_point(p);
    }
    secret_wipe(point, sizeof point);
    /* A point may stand beside its opposite; only the end may not be nothing. */
    return good &&
           group_sum(r->sums + block * GROUP_BYTES, summed + begin * GROUP_BYTES, end - begin);
}

static void raise_range(void *owner, size_t from, size_t to)
{
    struct raising *r = owner;

    for (size_t b = from; b < to && !atomic_load(&r->bad); b++) {
        if (!raise_block(r, b))
            atomic_store(&r->bad, true);
    }
}

static size_t blocks_of(size_t n)
{
    return (n + BLOCK - 1) / BLOCK;
}

/* Sums of blocks to one, onto what there is in *any. */
static bool fold(uint8_t sum[GROUP_BYTES], bool *any, const uint8_t *sums, size_t blocks)
{
    uint8_t both[2 * GROUP_BYTES];
    bool good = group_sum(both + GROUP_BYTES, sums, blocks);

    memcpy(both, sum, GROUP_BYTES);
    good = good && group_sum(sum, *any ? both : both + GROUP_BYTES, *any ? 2 : 1);
    *any = true;
    return good;
}

bool align_sum(uint8_t sum[GROUP_BYTES], const uint8_t *points, size_t n, unsigned threads)
{
    uint8_t sums[ALIGN_CHUNK / BLOCK * GROUP_BYTES];
    bool any = false;

    CHECK(n > 0);
    for (size_t at = 0; at < n; at += ALIGN_CHUNK) {
        struct raising r = {.from = points + at * GROUP_BYTES,
                            .sums = sums,
                            .n = n - at < ALIGN_CHUNK ? n - at : ALIGN_CHUNK};

        parallel_for(blocks_of(r.n), 1, threads, raise_range, &r);
        if (atomic_load(&r.bad) || !fold(sum, &any, sums, blocks_of(r.n)))
            return false;
    }
    return true;
}

static bool raise_chunk(struct align_member *m, const struct align_at *at, const uint8_t *given,
                        uint32_t from, uint32_t n)
{
    uint8_t sums[ALIGN_CHUNK / BLOCK * GROUP_BYTES];
    struct raising r = {.key = at->part == ALIGN_HOME ? m->homing
                               : at->stage == 0       ? m->leaving
                                                      : m->key.secret,
                        .from = given,
                        .rows = at->stage == 0 ? m->rows + (size_t)from * ALIGN_ROW_BYTES : NULL,
                        .to = m->next + (size_t)from * GROUP_BYTES,
                        .sums = sums,
                        .n = n};

    parallel_for(blocks_of(n), 1, m->threads, raise_range, &r);
    return !atomic_load(&r.bad) && fold(m->sum, &m->summed, sums, blocks_of(n));
}

/* --- the end of a stage --- */

/* Of labelled rows each owner has to know its own again: others leave them as they stand. */
static void shuffle(struct align_member *m, uint32_t stage, uint32_t n)
{
    uint32_t *order = m->shuffle[stage];

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1 && (stage == 0 || !m->course.labelled); i--) {
        const uint32_t j = (uint32_t)rng_below(&m->rng, i), other = order[j];

        order[j] = order[i - 1];
        order[i - 1] = other;
    }
    for (uint32_t i = 0; i < n; i++)
        memcpy(m->list + (size_t)i * GROUP_BYTES, m->next + (size_t)order[i] * GROUP_BYTES,
               GROUP_BYTES);
}

static enum status end_raising(struct align_member *m, const struct align_at *at)
{
    uint8_t context[TALLY_CONTEXT_BYTES], random[GROUP_RANDOM_BYTES];
    enum status s = STATUS_OK;

    shuffle(m, at->stage, m->course.size[align_list(&m->course, at, m->self)]);
    if (at->stage == 0) {
        memcpy(m->own_sum, m->sum, sizeof m->own_sum);
        s = tally_origin(m->sum, m->session);
    }
    tally_context(context, m->session, at->stage, m->self);
    rng_fill(&m->rng, random, sizeof random);
    if (s == STATUS_OK)
        s = tally_make(m->tally, &m->key, m->sum, context, random);
    secret_wipe(random, sizeof random);
    m->summed = false;
    return s;
}

static enum status wrong(struct align_member *m, uint32_t who, struct error *err, const char *what)
{
    m->blamed = who;
    return error_set(err, STATUS_PROTOCOL, "%s", what);
}

/* The own list, as it stands in the table, once it is the sum that it was let go with. */
static enum status end_home(struct align_member *m, struct error *err)
{
    const uint32_t n = m->course.members, before = (m->self + n - 1) % n,
                   size = m->course.size[m->self];
    const uint32_t *order = m->shuffle[0];

    m->summed = false;
    if (memcmp(m->sum, m->tallies + (size_t)before * TALLY_BYTES + TALLY_OUT, GROUP_BYTES) != 0)
        return wrong(m, before, err, "brings another list home than the one that it raised");
    for (uint32_t i = 0; i < size; i++)
        memcpy(m->list + (size_t)order[i] * GROUP_BYTES, m->next + (size_t)i * GROUP_BYTES,
               GROUP_BYTES);
    if (m->self == 0)
        told_of(m->told, m->list, size);
    return STATUS_OK;
}

static enum status take_points(struct align_member *m, const struct align_at *at,
                               const uint8_t *given, struct error *err)
{
    const uint32_t size = m->course.size[align_list(&m->course, at, m->self)];
    uint32_t from;
    const uint32_t n = align_range(&m->course, size, at->chunk, &from);

    if (!raise_chunk(m, at, given, from, n))
        return wrong(m, align_sender(&m->course, at, m->self), err,
                     "not all that should be points of a list are points");
    if (at->last && at->part == ALIGN_HOME)
        return end_home(m, err);
    if (at->last && end_raising(m, at) != STATUS_OK)
        return wrong(m, align_sender(&m->course, at, m->self), err,
                     "the points of a list come to nothing");
    return STATUS_OK;
}

/* --- places --- */

/* Whose rows are among the labelled ones each side finds alone. */
static enum status find_labelled(struct align_member *m, struct error *err)
{
    if (!told_in_order(m->told, m->common))
        return wrong(m, 0, err,
                     "labelled rows that stand in no order (or one that raised them has made "
                     "two of them alike)");
    for (uint32_t i = 0; i < m->course.size[m->self]; i++)
        m->places[i] = told_place(m->told, m->common, m->list + (size_t)i * GROUP_BYTES);
    return STATUS_OK;
}

static enum status take_prefixes(struct align_member *m, const struct align_at *at,
                                 const uint8_t *given, size_t n, struct error *err)
{
    uint8_t word[4];
    struct digest d;
    uint32_t from;

    align_range(&m->course, m->common, at->chunk, &from);
    if (n > 0)
        memcpy(m->told + (size_t)from * ALIGN_PREFIX_BYTES, given, n);
    if (!at->last)
        return STATUS_OK;
    digest_begin(&d);
    digest_update(&d, m->transcript, sizeof m->transcript);
    le_put(word, m->common, sizeof word);
    digest_update(&d, word, sizeof word);
    digest_update(&d, m->told, (size_t)m->common * ALIGN_PREFIX_BYTES);
    digest_final(&d, m->transcript);
    digest_deinit(&d);
    return m->course.labelled ? find_labelled(m, err) : STATUS_OK;
}

/* Each place once, and nothing else. */
static bool places_fit(struct align_member *m, uint32_t n)
{
    uint32_t found = 0;

    memset(m->taken, 0, (m->most / 64 + 1) * sizeof *m->taken);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t place = m->given[i];

        if (place == ALIGN_NOWHERE)
            continue;
        if (place >= m->common || (m->taken[place / 64] >> place % 64 & 1) != 0)
            return false;
        m->taken[place / 64] |= UINT64_C(1) << place % 64;
        found++;
    }
    return found == m->common;
}

/* Of the list that this member was the last to raise it has the points themselves. */
static bool points_fit(const struct align_member *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (m->given[i] != ALIGN_NOWHERE &&
            memcmp(m->list + (size_t)i * GROUP_BYTES,
                   m->told + (size_t)m->given[i] * ALIGN_PREFIX_BYTES, ALIGN_PREFIX_BYTES) != 0)
            return false;
    }
    return true;
}

static enum status take_places(struct align_member *m, const struct align_at *at,
                               const uint8_t *given, struct error *err)
{
    const uint32_t size = m->course.size[align_list(&m->course, at, m->self)];
    const uint32_t sender = at->stage == 0 ? 0 : align_sender(&m->course, at, m->self);
    const uint32_t *order = m->shuffle[m->course.members - 1 - at->stage];
    uint32_t from;
    const uint32_t n = align_range(&m->course, size, at->chunk, &from);

    for (uint32_t i = 0; i < n; i++)
        m->given[from + i] = (uint32_t)le_take(&given, ALIGN_PLACE_BYTES);
    if (!at->last)
        return STATUS_OK;
    if (!places_fit(m, size))
        return wrong(m, sender, err, "places that are no order of the common rows");
    if (at->stage == 0 && !points_fit(m, size))
        return wrong(m, 0, err, "a place is said to be of a point that is not in that list");
    for (uint32_t i = 0; i < size; i++)
        m->places[order[i]] = m->given[i];
    return STATUS_OK;
}

enum status align_member_take(struct align_member *m, uint32_t step, const uint8_t *given, size_t n,
                              struct error *err)
{
    const struct align_at at = align_at(&m->course, step);

    CHECK(n == align_member_expects(m, step));
    switch (at.part) {
    case ALIGN_RAISE:
    case ALIGN_HOME: return take_points(m, &at, given, err);
    case ALIGN_TELL: return take_prefixes(m, &at, given, n, err);
    case ALIGN_RETURN: return take_places(m, &at, given, err);
    case ALIGN_COLLECT:
    case ALIGN_AGREE: break;
    case ALIGN_OVER: CHECK(!"there is no such step");
    }
    return STATUS_OK;
}

/* --- what goes in and out --- */

size_t align_member_expects(const struct align_member *m, uint32_t step)
{
    const struct align_at at = align_at(&m->course, step);
    uint32_t from, size;

    if (at.part == ALIGN_COLLECT || at.part == ALIGN_AGREE ||
        (at.part == ALIGN_RAISE && at.stage == 0))
        return 0;
    size = at.part == ALIGN_TELL ? m->common : m->course.size[align_list(&m->course, &at, m->self)];
    return align_range(&m->course, size, at.chunk, &from) * align_entry_bytes(at.part);
}

size_t align_member_gives(const struct align_member *m, uint32_t step, uint8_t *out)
{
    const struct align_at at = align_at(&m->course, step);
    uint32_t from, n, whose;

    if (!align_hands(&at))
        return 0;
    whose = at.part == ALIGN_COLLECT ? m->self : align_receiver(&m->course, &at, m->self);
    n = align_range(&m->course, m->course.size[align_list(&m->course, &at, whose)], at.chunk,
                    &from);
    if (at.part != ALIGN_RETURN && n > 0)
        memcpy(out, m->list + (size_t)from * GROUP_BYTES, (size_t)n * GROUP_BYTES);
    for (uint32_t i = 0; at.part == ALIGN_RETURN && i < n; i++)
        le_put(out + (size_t)i * ALIGN_PLACE_BYTES, m->places[from + i], ALIGN_PLACE_BYTES);
    return n * align_entry_bytes(at.part);
}

const uint8_t *align_member_tally(const struct align_member *m)
{
    return m->tally;
}

/* Of member k: the key of its first tally, and the list as the one before it has let it go.  *who
 * has done it. */
static const char *tally_fault(const struct align_member *m, uint32_t stage, uint32_t k,
                               const uint8_t *tallies, uint32_t *who)
{
    const uint32_t n = m->course.members, before = (k + n - 1) % n;
    const uint8_t *now = tallies + (size_t)k * TALLY_BYTES,
                  *then = m->tallies + (size_t)k * TALLY_BYTES,
                  *came = m->tallies + (size_t)before * TALLY_BYTES;
    uint8_t context[TALLY_CONTEXT_BYTES];

    tally_context(context, m->session, stage, k);
    *who = k == m->self ? 0 : k;
    if (k == m->self && memcmp(now, m->tally, TALLY_BYTES) != 0)
        return "its own tally is shown as another";
    if (stage > 0 && memcmp(now + TALLY_PUBLIC, then + TALLY_PUBLIC, GROUP_BYTES) != 0)
        return "a list was raised by another key than the first";
    if (!tally_holds(now, context))
        return "no proof that a list was raised by one key";
    if (stage > 1 && memcmp(now + TALLY_IN, came + TALLY_OUT, GROUP_BYTES) != 0) {
        if (k == m->self) { /* which has summed up what it was given */
            *who = before;
            return "a list was let go as another than is said";
        }
        return before == m->self ? "a list is said to be another than it was given"
                                 : "a list is not what the member before it made of it: one of the "
                                   "two lies";
    }
    if (stage == 1 && before == m->self && memcmp(now + TALLY_IN, m->own_sum, GROUP_BYTES) != 0)
        return "a list is said to be another than it was given";
    return NULL;
}

enum status align_member_check(struct align_member *m, uint32_t stage, const uint8_t *tallies,
                               struct error *err)
{
    struct digest d;

    for (uint32_t k = 0; k < m->course.members; k++) {
        uint32_t who;
        const char *fault = tally_fault(m, stage, k, tallies, &who);

        if (fault != NULL)
            return wrong(m, who, err, fault);
    }
    memcpy(m->tallies, tallies, (size_t)m->course.members * TALLY_BYTES);
    digest_begin(&d);
    digest_update(&d, m->transcript, sizeof m->transcript);
    digest_update(&d, tallies, (size_t)m->course.members * TALLY_BYTES);
    digest_final(&d, m->transcript);
    digest_deinit(&d);
    return STATUS_OK;
}

enum status align_member_common(struct align_member *m, uint32_t common, struct error *err)
{
    for (uint32_t k = 0; k < m->course.members && !m->course.labelled; k++) {
        if (common > m->course.size[k])
            return wrong(m, 0, err, "more common rows than a list has");
    }
    if (m->course.labelled && common != m->course.size[0])
        return wrong(m, 0, err, "not as many labelled rows as it lists");
    if (m->told_common && common != m->common)
        return wrong(m, 0, err, "another number of common rows than before");
    m->told_common = true;
    m->common = common;
    return STATUS_OK;
}

uint32_t align_member_blamed(const struct align_member *m)
{
    return m->blamed;
}

const uint8_t *align_member_transcript(const struct align_member *m)
{
    return m->transcript;
}

const uint32_t *align_member_places(const struct align_member *m)
{
    return m->places;
}

size_t align_member_tells(const struct align_member *m, uint32_t chunk, uint8_t *out)
{
    uint32_t from;
    const size_t n = align_range(&m->course, m->course.size[0], chunk, &from);

    CHECK(m->self == 0 && m->course.labelled);
    memcpy(out, m->told + (size_t)from * ALIGN_PREFIX_BYTES, n * ALIGN_PREFIX_BYTES);
    return n * ALIGN_PREFIX_BYTES;
}

/* --- life --- */

static enum status draw_keys(struct align_member *m)
{
    uint8_t random[GROUP_RANDOM_BYTES];
    enum status s;

    rng_fill(&m->rng, random, sizeof random);
    if (m->course.labelled) {
        group_scalar(m->leaving, random);
        rng_fill(&m->rng, random, sizeof random);
        group_scalar(m->homing, random);
        s = tally_key_product(&m->key, m->leaving, m->homing);
    } else {
        s = tally_key_init(&m->key, random);
        memcpy(m->leaving, m->key.secret, sizeof m->leaving);
    }
    secret_wipe(random, sizeof random);
    return s;
}

static enum status make_room(struct align_member *m)
{
    const uint32_t n = m->course.members;
    bool all = true;

    for (uint32_t i = 0; i < n; i++)
        m->most = m->course.size[i] > m->most ? m->course.size[i] : m->most;
    m->list = mem_alloc(m->most, GROUP_BYTES);
    m->next = mem_alloc(m->most, GROUP_BYTES);
    m->told = mem_alloc(m->most, ALIGN_PREFIX_BYTES);
    m->given = mem_alloc(m->most, sizeof *m->given);
    m->places = mem_alloc(m->most, sizeof *m->places);
    m->taken = mem_alloc(m->most / 64 + 1, sizeof *m->taken);
    m->tallies = mem_alloc(n, TALLY_BYTES);
    for (uint32_t s = 0; s < n; s++) {
        m->shuffle[s] = mem_alloc(m->course.size[(m->self + n - s) % n], sizeof(uint32_t));
        all = all && m->shuffle[s] != NULL;
    }
    return all && m->list != NULL && m->next != NULL && m->told != NULL && m->given != NULL &&
                   m->places != NULL && m->taken != NULL && m->tallies != NULL
               ? STATUS_OK
               : STATUS_MEMORY;
}

enum status align_member_new(struct align_member **out, const struct align_setup *setup)
{
    struct align_member *m = secret_alloc(1, sizeof *m);
    enum status s;

    if (m == NULL)
        return STATUS_MEMORY;
    m->course = *setup->course;
    m->self = setup->self;
    m->rows = setup->rows;
    m->threads = setup->threads;
    memcpy(m->session, setup->session, sizeof m->session);
    memcpy(m->transcript, setup->session, sizeof m->transcript);
    s = group_open();
    if (s == STATUS_OK)
        s = rng_init_system(&m->rng);
    if (s == STATUS_OK)
        s = make_room(m);
    if (s == STATUS_OK)
        s = draw_keys(m);
    if (s == STATUS_OK)
        *out = m;
    else
        align_member_free(m);
    return s;
}

static void wipe_and_free(void *block, size_t n, size_t size)
{
    if (block != NULL)
        secret_wipe(block, n * size);
    mem_free(block);
}

void align_member_free(struct align_member *m)
{
    const uint32_t n = m == NULL ? 0 : m->course.members;

    if (m == NULL)
        return;
    for (uint32_t s = 0; s < n; s++)
        wipe_and_free(m->shuffle[s], m->course.size[(m->self + n - s) % n], sizeof(uint32_t));
    wipe_and_free(m->next, m->most, GROUP_BYTES);
    wipe_and_free(m->given, m->most, sizeof *m->given);
    wipe_and_free(m->places, m->most, sizeof *m->places);
    mem_free(m->list);
    mem_free(m->told);
    mem_free(m->taken);
    mem_free(m->tallies);
    tally_key_wipe(&m->key);
    rng_deinit(&m->rng);
    secret_free(m, 1, sizeof *m);
}
