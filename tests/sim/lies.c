/* lies.c -- what is done to points, tallies, places and messages.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/lies.h"

#include "common/align/tally.h"
#include "common/base/check.h"
#include "common/base/le.h"
#include "common/crypto/group.h"
#include "party/align/parts.h"
#include "server/parts.h"
#include "tests/sim/world.h"

#include <string.h>

enum { POINT = ALIGN_POINT_BYTES, PLACE = ALIGN_PLACE_BYTES, PREFIX = ALIGN_PREFIX_BYTES };

/* 2^255 - 19, little-endian. */
static const uint8_t modulus[POINT] = {
    0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};

static void swap(uint8_t *a, uint8_t *b, size_t n)
{
    uint8_t other[POINT];

    memcpy(other, a, n);
    memcpy(a, b, n);
    memcpy(b, other, n);
}

/* --- points --- */

void lie_identity(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d, (void)n;
    memset(bytes, 0, POINT);
}

void lie_top_bit(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d, (void)n;
    bytes[POINT - 1] |= 0x80;
}

void lie_modulus(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d, (void)n;
    memcpy(bytes, modulus, POINT);
}

/* The largest number of 255 bits, and even. */
void lie_beyond(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d, (void)n;
    memset(bytes, 0xff, POINT);
    bytes[0] = 0xfe;
    bytes[POINT - 1] = 0x7f;
}

/* p - s stands for -s, which the same point has: an odd number. */
void lie_negative(struct deviation *d, uint8_t *bytes, size_t n)
{
    int borrow = 0;

    (void)d, (void)n;
    for (size_t i = 0; i < POINT; i++) {
        const int digit = modulus[i] - bytes[i] - borrow;

        borrow = digit < 0;
        bytes[i] = (uint8_t)digit;
    }
    CHECK(bytes[0] % 2 == 1);
}

/* Canonical as a number, and of no point. */
void lie_off_curve(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d, (void)n;
    memset(bytes, 0, POINT);
    for (bytes[0] = 2; group_is_point(bytes); bytes[0] += 2)
        CHECK(bytes[0] < 254);
}

static void some_point(uint8_t out[POINT], int number)
{
    CHECK(group_hash(out, "vfl/align/point/1", &number, sizeof number) == STATUS_OK);
}

void lie_other(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)n;
    some_point(bytes, d->number);
}

void lie_twice(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d;
    CHECK(n >= 2 * POINT);
    memcpy(bytes, bytes + POINT, POINT);
}

/* Pair by pair, as lie_cancel does it: more than one row is among the common ones. */
void lie_order(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d;
    for (size_t at = 0; at + 2 * POINT <= n; at += 2 * POINT)
        swap(bytes + at, bytes + at + POINT, POINT);
}

void lie_key(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d;
    for (size_t at = 0; at < n; at += POINT) {
        uint8_t twice[2 * POINT];

        memcpy(twice, bytes + at, POINT);
        memcpy(twice + POINT, bytes + at, POINT);
        CHECK(group_sum(bytes + at, twice, 2));
    }
}

void lie_cancel(struct deviation *d, uint8_t *bytes, size_t n)
{
    uint8_t pair[2 * POINT], *more = pair + POINT;

    for (size_t at = 0; at + 2 * POINT <= n; at += 2 * POINT) {
        memcpy(pair, bytes + at, POINT);
        some_point(more, d->number + (int)at);
        CHECK(group_sum(bytes + at, pair, 2) &&
              group_subtract(bytes + at + POINT, bytes + at + POINT, more));
    }
}

static void put(const struct deviate_said *said, uint8_t *bytes, size_t n)
{
    CHECK(said->n >= n);
    memcpy(bytes, said->entries, n);
}

void lie_stage_before(struct deviation *d, uint8_t *bytes, size_t n)
{
    put(deviate_stage_before(d), bytes, n);
}

void lie_chunk_before(struct deviation *d, uint8_t *bytes, size_t n)
{
    put(deviate_chunk_before(d), bytes, n);
}

/* --- tallies --- */

void lie_bit(struct deviation *d, uint8_t *bytes, size_t n)
{
    CHECK((size_t)d->number < n);
    bytes[d->number] ^= 2;
}

/* As good as its own, but for the key. */
void lie_other_key(struct deviation *d, uint8_t *bytes, size_t n)
{
    uint8_t random[GROUP_RANDOM_BYTES] = {7}, context[TALLY_CONTEXT_BYTES], in[GROUP_BYTES];
    struct tally_key k;

    (void)n;
    memcpy(in, bytes + TALLY_IN, sizeof in);
    tally_context(context, d->s->server->fed.agree.sid, (uint32_t)d->stage, (uint32_t)(d->who + 1));
    CHECK(tally_key_init(&k, random) == STATUS_OK);
    random[1] = 1;
    CHECK(tally_make(bytes, &k, in, context, random) == STATUS_OK);
}

/* Everybody's of the stage before stand at the server until they are said anew. */
static void put_tally_of(struct deviation *d, uint8_t *bytes, int who)
{
    memcpy(bytes, d->s->server->align->tallies + (size_t)(who + 1) * TALLY_BYTES, TALLY_BYTES);
}

void lie_tally_before(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)n;
    put_tally_of(d, bytes, d->who);
}

void lie_tally_of_another(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)n;
    put_tally_of(d, bytes, d->who - 1);
}

void lie_zeros(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d;
    memset(bytes, 0, n);
}

/* --- places and prefixes --- */

/* The first entry from `from` on that has a place, or has none. */
static uint8_t *entry(uint8_t *bytes, size_t n, size_t from, bool placed)
{
    for (size_t at = from; at < n; at += PLACE) {
        const uint8_t *place = bytes + at;

        if ((le_take(&place, PLACE) != ALIGN_NOWHERE) == placed)
            return bytes + at;
    }
    CHECK(!"such an entry is there");
}

void lie_places_swapped(struct deviation *d, uint8_t *bytes, size_t n)
{
    uint8_t *first = entry(bytes, n, 0, true);

    (void)d;
    swap(first, entry(bytes, n, (size_t)(first - bytes) + PLACE, true), PLACE);
}

void lie_place_beyond(struct deviation *d, uint8_t *bytes, size_t n)
{
    le_put(entry(bytes, n, 0, true), (uint32_t)d->number, PLACE);
}

void lie_place_twice(struct deviation *d, uint8_t *bytes, size_t n)
{
    uint8_t *first = entry(bytes, n, 0, true);

    (void)d;
    memcpy(entry(bytes, n, (size_t)(first - bytes) + PLACE, true), first, PLACE);
}

void lie_place_missing(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d;
    le_put(entry(bytes, n, 0, true), ALIGN_NOWHERE, PLACE);
}

void lie_place_too_many(struct deviation *d, uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += PLACE)
        le_put(bytes + at, (uint32_t)d->number + at / PLACE, PLACE);
}

void lie_prefix_of_none(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d, (void)n;
    memset(bytes, 0x55, PREFIX);
}

void lie_prefix_twice(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d;
    CHECK(n >= 2 * PREFIX);
    memcpy(bytes, bytes + PREFIX, PREFIX);
}

void lie_prefix_order(struct deviation *d, uint8_t *bytes, size_t n)
{
    (void)d;
    CHECK(n >= 2 * PREFIX);
    swap(bytes, bytes + PREFIX, PREFIX);
}

/* --- batches --- */

/* A copy that may be changed; `more` bytes may be negative. */
static uint8_t *copy(struct deviation *d, struct wire_bytes *b, int more)
{
    CHECK(b->n + 256 <= sizeof d->copy);
    memset(d->copy, 0, sizeof d->copy);
    if (b->n > 0)
        memcpy(d->copy, b->data, b->n);
    b->data = d->copy;
    b->n = (size_t)((int)b->n + more);
    return d->copy;
}

void lie_size(struct deviation *d, struct wire_msg *m)
{
    (void)copy(d, &m->batch.entries, d->number);
}

void lie_tag_size(struct deviation *d, struct wire_msg *m)
{
    (void)copy(d, &m->batch.tag, d->number);
}

void lie_tallies_size(struct deviation *d, struct wire_msg *m)
{
    (void)copy(d, &m->batch.tallies, d->number);
}

void lie_step(struct deviation *d, struct wire_msg *m)
{
    m->batch.step += (uint32_t)d->number;
}

void lie_generation(struct deviation *d, struct wire_msg *m)
{
    m->batch.generation += (uint64_t)d->number;
}

void lie_common(struct deviation *d, struct wire_msg *m)
{
    m->batch.common += (uint32_t)d->number;
}

static void flip(struct deviation *d, struct wire_bytes *b)
{
    CHECK(b->n > (size_t)d->number);
    copy(d, b, 0)[d->number] ^= 4;
}

void lie_entries_bit(struct deviation *d, struct wire_msg *m)
{
    flip(d, &m->batch.entries);
}

void lie_tag_bit(struct deviation *d, struct wire_msg *m)
{
    flip(d, &m->batch.tag);
}

void lie_tallies_bit(struct deviation *d, struct wire_msg *m)
{
    flip(d, &m->batch.tallies);
}

void lie_entries_order(struct deviation *d, struct wire_msg *m)
{
    uint8_t *bytes = copy(d, &m->batch.entries, 0);

    swap(bytes, bytes + d->number, (size_t)d->number);
}

static void say(struct wire_msg *m, const struct deviate_said *said)
{
    CHECK(said->n > 0);
    m->batch.entries = (struct wire_bytes){said->entries, said->n};
    m->batch.tag = (struct wire_bytes){said->tag, said->tag_n};
}

void lie_recipient(struct deviation *d, struct wire_msg *m)
{
    say(m, &d->said[m->batch.generation][m->batch.step][d->number]);
}

void lie_replay(struct deviation *d, struct wire_msg *m)
{
    say(m, &d->said[m->batch.generation][m->batch.step - (uint32_t)d->number][d->now_to]);
}

void lie_generation_before(struct deviation *d, struct wire_msg *m)
{
    say(m, &d->said[m->batch.generation - 1][m->batch.step][d->now_to]);
}

void lie_upload(struct deviation *d, struct wire_msg *m)
{
    static const uint8_t values[8];

    (void)d;
    *m = (struct wire_msg){.kind = WIRE_UPLOAD,
                           .upload = {.generation = m->batch.generation, .payload = {values, 8}}};
}

void lie_kept(struct deviation *d, struct wire_msg *m)
{
    (void)d;
    *m = (struct wire_msg){.kind = WIRE_KEPT, .kept = {.step = m->batch.step}};
}

void lie_finish(struct deviation *d, struct wire_msg *m)
{
    (void)d;
    *m = (struct wire_msg){.kind = WIRE_FINISH, .finish = {.outcome = OUTCOME_COMPLETED}};
}

/* --- what comes before --- */

void lie_text(struct deviation *d, struct wire_msg *m)
{
    struct wire_bytes *of = &m->offer.job.text;
    const size_t n = strlen(d->text), with = strlen(d->with);
    uint8_t *text = copy(d, of, 0), *at;

    at = memmem(text, of->n, d->text, n);
    CHECK(at != NULL && of->n + with < sizeof d->copy);
    memmove(at + with, at + n, of->n - (size_t)(at - text) - n);
    memcpy(at, d->with, with);
    of->n += with - n;
}

void lie_members(struct deviation *d, struct wire_msg *m)
{
    (void)copy(d, &m->offer.members, -1);
}

void lie_kind(struct deviation *d, struct wire_msg *m)
{
    (void)d;
    m->offer.job.kind[0] = m->offer.job.kind[0] == 'z' ? 'y' : 'z';
}

void lie_hello_bit(struct deviation *d, struct wire_msg *m)
{
    static struct wire_hello hello[DEVIATE_PARTIES];

    CHECK(m->hellos.n == DEVIATE_PARTIES);
    memcpy(hello, m->hellos.hello, sizeof hello);
    m->hellos.hello = hello;
    flip(d, &hello[0].body);
}
