/* journal_segment.c -- headers, records and where a file ends.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/journal_segment.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/crypto/kex.h"
#include "common/crypto/rng.h"
#include "common/crypto/secret.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    MAGIC_BYTES = 8,
    SALT_BYTES = 32,
    SALT_AT = JOURNAL_HEADER_BYTES - JOURNAL_CHECK_BYTES - SALT_BYTES,
    CHECK_AT = JOURNAL_HEADER_BYTES - JOURNAL_CHECK_BYTES,
    AAD_BYTES = 16,
    ZEROS_STEP = 4096,
};

static const char magic[MAGIC_BYTES + 1] = "VFLJRNL1";
static const char info_label[] = "vfl/journal/1";

static uint8_t *put_bytes(uint8_t *p, const void *from, size_t n)
{
    memcpy(p, from, n);
    return p + n;
}

static void take_bytes(const uint8_t **p, void *to, size_t n)
{
    memcpy(to, *p, n);
    *p += n;
}

/* --- headers --- */

/* key and check of the header whose first CHECK_AT bytes these are. */
static enum status derive(uint8_t key[AEAD_KEY_BYTES], uint8_t check[JOURNAL_CHECK_BYTES],
                          const uint8_t state_key[SEALED_KEY_BYTES], const uint8_t *header)
{
    enum { LABEL_BYTES = sizeof info_label - 1 };
    uint8_t info[LABEL_BYTES + CHECK_AT], out[AEAD_KEY_BYTES + JOURNAL_CHECK_BYTES];
    enum status s;

    memcpy(info, info_label, LABEL_BYTES);
    memcpy(info + LABEL_BYTES, header, CHECK_AT);
    s = kex_hkdf(out, sizeof out, state_key, SEALED_KEY_BYTES, header + SALT_AT, SALT_BYTES, info,
                 sizeof info);
    if (s == STATUS_OK) {
        memcpy(key, out, AEAD_KEY_BYTES);
        memcpy(check, out + AEAD_KEY_BYTES, JOURNAL_CHECK_BYTES);
    }
    secret_wipe(out, sizeof out);
    return s;
}

enum status journal_segment_print(struct journal_segment *s,
                                  const uint8_t state_key[SEALED_KEY_BYTES],
                                  uint8_t out[JOURNAL_HEADER_BYTES], uint8_t key[AEAD_KEY_BYTES])
{
    struct rng rng;
    uint8_t *p = out;
    enum status st = rng_init_system(&rng);

    if (st != STATUS_OK)
        return st;
    p = put_bytes(p, magic, MAGIC_BYTES);
    p = le_put(p, s->number, 8);
    p = le_put(p, s->first_step, 8);
    p = le_put(p, s->before_records, 8);
    p = le_put(p, s->trail_known, 8);
    p = put_bytes(p, s->trail, sizeof s->trail);
    p = put_bytes(p, s->label, sizeof s->label);
    p = put_bytes(p, s->before_check, sizeof s->before_check);
    CHECK(p == out + SALT_AT);
    rng_fill(&rng, p, SALT_BYTES);
    rng_deinit(&rng);
    st = derive(key, s->check, state_key, out);
    memcpy(out + CHECK_AT, s->check, sizeof s->check);
    return st;
}

enum status journal_segment_parse(struct journal_segment *s,
                                  const uint8_t state_key[SEALED_KEY_BYTES],
                                  const uint8_t in[JOURNAL_HEADER_BYTES],
                                  uint8_t key[AEAD_KEY_BYTES])
{
    const uint8_t *p = in + MAGIC_BYTES;
    enum status st;

    if (memcmp(in, magic, MAGIC_BYTES) != 0)
        return STATUS_INTEGRITY;
    st = derive(key, s->check, state_key, in);
    if (st != STATUS_OK)
        return st;
    if (!secret_equal(s->check, in + CHECK_AT, sizeof s->check)) {
        secret_wipe(key, AEAD_KEY_BYTES);
        return STATUS_INTEGRITY;
    }
    s->number = le_take(&p, 8);
    s->first_step = le_take(&p, 8);
    s->before_records = le_take(&p, 8);
    s->trail_known = le_take(&p, 8) != 0;
    take_bytes(&p, s->trail, sizeof s->trail);
    take_bytes(&p, s->label, sizeof s->label);
    take_bytes(&p, s->before_check, sizeof s->before_check);
    return STATUS_OK;
}

/* --- records --- */

/* The name of the head (part 0) or the floats (part 1) of a record. */
static struct aead_name name_of(uint8_t aad[AAD_BYTES], uint64_t number, uint64_t index, int part)
{
    struct aead_name name = {.aad = aad, .aad_n = AAD_BYTES};

    le_put(le_put(aad, number, 8), index, 8);
    le_put(name.nonce, 2 * index + (uint64_t)part, 8);
    return name;
}

static size_t float_bytes(const struct journal_record *r)
{
    return (r->sum_floats + r->gradient_words) * sizeof(float);
}

size_t journal_record_bytes(const struct journal_record *r)
{
    return JOURNAL_RECORD_BYTES_MIN + float_bytes(r);
}

static void pack_head(uint8_t *p, const struct journal_record *r)
{
    const uint8_t *head = p;

    p = le_put(p, r->round, 8);
    p = le_put(p, r->place, 8);
    p = le_put(p, r->sweep, 8);
    p = le_put(p, r->generation, 8);
    p = le_put(p, r->purpose, 4);
    p = le_put(p, r->rows, 4);
    p = le_put(p, r->present, 8);
    p = le_put(p, r->sum_floats, 8);
    p = le_put(p, r->gradient_words, 8);
    p = put_bytes(p, r->trail, sizeof r->trail);
    CHECK(p == head + JOURNAL_HEAD_BYTES);
}

/* False when no journal writes such a record: then it is not one of ours, whatever its tag. */
static bool unpack_head(struct journal_record *r, const uint8_t *p)
{
    uint64_t present, sum, gradient;

    *r = (struct journal_record){0};
    r->round = le_take(&p, 8);
    r->place = le_take(&p, 8);
    r->sweep = le_take(&p, 8);
    r->generation = le_take(&p, 8);
    r->purpose = (uint32_t)le_take(&p, 4);
    r->rows = (uint32_t)le_take(&p, 4);
    present = le_take(&p, 8);
    sum = le_take(&p, 8);
    gradient = le_take(&p, 8);
    take_bytes(&p, r->trail, sizeof r->trail);
    if (present > UINT32_MAX || sum > JOURNAL_FLOATS_MAX || gradient > JOURNAL_FLOATS_MAX - sum ||
        (r->purpose != JOURNAL_TRAIN && gradient > 0))
        return false;
    r->present = (uint32_t)present;
    r->sum_floats = (size_t)sum;
    r->gradient_words = (size_t)gradient;
    return true;
}

void journal_record_seal(struct aead *seals, uint64_t number, uint64_t index,
                         const struct journal_record *r, uint8_t *out)
{
    uint8_t aad[AAD_BYTES], *floats = out + JOURNAL_HEAD_BYTES + AEAD_TAG_BYTES, *p = floats;
    struct aead_name name = name_of(aad, number, index, 0);

    CHECK(index < JOURNAL_RECORDS_MAX && r->sum_floats <= JOURNAL_FLOATS_MAX &&
          r->gradient_words <= JOURNAL_FLOATS_MAX - r->sum_floats);
    pack_head(out, r);
    aead_seal(seals, out, JOURNAL_HEAD_BYTES, out + JOURNAL_HEAD_BYTES, &name);
    if (r->sum_floats > 0)
        p = put_bytes(p, r->sum, r->sum_floats * sizeof(float));
    if (r->gradient_words > 0)
        p = put_bytes(p, r->gradient, r->gradient_words * sizeof(float));
    name = name_of(aad, number, index, 1);
    aead_seal(seals, floats, float_bytes(r), p, &name);
}

/* --- reading --- */

static enum status read_at(int fd, uint64_t offset, uint8_t *out, size_t n, struct error *err)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(fd, out + done, n - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_set(err, STATUS_IO, "%s", got < 0 ? strerror(errno) : "became shorter");
        done += (size_t)got;
    }
    return STATUS_OK;
}

enum status journal_room(struct buf *floats, size_t n)
{
    const size_t max = floats->max;

    if (floats->cap < n) {
        secret_buf_deinit(floats);
        buf_init(floats, max);
    }
    floats->len = 0;
    return buf_reserve(floats, n);
}

/* Where a head is unreadable its record's length is unknown.  A machine that lost power can leave
 * blocks of a file without their content: those are zero up to the end.  All else is damage. */
static enum status judge_head(const struct journal_reader *from, enum journal_found *found,
                              struct error *err)
{
    uint8_t some[ZEROS_STEP];
    enum status s = STATUS_OK;

    *found = JOURNAL_TORN;
    for (uint64_t at = from->offset; at < from->size && s == STATUS_OK; at += sizeof some) {
        const uint64_t left = from->size - at;
        const size_t n = left < sizeof some ? (size_t)left : sizeof some;

        s = read_at(from->fd, at, some, n, err);
        for (size_t i = 0; i < n && s == STATUS_OK; i++) {
            if (some[i] != 0) {
                *found = JOURNAL_DAMAGED;
                return STATUS_OK;
            }
        }
    }
    return s;
}

/* The floats of *r, whose head has been read, and their tag. */
static enum status read_floats(struct journal_reader *from, struct journal_record *r,
                               struct buf *floats, enum journal_found *found, struct error *err)
{
    const uint64_t at = from->offset + JOURNAL_HEAD_BYTES + AEAD_TAG_BYTES;
    const size_t n = float_bytes(r);
    uint8_t aad[AAD_BYTES];
    const struct aead_name name = name_of(aad, from->number, from->index, 1);
    enum status s = journal_room(floats, n + AEAD_TAG_BYTES);

    if (s != STATUS_OK)
        return error_set(err, s, "a record of %zu bytes: %s", n, status_words(s));
    s = read_at(from->fd, at, floats->data, n + AEAD_TAG_BYTES, err);
    if (s != STATUS_OK)
        return s;
    if (!aead_open(from->opens, floats->data, floats->data, n, floats->data + n, &name)) {
        *found = at + n + AEAD_TAG_BYTES == from->size ? JOURNAL_TORN : JOURNAL_DAMAGED;
        return STATUS_OK;
    }
    floats->len = n;
    r->sum = (const float *)(const void *)floats->data;
    r->gradient = r->gradient_words > 0 ? (const void *)(r->sum + r->sum_floats) : NULL;
    from->offset = at + n + AEAD_TAG_BYTES;
    from->index++;
    *found = JOURNAL_RECORD;
    return STATUS_OK;
}

enum status journal_reader_next(struct journal_reader *from, struct journal_record *r,
                                struct buf *floats, enum journal_found *found, struct error *err)
{
    const uint64_t left = from->size - from->offset;
    uint8_t aad[AAD_BYTES], head[JOURNAL_HEAD_BYTES + AEAD_TAG_BYTES];
    const struct aead_name name = name_of(aad, from->number, from->index, 0);
    enum status s;

    *found = left == 0 ? JOURNAL_END : JOURNAL_TORN;
    if (left < sizeof head)
        return STATUS_OK;
    s = read_at(from->fd, from->offset, head, sizeof head, err);
    if (s != STATUS_OK)
        return s;
    if (!aead_open(from->opens, head, head, JOURNAL_HEAD_BYTES, head + JOURNAL_HEAD_BYTES, &name))
        return judge_head(from, found, err);
    if (!unpack_head(r, head)) {
        *found = JOURNAL_DAMAGED;
        return STATUS_OK;
    }
    if (journal_record_bytes(r) > left)
        return STATUS_OK;
    return read_floats(from, r, floats, found, err);
}
