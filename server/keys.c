/* keys.c -- AGREE and CONFIRM: one generation's keys, set and plan, relayed so that all see the
 * same.
 *
 * The happy path: offer -> M hellos -> hellos -> M confirms -> confirms -> the first round.  The
 * server checks signatures too, not for its own safety but to name the guilty party at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/core.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/crypto/kex.h"
#include "common/crypto/secret.h"
#include "common/flow/job.h"

#include <string.h>

static void choose_members(struct server_session *s)
{
    s->fed.members_n = 0;
    for (size_t i = 0; i < s->setup.roster->n; i++) {
        struct server_peer *p = &s->fed.peer[i];
        p->answered = false;
        p->member = -1;
        p->uploaded = 0;
        if (p->present && !p->excluded && !p->barred) {
            p->member = (int)s->fed.members_n;
            s->fed.members[s->fed.members_n++] = (uint8_t)i;
        }
    }
    s->fed.answers = s->fed.left = 0;
}

void server_offer(struct server_session *s, struct actions *a)
{
    struct action *send;

    if (s->fed.generation < s->fed.generation_known)
        s->fed.generation = s->fed.generation_known;
    s->fed.generation_known = ++s->fed.generation;
    choose_members(s);
    sm_move(&s->fed.sm, PHASE_AGREE, s->fed.generation);
    s->fed.agree.until_us = s->fed.now_us + 1000ull * phase_row(PHASE_AGREE)->patiences *
                                                phase_limit_ms(PHASE_AGREE, false, &s->plan);
    if (server_compare_begin(s) != STATUS_OK) {
        server_fail(s, a);
        return;
    }
    log_info("generation %llu: %u parties", (unsigned long long)s->fed.generation,
             s->fed.members_n);
    send = server_send_members(s, a, WIRE_OFFER);
    send->msg.offer = (struct wire_offer){
        .generation = s->fed.generation,
        .step = s->trainer.steps_done,
        .job = {JOB_TRAIN, {s->plan_text.data, s->plan_text.len}},
        .members = {s->fed.members, s->fed.members_n},
        .element = s->fed.agree.element,
    };
    server_arm_phase(s, a);
}

/* --- who is behind --- */

/* What one member's gradients of `step` and perhaps more are, into s->keep.replay. */
static enum status recall(struct server_session *s, uint32_t peer, uint64_t step, uint64_t *steps)
{
    const struct server_store *store = &s->setup.store;
    size_t bytes = s->trainer.close.words * sizeof *s->trainer.head.blob,
           block = (size_t)s->fed.peer[peer].member * bytes;
    enum status st;

    s->keep.replay.len = 0;
    *steps = 1;
    if (s->trainer.close.any && step == s->trainer.close.step)
        return buf_append(&s->keep.replay,
                          (const uint8_t *)s->trainer.head.blob +
                              (s->trainer.close.blocks > 1 ? block : 0),
                          bytes);
    st = store->gradients(store->owner, step, s->trainer.head.apart ? 1 : WIRE_REPLAY_MAX,
                          &s->keep.replay, steps, &s->fed.error);
    if (st == STATUS_OK && s->trainer.head.apart) { /* of one step, everybody's side by side */
        bytes = s->keep.replay.len / s->fed.members_n;
        memmove(s->keep.replay.data, s->keep.replay.data + (size_t)s->fed.peer[peer].member * bytes,
                bytes);
        s->keep.replay.len = bytes;
    }
    return st;
}

void server_behind(struct server_session *s, struct actions *a, uint32_t peer,
                   const struct wire_behind *b)
{
    struct server_peer *p = &s->fed.peer[peer];
    struct action *send;
    uint64_t steps;

    if (!server_waits(s) || b->applied < p->applied || b->applied >= s->trainer.steps_done ||
        !server_reachable(s, b->applied)) {
        error_set(&s->fed.error, STATUS_PROTOCOL,
                  "%s: is behind by what it should have (%llu of %llu)", server_name(s, peer),
                  (unsigned long long)b->applied, (unsigned long long)s->trainer.steps_done);
        server_drop(s, a, peer, STATUS_PROTOCOL);
        return;
    }
    if (recall(s, peer, b->applied, &steps) != STATUS_OK) {
        if (s->fed.error.status == STATUS_OK)
            error_set(&s->fed.error, STATUS_MEMORY, "no memory for a replay");
        server_fail(s, a);
        return;
    }
    p->applied = b->applied + steps; /* it only grows: an end to the asking */
    s->report.degraded.replayed += steps;
    if (server_watch_again(s, peer, b->applied, steps) != STATUS_OK) {
        server_fail(s, a);
        return;
    }
    send = server_send_one(s, a, peer, WIRE_REPLAY);
    send->msg.replay = (struct wire_replay){
        s->fed.generation, b->applied, {s->keep.replay.data, s->keep.replay.len}};
    /* Every answer is progress, but nobody may be brought up for ever. */
    if (s->fed.now_us < s->fed.agree.until_us)
        server_arm(s, a, s->plan.protocol.patience_ms);
}

/* --- hellos --- */

static bool rows_match(struct server_session *s, uint32_t peer, const struct wire_hello *h)
{
    if (h->train_rows == s->plan.shape.train_rows && h->test_rows == s->plan.shape.test_rows)
        return true;
    error_set(&s->fed.error, STATUS_DATA,
              "rows do not match: %s has %u training and %u test rows, the server %u and %u",
              server_name(s, peer), h->train_rows, h->test_rows, s->plan.shape.train_rows,
              s->plan.shape.test_rows);
    return false;
}

static void relay_hellos(struct server_session *s, struct actions *a)
{
    struct agree_terms terms = {s->plan_digest, s->fed.generation, s->fed.agree.element};
    struct action *send;

    agree_sid(s->fed.agree.sid, &terms, s->fed.agree.hellos, s->fed.members_n);
    if (server_compare_end(s) != STATUS_OK || server_deal_terms(s) != STATUS_OK) {
        server_fail(s, a);
        return;
    }
    for (uint32_t m = 0; m < s->fed.members_n; m++)
        s->fed.agree.show_hellos[m] = agree_show_hello(&s->fed.agree.hellos[m]);
    server_next_question(s);
    sm_move(&s->fed.sm, PHASE_CONFIRM, s->fed.generation);
    send = server_send_members(s, a, WIRE_HELLOS);
    send->msg.hellos =
        (struct wire_hellos){s->fed.generation, s->fed.members_n, s->fed.agree.show_hellos};
    server_arm_phase(s, a);
}

/* STATUS_AUTH: what every party would refuse, and would have to blame on the server. */
static enum status check_its_key(const struct server_session *s, const struct wire_hello *h)
{
    uint8_t secret[KEX_BYTES], public_key[KEX_BYTES], shared[KEX_BYTES];
    enum status st = kex_generate(secret, public_key);

    if (st == STATUS_OK)
        st = kex_derive(shared, secret, h->kex_public);
    for (uint32_t m = 0; m < s->fed.members_n && st == STATUS_OK; m++) {
        if (s->fed.peer[s->fed.members[m]].answered &&
            memcmp(s->fed.agree.hellos[m].kex_public, h->kex_public, WIRE_KEY_BYTES) == 0)
            st = STATUS_AUTH;
    }
    secret_wipe(secret, sizeof secret);
    secret_wipe(shared, sizeof shared);
    return st;
}

void server_hello(struct server_session *s, struct actions *a, uint32_t peer,
                  const struct wire_hello *h)
{
    struct agree_terms terms = {s->plan_digest, s->fed.generation, s->fed.agree.element};
    enum status st = agree_check_hello(h, &s->setup.roster->party[peer], &terms, &s->fed.error);

    if (st != STATUS_OK) {
        server_drop(s, a, peer, st);
        return;
    }
    if (!rows_match(s, peer, h)) {
        server_blame(s, a, peer);
        return;
    }
    st = check_its_key(s, h);
    if (st != STATUS_OK) {
        error_set(&s->fed.error, st, "hello of %s: %s", server_name(s, peer),
                  st == STATUS_AUTH ? "a key of low order, or another party's" : status_words(st));
        server_drop(s, a, peer, st);
        return;
    }
    if (!server_compare_fits(s, h, (uint32_t)s->fed.peer[peer].member)) {
        error_set(&s->fed.error, STATUS_AUTH,
                  "hello of %s: for the ids of a neighbour no element, or that one's own",
                  server_name(s, peer));
        server_drop(s, a, peer, STATUS_AUTH);
        return;
    }
    if (peer == s->fed.members[0] && server_compare_may_answer(s, h) != STATUS_OK) {
        s->fed.peer[peer].barred = true; /* where it is dropped, for good */
        server_blame(s, a, peer);
        return;
    }
    agree_keep_hello(&s->fed.agree.hellos[s->fed.peer[peer].member], h);
    if (server_answered(s, peer))
        relay_hellos(s, a);
}

static enum status new_sum(struct server_session *s)
{
    s->round.sum.shape.parties = s->fed.members_n;
    s->round.sum.shape.self = 0;
    s->round.sum.check_bytes = secagg_check_bytes(s->plan.protocol.aggregation,
                                                  &s->round.sum.shape); /* follows the width */
    secagg_server_free(s->round.sum.secagg);
    s->round.sum.secagg = NULL;
    server_head_members(&s->trainer.head, s->fed.members_n);
    return secagg_server_new(&s->round.sum.secagg, s->plan.protocol.aggregation,
                             &s->round.sum.shape);
}

/* Is a member about to hear that its ledger was put back?  It refuses then, and nobody else need
 * send anything for a round that cannot end. */
static bool somebody_will_refuse(const struct server_session *s)
{
    for (uint32_t by = 0; by < s->fed.members_n; by++) {
        for (uint32_t m = 0; m < s->fed.members_n; m++) {
            if (agree_seen(&s->fed.agree.show_confirms[by], m) <= s->fed.agree.hellos[m].ledger)
                continue;
            log_warn("%s has seen more of the ledger of %s than there is",
                     server_name(s, s->fed.members[by]), server_name(s, s->fed.members[m]));
            return true;
        }
    }
    return false;
}

static void relay_confirms(struct server_session *s, struct actions *a)
{
    struct action *send;

    for (uint32_t m = 0; m < s->fed.members_n; m++)
        s->fed.agree.show_confirms[m] =
            agree_show_confirm(&s->fed.agree.confirms[m], s->fed.generation);
    memcpy(s->fed.agree.proof, s->fed.agree.ids.shown, sizeof s->fed.agree.proof);
    send = server_send_members(s, a, WIRE_CONFIRMS);
    send->msg.confirms = (struct wire_confirms){s->fed.generation, s->fed.members_n,
                                                s->fed.agree.show_confirms, s->fed.agree.proof};
}

static void begin_rounds(struct server_session *s, struct actions *a)
{
    if (encode_init(&s->round.sum.shape.encode, &s->plan, s->fed.members_n) != STATUS_OK ||
        new_sum(s) != STATUS_OK) {
        error_set(&s->fed.error, STATUS_MEMORY, "no memory for a generation of %u parties",
                  s->fed.members_n);
        server_fail(s, a);
        return;
    }
    relay_confirms(s, a);
    if (somebody_will_refuse(s))
        return;
    s->fed.started = true;
    if (!server_waits(s))
        trail_begin(&s->trainer.trail, &s->trainer.digest, s->plan_digest);
    if (s->round.stream != NULL)
        server_stream_begin(s);
    server_open_round(s, a);
}

/* Where ids differ no round is opened.  Whoever has to be named ends the run where the run needs
 * it: then all are shown first what their neighbours have, and nobody who is alike counts as
 * compared with in vain.  Elsewhere the next generation shows the same. */
static void all_confirmed(struct server_session *s, struct actions *a)
{
    uint32_t peer = UINT32_MAX;

    if (server_compare_check(s, &peer) == STATUS_OK) {
        begin_rounds(s, a);
        return;
    }
    if (peer == UINT32_MAX) {
        server_fail(s, a);
        return;
    }
    if (server_waits(s) || !s->fed.started)
        relay_confirms(s, a);
    server_blame(s, a, peer);
}

void server_confirm(struct server_session *s, struct actions *a, uint32_t peer,
                    const struct wire_confirm *c)
{
    const struct agree_hello *hello = &s->fed.agree.hellos[s->fed.peer[peer].member];
    enum status st = agree_check_confirm(c, hello->public_key, s->fed.agree.sid, s->fed.members_n,
                                         &s->fed.error);

    if (st != STATUS_OK) {
        error_wrap(&s->fed.error, "%s", server_name(s, peer));
        server_drop(s, a, peer, st);
        return;
    }
    agree_keep_confirm(&s->fed.agree.confirms[s->fed.peer[peer].member], c);
    if (server_answered(s, peer))
        all_confirmed(s, a);
}
