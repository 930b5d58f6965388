/* liars.c -- what a member can say that nobody but it can check.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/liars.h"

#include "common/base/check.h"
#include "common/flow/agree.h"

#include <string.h>

static uint64_t generation_of(const struct wire_msg *m)
{
    switch ((int)m->kind) {
    case WIRE_UPLOAD: return m->upload.generation;
    case WIRE_SHARE: return m->share.generation;
    case WIRE_CONFIRM: return m->confirm.generation;
    default: CHECK(!"a message of a generation");
    }
    return 0;
}

void liars_accuse(struct wire_msg *m, uint32_t of, enum status_kind about, uint64_t before)
{
    const uint64_t generation = generation_of(m);

    m->kind = WIRE_REFUSE;
    m->refuse = (struct wire_refuse){.kind = about,
                                     .text = "it did not open",
                                     .accused = of + 1,
                                     .generation = generation > before ? generation - before : 1};
}

void liars_spoil_shares(struct wire_msg *m, size_t others, uint64_t whose)
{
    static uint8_t other[4096];
    const size_t each = m->share.sealed.n / others;

    CHECK(each > 0 && m->share.sealed.n <= sizeof other);
    memcpy(other, m->share.sealed.data, m->share.sealed.n);
    for (size_t i = 0; i < others; i++)
        other[i * each] ^= whose >> i & 1;
    m->share.sealed.data = other;
}

/* --- confirmations --- */

static struct agree_confirm said;

static void sign_again(struct wire_msg *m, const struct sign_key *key)
{
    CHECK(agree_sign_confirm(&said, key) == STATUS_OK);
    m->confirm = agree_show_confirm(&said, m->confirm.generation);
}

void liars_show_proof(struct wire_msg *m, const struct sign_key *key, enum ids_side side)
{
    agree_keep_confirm(&said, &m->confirm);
    said.proofs[side * WIRE_PROOF_BYTES] ^= 1;
    sign_again(m, key);
}

void liars_show_mark(struct wire_msg *m, const struct sign_key *key, enum ids_side side)
{
    agree_keep_confirm(&said, &m->confirm);
    said.marks[side * WIRE_PROOF_BYTES] ^= 1;
    sign_again(m, key);
}

void liars_see(struct wire_msg *m, const struct sign_key *key, uint32_t member, uint64_t number)
{
    agree_keep_confirm(&said, &m->confirm);
    for (uint32_t i = 0; i < said.members; i++) {
        if (i == member || member >= said.members)
            agree_put_seen(&said, i, number);
    }
    sign_again(m, key);
}
