/* keys.c -- AGREE and CONFIRM: this party's hello, everybody's hellos checked, one view confirmed.
 *
 * The happy path: offer -> own hello -> all hellos -> sid, pair keys, own confirm -> all confirms
 * -> rounds. No data leaves before the last step (threats 1.2, A13, D2).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/crypto/kex.h"
#include "common/crypto/secret.h"

#include <string.h>

void party_say_hello(struct party_session *p, struct actions *a)
{
    struct wire_hello h = {
        .plan_digest = p->learner.plan_digest,
        .nonce = p->fed.nonce,
        .kex_public = p->fed.kex_public,
        .generation = p->fed.set.generation,
        .train_rows = (uint32_t)p->setup.train->rows,
        .test_rows = (uint32_t)p->setup.test->rows,
        .ledger = party_number(p),
    };
    struct buf body;
    struct action *send;
    struct rng fresh = {0};

    /* Keys and nonces come from the system's generator even under --insecure-seed (threats B1). */
    if (party_compare_begin(p) != STATUS_OK) {
        party_refuse(p, a);
        return;
    }
    h.elements = p->fed.ids.elements;
    if (rng_init_system(&fresh) != STATUS_OK ||
        kex_generate(p->fed.kex_secret, p->fed.kex_public) != STATUS_OK) {
        rng_deinit(&fresh);
        error_set(&p->error, STATUS_CRYPTO, "no fresh keys");
        party_refuse(p, a);
        return;
    }
    rng_fill(&fresh, p->fed.nonce, sizeof p->fed.nonce);
    rng_deinit(&fresh);
    memcpy(h.name, p->setup.roster->party[p->setup.self].name, sizeof h.name);
    party_deal_say(p, &h);
    buf_init(&body, WIRE_HELLO_MAX);
    if (wire_pack_hello_body(&body, &h) != STATUS_OK ||
        sign_make(p->fed.own.signature, p->setup.key, "vfl/hello/2", body.data, body.len) !=
            STATUS_OK) {
        buf_deinit(&body);
        error_set(&p->error, STATUS_CRYPTO, "cannot sign a hello");
        party_refuse(p, a);
        return;
    }
    memcpy(p->fed.own.body, body.data, body.len);
    p->fed.own.body_len = body.len;
    buf_deinit(&body);
    memcpy(p->fed.own.public_key, p->setup.key->public_key, sizeof p->fed.own.public_key);
    p->fed.show_hello = agree_show_hello(&p->fed.own);
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_HELLO;
    send->msg.hello = p->fed.show_hello;
    party_arm(p, a);
}

/* --- hellos --- */

static enum status check_hellos(struct party_session *p, const struct wire_hellos *hs)
{
    struct agree_terms terms = {p->learner.plan_digest, p->fed.set.generation, p->fed.ids.offered};

    if (hs->generation != p->fed.set.generation || hs->n != p->fed.set.members_n)
        return error_set(&p->error, STATUS_PROTOCOL, "hellos: of another generation or set");
    for (uint32_t m = 0; m < p->fed.set.members_n; m++) {
        const struct wire_hello *h = &hs->hello[m];
        enum status s =
            agree_check_hello(h, &p->setup.roster->party[p->fed.set.members[m]], &terms, &p->error);

        if (s != STATUS_OK)
            return s;
        for (uint32_t k = 0; k < m; k++) {
            if (memcmp(p->fed.set.hellos[k].kex_public, h->kex_public, WIRE_KEY_BYTES) == 0)
                return error_set(&p->error, STATUS_AUTH, "hellos: two members with one key");
        }
        agree_keep_hello(&p->fed.set.hellos[m], h);
    }
    if (p->fed.set.hellos[p->fed.set.self].body_len != p->fed.own.body_len ||
        memcmp(p->fed.set.hellos[p->fed.set.self].body, p->fed.own.body, p->fed.own.body_len) != 0)
        return error_set(&p->error, STATUS_AUTH, "hellos: this party's own hello was altered");
    return STATUS_OK;
}

static enum status make_masks(struct party_session *p)
{
    struct secagg_pair pairs[WIRE_MEMBERS_MAX];
    enum status s = STATUS_OK;

    memset(pairs, 0, sizeof pairs);
    for (uint32_t m = 0; m < p->fed.set.members_n && s == STATUS_OK; m++) {
        if (m != p->fed.set.self)
            s = agree_pair_keys(&pairs[m], p->fed.kex_secret, p->fed.set.hellos[m].kex_public,
                                p->fed.set.sid, p->fed.set.members[p->fed.set.self],
                                p->fed.set.members[m]);
    }
    if (s == STATUS_OK)
        s = encode_init(&p->round.shape.encode, &p->learner.plan, p->fed.set.members_n);
    if (s == STATUS_OK)
        s = secagg_party_new(&p->round.masks, p->learner.plan.protocol.aggregation, &p->round.shape,
                             pairs);
    secret_wipe(pairs, sizeof pairs);
    secret_wipe(p->fed.kex_secret, sizeof p->fed.kex_secret);
    if (s != STATUS_OK)
        return error_set(&p->error, s, "keys of generation %llu: %s",
                         (unsigned long long)p->fed.set.generation, status_words(s));
    return STATUS_OK;
}

static enum status make_confirm(struct party_session *p)
{
    struct agree_terms terms = {p->learner.plan_digest, p->fed.set.generation, p->fed.ids.offered};
    enum status s;

    agree_sid(p->fed.set.sid, &terms, p->fed.set.hellos, p->fed.set.members_n);
    memcpy(p->fed.own_confirm.sid, p->fed.set.sid, sizeof p->fed.set.sid);
    s = party_compare_end(p);
    if (s != STATUS_OK)
        return s;
    party_witness_say(p, &p->fed.own_confirm);
    s = agree_sign_confirm(&p->fed.own_confirm, p->setup.key);
    return s == STATUS_OK ? s : error_set(&p->error, s, "confirmation: %s", status_words(s));
}

/* What the hellos say of sizes. */
static enum status take_shapes(struct party_session *p)
{
    enum status s;

    p->round.shape.parties = p->fed.set.members_n;
    p->round.shape.self = p->fed.set.self;
    s = party_deal_begin(p);
    return s == STATUS_OK ? party_size_messages(p) : s;
}

void party_hellos(struct party_session *p, struct actions *a, const struct wire_hellos *hs)
{
    enum status s = check_hellos(p, hs);
    struct action *send;

    if (s == STATUS_OK)
        s = take_shapes(p);
    if (s == STATUS_OK) {
        party_witness_hellos(p);
        s = make_confirm(p);
    }
    if (s == STATUS_OK)
        s = make_masks(p);
    if (s != STATUS_OK) {
        party_refuse(p, a);
        return;
    }
    sm_move(&p->sm, PHASE_CONFIRM, p->fed.set.generation);
    p->fed.show_confirm = agree_show_confirm(&p->fed.own_confirm, p->fed.set.generation);
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_CONFIRM;
    send->msg.confirm = p->fed.show_confirm;
    party_arm(p, a);
}

/* --- confirmations --- */

static enum status check_confirms(struct party_session *p, const struct wire_confirms *cs)
{
    if (cs->generation != p->fed.set.generation || cs->n != p->fed.set.members_n)
        return error_set(&p->error, STATUS_PROTOCOL, "confirms: of another generation or set");
    for (uint32_t m = 0; m < p->fed.set.members_n; m++) {
        enum status s = agree_check_confirm(&cs->confirm[m], p->fed.set.hellos[m].public_key,
                                            p->fed.set.sid, p->fed.set.members_n, &p->error);

        if (s != STATUS_OK) {
            error_wrap(&p->error, "%s", p->setup.roster->party[p->fed.set.members[m]].name);
            return s;
        }
        s = party_witness_check(p, m, &cs->confirm[m]);
        if (s != STATUS_OK)
            return s;
    }
    return STATUS_OK;
}

static enum phase phase_of_rounds(const struct party_session *p)
{
    if (secagg_shares(p->learner.plan.protocol.aggregation))
        return PHASE_SHARE;
    return p->learner.plan.protocol.straggler == STRAGGLER_ASYNC ? PHASE_STREAM : PHASE_ROUND;
}

void party_confirms(struct party_session *p, struct actions *a, const struct wire_confirms *cs)
{
    if (check_confirms(p, cs) != STATUS_OK || party_compare_check(p, cs) != STATUS_OK) {
        party_refuse(p, a);
        return;
    }
    sm_move(&p->sm, phase_of_rounds(p), p->fed.set.generation);
    log_info("generation %llu: %u parties hold one view", (unsigned long long)p->fed.set.generation,
             p->fed.set.members_n);
    p->round.last = 0;
    p->round.sweep.number = 0;
    if (p->learner.plan.protocol.straggler != STRAGGLER_WAIT) /* members may have missed steps */
        trail_begin(&p->learner.trail, &p->learner.digest, p->learner.plan_digest);
    party_arm(p, a);
}
