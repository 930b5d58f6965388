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
        .plan_digest = p->plan_digest,
        .nonce = p->nonce,
        .kex_public = p->kex_public,
        .generation = p->generation,
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
    h.elements = p->elements;
    if (rng_init_system(&fresh) != STATUS_OK ||
        kex_generate(p->kex_secret, p->kex_public) != STATUS_OK) {
        rng_deinit(&fresh);
        error_set(&p->error, STATUS_CRYPTO, "no fresh keys");
        party_refuse(p, a);
        return;
    }
    rng_fill(&fresh, p->nonce, sizeof p->nonce);
    rng_deinit(&fresh);
    memcpy(h.name, p->setup.roster->party[p->setup.self].name, sizeof h.name);
    party_deal_say(p, &h);
    buf_init(&body, WIRE_HELLO_MAX);
    if (wire_pack_hello_body(&body, &h) != STATUS_OK ||
        sign_make(p->own.signature, p->setup.key, "vfl/hello/2", body.data, body.len) !=
            STATUS_OK) {
        buf_deinit(&body);
        error_set(&p->error, STATUS_CRYPTO, "cannot sign a hello");
        party_refuse(p, a);
        return;
    }
    memcpy(p->own.body, body.data, body.len);
    p->own.body_len = body.len;
    buf_deinit(&body);
    memcpy(p->own.public_key, p->setup.key->public_key, sizeof p->own.public_key);
    p->show_hello = agree_show_hello(&p->own);
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_HELLO;
    send->msg.hello = p->show_hello;
    party_arm(p, a);
}

/* --- hellos --- */

static enum status check_hellos(struct party_session *p, const struct wire_hellos *hs)
{
    struct agree_terms terms = {p->plan_digest, p->generation, p->offered_element};

    if (hs->generation != p->generation || hs->n != p->members_n)
        return error_set(&p->error, STATUS_PROTOCOL, "hellos: of another generation or set");
    for (uint32_t m = 0; m < p->members_n; m++) {
        const struct wire_hello *h = &hs->hello[m];
        enum status s =
            agree_check_hello(h, &p->setup.roster->party[p->members[m]], &terms, &p->error);

        if (s != STATUS_OK)
            return s;
        for (uint32_t k = 0; k < m; k++) {
            if (memcmp(p->hellos[k].kex_public, h->kex_public, WIRE_KEY_BYTES) == 0)
                return error_set(&p->error, STATUS_AUTH, "hellos: two members with one key");
        }
        agree_keep_hello(&p->hellos[m], h);
    }
    if (p->hellos[p->self].body_len != p->own.body_len ||
        memcmp(p->hellos[p->self].body, p->own.body, p->own.body_len) != 0)
        return error_set(&p->error, STATUS_AUTH, "hellos: this party's own hello was altered");
    return STATUS_OK;
}

static enum status make_masks(struct party_session *p)
{
    struct secagg_pair pairs[WIRE_MEMBERS_MAX];
    enum status s = STATUS_OK;

    memset(pairs, 0, sizeof pairs);
    for (uint32_t m = 0; m < p->members_n && s == STATUS_OK; m++) {
        if (m != p->self)
            s = agree_pair_keys(&pairs[m], p->kex_secret, p->hellos[m].kex_public, p->sid,
                                p->members[p->self], p->members[m]);
    }
    if (s == STATUS_OK)
        s = encode_init(&p->shape.encode, &p->plan, p->members_n);
    if (s == STATUS_OK)
        s = secagg_party_new(&p->masks, p->plan.protocol.aggregation, &p->shape, pairs);
    secret_wipe(pairs, sizeof pairs);
    secret_wipe(p->kex_secret, sizeof p->kex_secret);
    if (s != STATUS_OK)
        return error_set(&p->error, s, "keys of generation %llu: %s",
                         (unsigned long long)p->generation, status_words(s));
    return STATUS_OK;
}

static enum status make_confirm(struct party_session *p)
{
    struct agree_terms terms = {p->plan_digest, p->generation, p->offered_element};
    enum status s;

    agree_sid(p->sid, &terms, p->hellos, p->members_n);
    memcpy(p->own_confirm.sid, p->sid, sizeof p->sid);
    s = party_compare_end(p);
    if (s != STATUS_OK)
        return s;
    party_witness_say(p, &p->own_confirm);
    s = agree_sign_confirm(&p->own_confirm, p->setup.key);
    return s == STATUS_OK ? s : error_set(&p->error, s, "confirmation: %s", status_words(s));
}

/* What the hellos say of sizes. */
static enum status take_shapes(struct party_session *p)
{
    enum status s;

    p->shape.parties = p->members_n;
    p->shape.self = p->self;
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
    sm_move(&p->sm, PHASE_CONFIRM, p->generation);
    p->show_confirm = agree_show_confirm(&p->own_confirm, p->generation);
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_CONFIRM;
    send->msg.confirm = p->show_confirm;
    party_arm(p, a);
}

/* --- confirmations --- */

static enum status check_confirms(struct party_session *p, const struct wire_confirms *cs)
{
    if (cs->generation != p->generation || cs->n != p->members_n)
        return error_set(&p->error, STATUS_PROTOCOL, "confirms: of another generation or set");
    for (uint32_t m = 0; m < p->members_n; m++) {
        enum status s = agree_check_confirm(&cs->confirm[m], p->hellos[m].public_key, p->sid,
                                            p->members_n, &p->error);

        if (s != STATUS_OK) {
            error_wrap(&p->error, "%s", p->setup.roster->party[p->members[m]].name);
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
    if (secagg_shares(p->plan.protocol.aggregation))
        return PHASE_SHARE;
    return p->plan.protocol.straggler == STRAGGLER_ASYNC ? PHASE_STREAM : PHASE_ROUND;
}

void party_confirms(struct party_session *p, struct actions *a, const struct wire_confirms *cs)
{
    if (check_confirms(p, cs) != STATUS_OK || party_compare_check(p, cs) != STATUS_OK) {
        party_refuse(p, a);
        return;
    }
    sm_move(&p->sm, phase_of_rounds(p), p->generation);
    log_info("generation %llu: %u parties hold one view", (unsigned long long)p->generation,
             p->members_n);
    p->last_round = 0;
    p->last_sweep = 0;
    if (p->plan.protocol.straggler != STRAGGLER_WAIT) /* members may have missed steps */
        trail_begin(&p->trail, &p->digest, p->plan_digest);
    party_arm(p, a);
}
