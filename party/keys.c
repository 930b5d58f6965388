/* keys.c -- AGREE and CONFIRM: this party's hello, everybody's hellos checked, one view confirmed.
 *
 * The happy path: offer -> own hello -> all hellos -> sid, pair keys, own confirm -> all confirms
 * -> the job. No data leaves before the last step (threats 1.2, A13, D2).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/federation.h"

#include "common/crypto/kex.h"
#include "common/crypto/rng.h"
#include "common/crypto/secret.h"
#include "common/secagg/secagg.h"

#include <string.h>

/* --- the own hello --- */

/* Keys and nonces come from the system's generator even under --insecure-seed (threats B1). */
static enum status fresh_keys(struct party_federation *f)
{
    struct rng fresh = {0};

    if (rng_init_system(&fresh) != STATUS_OK ||
        kex_generate(f->kex_secret, f->kex_public) != STATUS_OK) {
        rng_deinit(&fresh);
        return error_set(f->error, STATUS_CRYPTO, "no fresh keys");
    }
    rng_fill(&fresh, f->nonce, sizeof f->nonce);
    rng_deinit(&fresh);
    return STATUS_OK;
}

static enum status sign_hello(struct party_federation *f, const struct wire_hello *h)
{
    struct buf body;

    buf_init(&body, WIRE_HELLO_MAX);
    if (wire_pack_hello_body(&body, h) != STATUS_OK ||
        sign_make(f->own.signature, f->setup->key, "vfl/hello/2", body.data, body.len) !=
            STATUS_OK) {
        buf_deinit(&body);
        return error_set(f->error, STATUS_CRYPTO, "cannot sign a hello");
    }
    memcpy(f->own.body, body.data, body.len);
    f->own.body_len = body.len;
    buf_deinit(&body);
    memcpy(f->own.public_key, f->setup->key->public_key, sizeof f->own.public_key);
    f->show_hello = agree_show_hello(&f->own);
    return STATUS_OK;
}

enum status party_make_hello(struct party_federation *f, struct wire_hello *h)
{
    enum status s = party_compare_begin(f);

    if (s == STATUS_OK)
        s = fresh_keys(f);
    if (s != STATUS_OK)
        return s;
    h->plan_digest = f->job;
    h->nonce = f->nonce;
    h->kex_public = f->kex_public;
    h->generation = f->set.generation;
    if (h->train_rows == 0) /* no list of the job's own */
        h->train_rows = (uint32_t)f->setup->data.train->rows;
    h->test_rows = (uint32_t)f->setup->data.test->rows;
    h->elements = f->ids.elements;
    memcpy(h->name, f->setup->roster->party[f->setup->self].name, sizeof h->name);
    return sign_hello(f, h);
}

/* --- hellos --- */

enum status party_take_hellos(struct party_federation *f, const struct wire_hellos *hs)
{
    struct agree_terms terms = {f->job, f->set.generation, f->ids.offered, f->set.playing};
    struct party_set *set = &f->set;

    if (hs->generation != set->generation || hs->n != set->members_n)
        return error_set(f->error, STATUS_PROTOCOL, "hellos: of another generation or set");
    for (uint32_t m = 0; m < set->members_n; m++) {
        const struct wire_hello *h = &hs->hello[m];
        enum status s =
            agree_check_hello(h, &f->setup->roster->party[set->members[m]], &terms, f->error);

        if (s != STATUS_OK)
            return s;
        for (uint32_t k = 0; k < m; k++) {
            if (memcmp(set->hellos[k].kex_public, h->kex_public, WIRE_KEY_BYTES) == 0)
                return error_set(f->error, STATUS_AUTH, "hellos: two members with one key");
        }
        agree_keep_hello(&set->hellos[m], h);
    }
    if (set->hellos[set->self].body_len != f->own.body_len ||
        memcmp(set->hellos[set->self].body, f->own.body, f->own.body_len) != 0)
        return error_set(f->error, STATUS_AUTH, "hellos: this party's own hello was altered");
    agree_sid(set->sid, &terms, set->hellos, set->members_n);
    f->own_confirm = (struct agree_confirm){.members = set->members_n};
    return STATUS_OK;
}

enum status party_pair_keys(struct party_federation *f, struct secagg_pair *pairs)
{
    const struct party_set *set = &f->set;
    enum status s = STATUS_OK;

    for (uint32_t m = 0; m < set->members_n && s == STATUS_OK; m++) {
        if (m != set->self)
            s = agree_pair_keys(&pairs[m], f->kex_secret, set->hellos[m].kex_public, set->sid,
                                set->members[set->self], set->members[m]);
    }
    secret_wipe(f->kex_secret, sizeof f->kex_secret);
    if (s != STATUS_OK)
        return error_set(f->error, s, "keys of generation %llu: %s",
                         (unsigned long long)set->generation, status_words(s));
    return STATUS_OK;
}

/* --- confirmations --- */

enum status party_make_confirm(struct party_federation *f, uint32_t *accused)
{
    enum status s;

    memcpy(f->own_confirm.sid, f->set.sid, sizeof f->own_confirm.sid);
    s = party_compare_end(f, accused);
    if (s != STATUS_OK)
        return s;
    s = agree_sign_confirm(&f->own_confirm, f->setup->key);
    if (s != STATUS_OK)
        return error_set(f->error, s, "confirmation: %s", status_words(s));
    f->show_confirm = agree_show_confirm(&f->own_confirm, f->set.generation);
    return STATUS_OK;
}

enum status party_check_confirms(struct party_federation *f, const struct wire_confirms *cs)
{
    const struct party_set *set = &f->set;

    if (cs->generation != set->generation || cs->n != set->members_n)
        return error_set(f->error, STATUS_PROTOCOL, "confirms: of another generation or set");
    for (uint32_t m = 0; m < set->members_n; m++) {
        enum status s = agree_check_confirm(&cs->confirm[m], set->hellos[m].public_key, set->sid,
                                            set->members_n, f->error);

        if (s != STATUS_OK) {
            error_wrap(f->error, "%s", f->setup->roster->party[set->members[m]].name);
            return s;
        }
    }
    return STATUS_OK;
}
