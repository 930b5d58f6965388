/* fuzz_confirm.c -- a confirmation as a member with a good key may sign it: refused, or it is of
 * this session and says a number of every member.
 *
 * Input: bytes 0 and 1 members and what is changed of sid and signature; the rest is what it has
 * seen.
 *
 * Signatures are stand-ins (tests/sim/fast_crypto.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/agree.h"
#include "tests/fuzz/feed.h"

enum { FRAME_MAX = 4096 };

static const uint8_t sid[WIRE_DIGEST_BYTES] = "sid";

static void check_kept(const struct wire_msg *frame_of, const struct buf *frame, uint32_t members)
{
    static struct agree_confirm kept;
    struct wire_msg again = {.kind = WIRE_CONFIRM};
    struct buf packed;

    agree_keep_confirm(&kept, &frame_of->confirm);
    CHECK(kept.members == members);
    again.confirm = agree_show_confirm(&kept, frame_of->confirm.generation);
    buf_init(&packed, FRAME_MAX);
    CHECK(wire_pack(&packed, &again) == STATUS_OK && packed.len == frame->len);
    CHECK(memcmp(packed.data, frame->data, frame->len) == 0);
    buf_deinit(&packed);
    for (uint32_t m = 0; m < members; m++) {
        const uint64_t number = agree_seen(&frame_of->confirm, m);

        agree_put_seen(&kept, m, number);
        again.confirm = agree_show_confirm(&kept, 0);
        CHECK(agree_seen(&again.confirm, m) == number);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct wire_unpacker u;
    struct feed f = {data, size};
    const uint32_t members = feed_among(&f, 1, WIRE_MEMBERS_MAX - 1);
    const uint8_t changed = feed_byte(&f);
    struct sign_key key = {.public_key = "a member's"};
    struct wire_msg msg = {.kind = WIRE_CONFIRM}, got;
    struct error err = {0};
    struct agree_confirm c = {0};
    struct buf frame;
    enum status s;

    if (u.block == NULL)
        CHECK(wire_unpacker_init(&u, FRAME_MAX) == STATUS_OK);
    if (f.left > sizeof c.seen)
        return 0;
    memcpy(c.sid, sid, sizeof c.sid);
    memset(c.proofs, changed, sizeof c.proofs);
    memset(c.marks, ~changed, sizeof c.marks);
    c.sid[changed % 32] ^= changed % 8 == 1;
    c.members = f.left / WIRE_SEEN_BYTES;
    feed_bytes(&f, c.seen, f.left);
    CHECK(agree_sign_confirm(&c, &key) == STATUS_OK);
    msg.confirm = agree_show_confirm(&c, 7);
    c.signature[changed % 64] ^= changed % 8 == 2;
    buf_init(&frame, FRAME_MAX);
    CHECK(wire_pack(&frame, &msg) == STATUS_OK);
    s = wire_unpack(&got, &u, frame.data, frame.len, &err);
    if (s == STATUS_OK)
        s = agree_check_confirm(&got.confirm, key.public_key, sid, members, &err);
    CHECK((s == STATUS_OK) == (changed % 8 != 1 && changed % 8 != 2 && c.members == members));
    if (s == STATUS_OK)
        check_kept(&got, &frame, members);
    else
        feed_check_words(err.text);
    buf_deinit(&frame);
    return 0;
}
