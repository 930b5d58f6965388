/* keys.c -- AGREE and CONFIRM: one generation's keys, set and plan, relayed so that all see the
 * same.
 *
 * The happy path: offer -> M hellos -> hellos -> M confirms -> confirms -> the first round.  The
 * server checks signatures too, not for its own safety but to name the guilty party at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/federation.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/crypto/kex.h"
#include "common/crypto/secret.h"
#include "common/flow/witness.h"
#include "server/job.h"
#include "server/members.h"
#include "server/seats.h"

#include <stdio.h>
#include <string.h>

static void remember_members(struct server_federation *f)
{
    f->past = (struct server_past){.generation = f->set.generation, .shown = f->set.shown};
    for (uint32_t m = 0; m < f->set.n; m++)
        f->past.in[f->set.member[m]] = true;
}

static void choose_members(struct server_federation *f)
{
    f->set.n = 0;
    for (uint32_t i = 0; i < f->terms.roster->n; i++) {
        struct server_peer *p = &f->peer[i];
        p->answered = false;
        p->member = -1;
        if (server_may_sit(f, i)) {
            p->member = (int)f->set.n;
            f->set.member[f->set.n++] = (uint8_t)i;
        }
    }
    f->set.answers = f->set.left = 0;
    f->set.shown = false;
}

/* What a later process knows of this generation has to be near enough to believe those who were
 * offered it (server_admit), whoever has lifted it. */
static enum status raise_floor(struct server_federation *f)
{
    struct generation_floor *w = &f->floor;
    enum status st = STATUS_OK;

    if (w->raise == NULL || f->set.generation - w->value <= SERVER_FORGOTTEN_MAX / 2)
        return STATUS_OK;
    st = w->raise(w->owner, f->set.generation, &f->error);
    if (st == STATUS_OK)
        w->value = f->set.generation;
    return st;
}

/* As it is offered. */
static const uint8_t *playing_of(const struct server_federation *f)
{
    static const uint8_t none[WIRE_DIGEST_BYTES];

    return f->play.job->playing == NULL ? none : f->play.job->playing(f->play.state);
}

struct server_next server_offer(struct server_federation *f, struct actions *a)
{
    struct action *send;

    f->play.started |= server_does_without(f);
    remember_members(f);
    if (f->set.generation < f->set.known)
        f->set.generation = f->set.known;
    f->set.known = ++f->set.generation;
    choose_members(f);
    sm_move(&f->sm, PHASE_AGREE, f->set.generation);
    f->agree.offered_us = f->now_us;
    f->agree.until_us =
        f->now_us + 1000ull * phase_row(PHASE_AGREE)->patiences * server_limit_ms(f, false);
    if (raise_floor(f) != STATUS_OK || server_compare_begin(f) != STATUS_OK)
        return next_of(NEXT_FAIL);
    log_info("generation %llu: %u parties", (unsigned long long)f->set.generation, f->set.n);
    send = server_send_members(f, a, WIRE_OFFER);
    send->msg.offer = (struct wire_offer){
        .generation = f->set.generation,
        .step = f->play.job->step == NULL ? 0 : f->play.job->step(f->play.state),
        .job = {.text = f->terms.text},
        .members = {f->set.member, f->set.n},
        .element = f->agree.element,
        .playing = playing_of(f),
        .best = f->play.job->best == NULL ? 0 : f->play.job->best(f->play.state),
    };
    snprintf(send->msg.offer.job.kind, sizeof send->msg.offer.job.kind, "%s", f->terms.kind);
    server_arm_phase(f, a, false);
    return next_of(NEXT_WAIT);
}

/* --- hellos --- */

static bool rows_match(struct server_federation *f, uint32_t peer, const struct wire_hello *h)
{
    if (f->terms.train_rows == SERVER_ROWS_OWN)
        return true;
    if (h->train_rows == f->terms.train_rows && h->test_rows == f->terms.test_rows)
        return true;
    error_set(&f->error, STATUS_DATA,
              "rows do not match: %s has %u training and %u test rows, the server %u and %u: %s",
              server_name(f, peer), h->train_rows, h->test_rows, f->terms.train_rows,
              f->terms.test_rows, ids_advice(f->terms.train));
    return false;
}

static struct server_next relay_hellos(struct server_federation *f, struct actions *a)
{
    struct agree_terms terms = {f->terms.digest, f->set.generation, f->agree.element,
                                playing_of(f)};
    struct action *send;

    agree_sid(f->agree.sid, &terms, f->agree.hellos, f->set.n);
    if (server_compare_end(f) != STATUS_OK ||
        (f->play.job->agreed != NULL &&
         f->play.job->agreed(f->play.state, f->agree.hellos) != STATUS_OK))
        return next_of(NEXT_FAIL);
    for (uint32_t m = 0; m < f->set.n; m++)
        f->agree.show_hellos[m] = agree_show_hello(&f->agree.hellos[m]);
    server_next_question(f);
    sm_move(&f->sm, PHASE_CONFIRM, f->set.generation);
    send = server_send_members(f, a, WIRE_HELLOS);
    send->msg.hellos = (struct wire_hellos){f->set.generation, f->set.n, f->agree.show_hellos};
    f->set.shown = true;
    server_arm_phase(f, a, false);
    return next_of(NEXT_WAIT);
}

/* Some have said a hello, and the others that they sit out. */
static struct server_next all_agreed(struct server_federation *f, struct actions *a)
{
    return f->set.left > 0 ? next_of(NEXT_SET) : relay_hellos(f, a);
}

/* STATUS_AUTH: what every party would refuse, and would have to blame on the server. */
static enum status check_its_key(const struct server_federation *f, const struct wire_hello *h)
{
    uint8_t secret[KEX_BYTES], public_key[KEX_BYTES], shared[KEX_BYTES];
    enum status st = kex_generate(secret, public_key);

    if (st == STATUS_OK)
        st = kex_derive(shared, secret, h->kex_public);
    for (uint32_t m = 0; m < f->set.n && st == STATUS_OK; m++) {
        if (f->peer[f->set.member[m]].answered &&
            memcmp(f->agree.hellos[m].kex_public, h->kex_public, WIRE_KEY_BYTES) == 0)
            st = STATUS_AUTH;
    }
    secret_wipe(secret, sizeof secret);
    secret_wipe(shared, sizeof shared);
    return st;
}

struct server_next server_hello(struct server_federation *f, struct actions *a, uint32_t peer,
                                const struct wire_hello *h)
{
    struct agree_terms terms = {f->terms.digest, f->set.generation, f->agree.element,
                                playing_of(f)};
    enum status st = agree_check_hello(h, &f->terms.roster->party[peer], &terms, &f->error);

    if (st != STATUS_OK)
        return next_of_peer(NEXT_DROP, peer);
    if (!rows_match(f, peer, h))
        return next_of_peer(NEXT_BLAME, peer);
    st = check_its_key(f, h);
    if (st != STATUS_OK) {
        error_set(&f->error, st, "hello of %s: %s", server_name(f, peer),
                  st == STATUS_AUTH ? "a key of low order, or another party's" : status_words(st));
        return next_of_peer(NEXT_DROP, peer);
    }
    if (!server_compare_fits(f, h, (uint32_t)f->peer[peer].member)) {
        error_set(&f->error, STATUS_AUTH, "hello of %s: no element for the ids of a neighbour",
                  server_name(f, peer));
        return next_of_peer(NEXT_DROP, peer);
    }
    if (peer == f->set.member[0] && server_compare_may_answer(f, h) != STATUS_OK) {
        f->peer[peer].barred = true; /* where it is dropped, for good */
        return next_of_peer(NEXT_BLAME, peer);
    }
    agree_keep_hello(&f->agree.hellos[f->peer[peer].member], h);
    return server_answered(f, peer) ? all_agreed(f, a) : next_of(NEXT_WAIT);
}

/* Who comes with a wish as the last, after a quarter of what there is to answer in, has kept the
 * others waiting for a set that is not played.  It may be at work on the round before. */
static bool is_late(const struct server_federation *f)
{
    const bool hurries = f->terms.straggler == STRAGGLER_DROP;

    return f->now_us - f->agree.offered_us > 1000ull * server_limit_ms(f, hurries) / 4;
}

/* Its word counts of the set that stands, which is left alone until all have spoken: as a rule all
 * who remain say the same of it, and one generation is enough for that.  It is no loss of this
 * party's (E6): whoever was late has made the set what it is.  Until the job comes a step forward
 * it is asked of each set once, and of few. */
struct server_next server_too_small(struct server_federation *f, uint32_t peer,
                                    const struct wire_refuse *r)
{
    struct server_peer *p = &f->peer[peer];

    if (r->generation < f->set.generation || f->sm.phase == PHASE_GATHER) {
        f->counts.stale_messages++;
        return next_of(NEXT_WAIT);
    }
    if (r->generation > f->set.generation || f->sm.phase != PHASE_AGREE || p->member < 0 ||
        p->answered || f->set.n == f->terms.roster->n) {
        error_set(&f->error, STATUS_PROTOCOL, "%s: asks for a larger set than generation %llu has",
                  server_name(f, peer), (unsigned long long)r->generation);
        return next_of_peer(NEXT_DROP, peer);
    }
    log_warn("%s; it sits out until there is a larger set", f->error.text);
    server_refuses_set(f, peer);
    p->member = -1;
    f->set.left++;
    if (server_all_answered(f) && is_late(f))
        server_wished_late(f, peer);
    return server_all_answered(f) ? next_of(NEXT_SET) : next_of(NEXT_WAIT);
}

/* --- confirmations --- */

/* A member whose ledger was put back, by the word of as many others as it takes (witness.h); n:
 * none.  Fewer may lie: they are named, and the job goes on. */
static uint32_t find_put_back(const struct server_federation *f)
{
    const uint32_t needed =
        witness_needed(f->terms.straggler, server_colluders(f), (uint32_t)f->terms.roster->n);
    bool who[WIRE_MEMBERS_MAX];
    uint32_t m;

    for (m = 0; m < f->set.n; m++) {
        uint32_t n =
            witness_count(who, f->agree.show_confirms, f->set.n, m, f->agree.hellos[m].ledger);

        for (uint32_t by = 0; by < f->set.n; by++) {
            if (who[by])
                log_warn("%s has seen more of the ledger of %s than there is",
                         server_name(f, f->set.member[by]), server_name(f, f->set.member[m]));
        }
        if (n >= needed)
            break;
    }
    return m;
}

static void relay_confirms(struct server_federation *f, struct actions *a)
{
    struct action *send;

    for (uint32_t m = 0; m < f->set.n; m++)
        f->agree.show_confirms[m] = agree_show_confirm(&f->agree.confirms[m], f->set.generation);
    memcpy(f->agree.proof, f->agree.ids.shown, sizeof f->agree.proof);
    send = server_send_members(f, a, WIRE_CONFIRMS);
    send->msg.confirms =
        (struct wire_confirms){f->set.generation, f->set.n, f->agree.show_confirms, f->agree.proof};
}

/* It refuses, and nobody else need send anything for a round that cannot end.  Where it can be done
 * without, nobody waits for its word. */
static struct server_next will_refuse(struct server_federation *f, uint32_t peer)
{
    if (!server_does_without(f))
        return next_of(NEXT_WAIT);
    error_set(&f->error, STATUS_POLICY,
              "ledger: others have seen more of the ledger of %s than there is: it was put back or "
              "replaced",
              server_name(f, peer));
    return next_of_peer(NEXT_DROP, peer);
}

static struct server_next begin(struct server_federation *f, struct actions *a)
{
    uint32_t m;

    if (f->play.job->prepare != NULL && f->play.job->prepare(f->play.state) != STATUS_OK) {
        error_set(&f->error, STATUS_MEMORY, "no memory for a generation of %u parties", f->set.n);
        return next_of(NEXT_FAIL);
    }
    relay_confirms(f, a);
    m = find_put_back(f);
    if (m < f->set.n)
        return will_refuse(f, f->set.member[m]);
    f->play.started = true;
    return f->play.job->begin(f->play.state, a);
}

/* Where ids differ the job does not begin.  Whoever has to be named ends it where the job needs
 * everybody: then all are shown first what their neighbours have, and nobody who is alike counts as
 * compared with in vain.  Elsewhere the next generation shows the same.  What the first member has
 * shown is held against the server's own; of two others it may be either. */
static struct server_next compared(struct server_federation *f, struct actions *a)
{
    uint32_t peer = UINT32_MAX;

    if (server_compare_check(f, &peer) == STATUS_OK)
        return begin(f, a);
    if (peer == UINT32_MAX)
        return next_of(NEXT_FAIL);
    if (server_does_without(f) && peer != f->set.member[0])
        return server_neighbours_differ(f, a);
    if (!server_does_without(f))
        relay_confirms(f, a);
    return next_of_peer(NEXT_BLAME, peer);
}

static struct server_next all_confirmed(struct server_federation *f, struct actions *a)
{
    const struct server_next next = compared(f, a);

    server_compare_forget(f);
    return next;
}

struct server_next server_confirm(struct server_federation *f, struct actions *a, uint32_t peer,
                                  const struct wire_confirm *c)
{
    const struct agree_hello *hello = &f->agree.hellos[f->peer[peer].member];
    enum status st = agree_check_confirm(c, hello->public_key, f->agree.sid, f->set.n, &f->error);

    if (st != STATUS_OK) {
        error_wrap(&f->error, "%s", server_name(f, peer));
        return next_of_peer(NEXT_DROP, peer);
    }
    agree_keep_confirm(&f->agree.confirms[f->peer[peer].member], c);
    return server_answered(f, peer) ? all_confirmed(f, a) : next_of(NEXT_WAIT);
}
