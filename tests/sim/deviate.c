/* deviate.c -- between a member and its callers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/deviate.h"

#include "common/base/check.h"
#include "party/align/parts.h"
#include "party/core.h"
#include "server/parts.h"
#include "tests/sim/world.h"

#include <string.h>

/* Not there where nothing is wrapped. */
#define REAL(f) extern __typeof__(f) __real_##f __attribute__((weak)), __wrap_##f
REAL(align_member_gives);
REAL(align_member_tally);
REAL(share_seal);
REAL(align_match_tell);
REAL(align_match_places);
REAL(align_match_common);

static struct deviation *now;
static uint32_t step_now;

/* --- who is at work, and at which step --- */

static const struct server_align *server_side(void)
{
    return now->s->server->align;
}

/* NULL: it aligns nothing. */
static const struct party_align *party_side(int who)
{
    const struct party_session *p = who < 0 ? NULL : now->s->party[who].session;

    return p != NULL && p->state != NULL && strcmp(p->job->kind, JOB_ALIGN) == 0 ? p->state : NULL;
}

static const struct align_member *member_of(int who)
{
    const struct party_align *p = who == SIM_SERVER ? NULL : party_side(who);

    if (who == SIM_SERVER)
        return server_side() != NULL ? server_side()->member : NULL;
    return p != NULL ? p->member : NULL;
}

static uint32_t step_of(int who)
{
    return who == SIM_SERVER ? server_side()->step : party_side(who)->step;
}

static bool is_at(uint32_t step)
{
    const struct align_course *c = &server_side()->course;
    struct align_at at;

    if (step >= align_steps(c))
        return false;
    at = align_at(c, step);
    step_now = step;
    return at.part == now->part &&
           (now->stage == DEVIATE_EVERY || at.stage == (uint32_t)now->stage) &&
           (now->chunk == DEVIATE_EVERY || at.chunk == (uint32_t)now->chunk);
}

static bool is_due(enum deviate_where where, uint32_t step)
{
    return now != NULL && now->where == where && server_side() != NULL &&
           (now->generation == 0 || now->generation == now->s->server->fed.set.generation) &&
           is_at(step);
}

static void change(uint8_t *bytes, size_t n)
{
    if (n == 0)
        return;
    now->done++;
    now->bytes(now, bytes, n);
}

/* --- what a member gives and says --- */

static void keep(struct deviate_said *said, const uint8_t *entries, size_t n)
{
    CHECK(n <= sizeof said->entries);
    said->n = n;
    if (n > 0)
        memcpy(said->entries, entries, n);
}

size_t __wrap_align_member_gives(const struct align_member *m, uint32_t step, uint8_t *out)
{
    const size_t n = __real_align_member_gives(m, step, out);

    if (now == NULL || m != member_of(now->who))
        return n;
    CHECK(step < DEVIATE_STEPS_MAX);
    keep(&now->given[step], out, n);
    if (is_due(DEVIATE_GIVES, step))
        change(out, n);
    return n;
}

/* In its place, so that a deviating member finds its own tally among all. */
const uint8_t *__wrap_align_member_tally(const struct align_member *m)
{
    uint8_t *tally = (uint8_t *)__real_align_member_tally(m);

    if (now != NULL && m == member_of(now->who) && is_due(DEVIATE_TALLY, step_of(now->who)))
        change(tally, WIRE_TALLY_BYTES);
    return tally;
}

void __wrap_share_seal(struct share_keys *k, uint32_t to, uint8_t *bytes, size_t n,
                       uint8_t tag[AEAD_TAG_BYTES])
{
    const struct party_align *p =
        now == NULL || now->who == SIM_SERVER ? NULL : party_side(now->who);
    uint8_t aad[SHARE_AAD_BYTES];

    memcpy(aad, k->aad, sizeof aad);
    if (p != NULL && k == &p->keys && is_due(DEVIATE_OTHER, p->step + 1)) {
        now->done++;
        to = 3 - to - k->self;
    }
    if (p != NULL && k == &p->keys && is_due(DEVIATE_SEAL, p->step + 1))
        change(k->aad, sizeof k->aad);
    __real_share_seal(k, to, bytes, n, tag);
    memcpy(k->aad, aad, sizeof aad);
}

/* --- what comes of comparing --- */

static bool server_is_due(enum deviate_where where)
{
    return now != NULL && is_due(where, step_of(SIM_SERVER));
}

size_t __wrap_align_match_tell(const struct align_match *m, uint32_t chunk, uint8_t *out)
{
    size_t n = __real_align_match_tell(m, chunk, out);

    if (now != NULL && now->where == DEVIATE_COUNT && n > 0)
        n -= ALIGN_PREFIX_BYTES;
    if (server_is_due(DEVIATE_TELLS))
        change(out, n);
    return n;
}

size_t __wrap_align_match_places(const struct align_match *m, uint32_t i, uint32_t chunk,
                                 uint8_t *out)
{
    const size_t n = __real_align_match_places(m, i, chunk, out);
    const bool counts = now != NULL && now->where == DEVIATE_COUNT;

    for (size_t at = 0; counts && at < n; at += ALIGN_PLACE_BYTES) {
        if (out[at] == __real_align_match_common(m) - 1 && out[at + 1] == 0)
            memset(out + at, 0xff, ALIGN_PLACE_BYTES);
    }
    if (server_is_due(DEVIATE_PLACES) &&
        (now->to == SIM_ANY || i == (uint32_t)(now->to + 2) % (DEVIATE_PARTIES + 1)))
        change(out, n);
    return n;
}

/* One fewer than there are. */
uint32_t __wrap_align_match_common(const struct align_match *m)
{
    const uint32_t n = __real_align_match_common(m);

    if (now == NULL || now->where != DEVIATE_COUNT || n == 0)
        return n;
    now->done++;
    return n - 1;
}

/* --- messages --- */

static void hear(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct deviation *d = owner;
    struct deviate_said *said;

    (void)s;
    d->now_to = (int)to;
    if (who != SIM_SERVER || m->kind != WIRE_BATCH)
        return;
    if (m->batch.generation > 2)
        return;
    CHECK(m->batch.step < DEVIATE_STEPS_MAX && m->batch.tag.n <= sizeof said->tag);
    said = &d->said[m->batch.generation][m->batch.step][to];
    keep(said, m->batch.entries.data, m->batch.entries.n);
    said->tag_n = m->batch.tag.n;
    if (said->tag_n > 0)
        memcpy(said->tag, m->batch.tag.data, said->tag_n);
}

static void hear_no_charge(struct sim *s, uint32_t party, const struct action_charge *c,
                           void *owner)
{
    (void)s, (void)party, (void)c, (void)owner;
    CHECK(!"an alignment charges no ledger");
}

static void hear_no_end(struct sim *s, int who, void *owner)
{
    (void)s, (void)who, (void)owner;
}

static uint64_t generation_of(const struct wire_msg *m)
{
    return m->kind == WIRE_BATCH   ? m->batch.generation
           : m->kind == WIRE_OFFER ? m->offer.generation
                                   : 0;
}

static void alter(struct wire_msg *m, void *owner)
{
    struct deviation *d = owner;

    if (now != d || (d->who == SIM_SERVER && d->to != SIM_ANY && d->to != d->now_to) ||
        (d->generation > 0 && generation_of(m) != d->generation) ||
        (m->kind == WIRE_BATCH && (server_side() == NULL || !is_at(m->batch.step))))
        return;
    d->done++;
    d->message(d, m);
}

void deviate(struct sim *s, struct deviation *d)
{
    now = d;
    if (d == NULL)
        return;
    d->s = s;
    s->ear = (struct sim_ear){hear, hear_no_charge, hear_no_end, d};
    if (d->where == DEVIATE_MESSAGE)
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = d->who,
                                      .party = SIM_ANY,
                                      .kind = d->kind,
                                      .alter = alter,
                                      .owner = d});
}

/* --- what was given before --- */

uint32_t deviate_step(const struct deviation *d)
{
    (void)d;
    return step_now;
}

const struct deviate_said *deviate_stage_before(const struct deviation *d)
{
    return &d->given[step_now - d->s->server->align->course.chunks];
}

const struct deviate_said *deviate_chunk_before(const struct deviation *d)
{
    return &d->given[step_now - 1];
}
