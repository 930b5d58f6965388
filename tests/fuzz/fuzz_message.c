/* fuzz_message.c -- any frame: refused with a reason, or a message that packs to the very same
 * bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/wire/message.h"
#include "common/wire/purpose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAME_MAX = 32768 };

/* The words of a refuse or finish have been cleaned. */
static void check_same(const struct buf *again, const uint8_t *data, size_t size, bool has_text)
{
    CHECK(again->len == size);
    for (size_t i = 0; i < size; i++) {
        bool cleaned = has_text && again->data[i] == '?' && (data[i] < 0x20 || data[i] >= 0x7f);
        CHECK(again->data[i] == data[i] || cleaned);
    }
}

/* What a session core takes for granted. */
static void check_broadcast(const struct wire_broadcast *b)
{
    CHECK((b->closes || b->gradient.n == 0) && b->gradient.n % sizeof(float) == 0);
    CHECK(!(b->opens && b->last) && (b->closes || b->absent.n == 0));
    for (size_t i = 1; i < b->absent.n; i++)
        CHECK(b->absent.data[i - 1] < b->absent.data[i]);
}

static void check_shares(const struct wire_shares *w, bool equal)
{
    size_t n = w->tags.n / WIRE_TAG_BYTES;

    CHECK(n > 0 && n < WIRE_MEMBERS_MAX && w->tags.n == n * WIRE_TAG_BYTES);
    CHECK(w->sealed.n >= n || w->purpose == PURPOSE_DEAL_KEYS);
    CHECK(w->purpose <= PURPOSE_DEAL_DATA && (!equal || w->sealed.n % n == 0));
}

static void check_hello(const struct wire_hello *h)
{
    CHECK(h->name[0] != 0 && h->plan_digest != NULL && h->nonce != NULL && h->kex_public != NULL);
    CHECK(h->dealing.n == 0 || (h->dealing.n == WIRE_DIGEST_BYTES && h->dealing.data != NULL));
    CHECK(h->holds.n == 0 || (h->holds.n == WIRE_DIGEST_BYTES && h->holds.data != NULL));
}

static void check_shape(const struct wire_msg *m)
{
    if (m->kind == WIRE_BROADCAST)
        check_broadcast(&m->broadcast);
    else if (m->kind == WIRE_SHARE)
        check_shares(&m->share, true);
    else if (m->kind == WIRE_RELAY)
        check_shares(&m->relay, false);
    else if (m->kind == WIRE_REPLAY)
        CHECK(m->replay.gradient.n > 0 && m->replay.gradient.n % sizeof(float) == 0);
    else if (m->kind == WIRE_UPLOAD)
        CHECK(!purpose_of(m->upload.purpose)->deals && m->upload.payload.n > 0);
    else if (m->kind == WIRE_HELLO)
        check_hello(&m->hello);
    else if (m->kind == WIRE_HELLOS)
        for (size_t i = 0; i < m->hellos.n; i++)
            check_hello(&m->hellos.hello[i]);
    else if (m->kind == WIRE_JOIN)
        CHECK(m->join.roster_digest != NULL && m->join.trail != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct wire_unpacker unpacker;
    static struct buf again;
    struct error err = {0};
    struct wire_msg m;
    uint64_t allocations;
    enum status s;

    if (unpacker.block == NULL) {
        CHECK(wire_unpacker_init(&unpacker, FRAME_MAX) == STATUS_OK);
        buf_init(&again, FRAME_MAX);
        CHECK(buf_reserve(&again, FRAME_MAX) == STATUS_OK);
    }
    if (size > FRAME_MAX)
        return 0;
    allocations = mem_count();
    s = wire_unpack(&m, &unpacker, data, size, &err);
    CHECK(mem_count() == allocations && unpacker.used <= unpacker.size);
    if (s != STATUS_OK) {
        CHECK(s == err.status && status_kind(s) == STATUS_KIND_PEER && err.text[0] != 0);
        return 0;
    }
    CHECK(m.kind > WIRE_NONE && m.kind < WIRE_KINDS);
    CHECK(wire_payload_bytes(&m) <= size && wire_phase_of(&m) <= WIRE_PHASE_EVALUATE);
    check_shape(&m);
    CHECK(wire_pack(&again, &m) == STATUS_OK);
    check_same(&again, data, size, m.kind == WIRE_FINISH || m.kind == WIRE_REFUSE);
    return 0;
}
