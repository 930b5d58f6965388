/* fuzz_journal.c -- a segment of the journal in hands that may or may not have its key.
 *
 * The first byte chooses: 0, the rest is a file; 1, the rest is sealed as a record (a head, then
 * floats) by one who has the key, so that the reader sees any numbers behind a right tag; 2, the
 * rest changes a segment of three records: a length to cut it to, then places and what to change
 * there.  Laws: nothing is read past the end, a record's lengths are those of the file, and what
 * was changed is not read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/crypto/digest.h"
#include "common/daemon/journal_segment.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NUMBER = 5, RECORDS = 3, FILE_MAX = 1 << 16, FLOATS = 4 };

/* A file in memory, read as a segment. */
struct segment_file {
    uint8_t bytes[FILE_MAX], key[AEAD_KEY_BYTES];
    size_t n;
    uint64_t number;
};

static const float sums[FLOATS] = {0.5F, -1.0F, 2e9F, 0.0F};

static struct journal_record sample(uint64_t i)
{
    return (struct journal_record){.purpose = i == 1 ? 1 : JOURNAL_TRAIN,
                                   .round = i,
                                   .place = i,
                                   .rows = 2,
                                   .present = 3,
                                   .sum = sums,
                                   .sum_floats = FLOATS,
                                   .gradient = sums + 1,
                                   .gradient_words = i == 1 ? 0 : 2};
}

/* How many records can be read; all are whole, and with `samples` they are these. */
static uint64_t read_all(const struct segment_file *f, bool samples)
{
    int fd = memfd_create("segment", MFD_CLOEXEC);
    struct aead opens;
    struct journal_reader from = {&opens, fd, f->number, f->n, JOURNAL_HEADER_BYTES, 0};
    enum journal_found found = JOURNAL_RECORD;
    struct buf floats;
    struct error err;

    CHECK(fd >= 0 && write(fd, f->bytes, f->n) == (ssize_t)f->n);
    CHECK(aead_init(&opens, false, f->key) == STATUS_OK);
    buf_init(&floats, FILE_MAX);
    while (found == JOURNAL_RECORD) {
        const uint64_t index = from.index, offset = from.offset;
        struct journal_record r;

        CHECK(journal_reader_next(&from, &r, &floats, &found, &err) == STATUS_OK);
        CHECK(from.offset <= f->n);
        if (found != JOURNAL_RECORD) {
            CHECK(from.offset == offset && from.index == index);
            continue;
        }
        CHECK(from.offset == offset + journal_record_bytes(&r));
        CHECK((r.gradient != NULL) == (r.gradient_words > 0));
        CHECK(r.gradient == NULL || r.purpose == JOURNAL_TRAIN);
        if (samples) {
            const struct journal_record want = sample(index);

            CHECK(r.place == want.place && r.sum_floats == FLOATS && r.present == want.present);
            CHECK(memcmp(r.sum, want.sum, sizeof sums) == 0);
        }
    }
    CHECK((found == JOURNAL_END) == (from.offset == f->n));
    buf_deinit(&floats);
    aead_deinit(&opens);
    close(fd);
    return from.index;
}

static void try_file(struct segment_file *f, const uint8_t *data, size_t size)
{
    uint8_t state_key[SEALED_KEY_BYTES];
    struct journal_segment head;

    digest_sha256(state_key, "state key", 9);
    if (size < JOURNAL_HEADER_BYTES)
        return;
    memcpy(f->bytes, data, size);
    f->n = size;
    if (journal_segment_parse(&head, state_key, f->bytes, f->key) != STATUS_OK)
        return;
    f->number = head.number;
    read_all(f, false);
}

static void try_numbers(struct segment_file *f, const uint8_t *data, size_t size)
{
    uint8_t aad[16] = {NUMBER}, *head = f->bytes + JOURNAL_HEADER_BYTES, *floats, *end;
    struct aead_name name = {.aad = aad, .aad_n = sizeof aad};
    struct aead seals;

    if (size < JOURNAL_HEAD_BYTES)
        return;
    floats = head + JOURNAL_HEAD_BYTES + AEAD_TAG_BYTES;
    end = floats + (size - JOURNAL_HEAD_BYTES);
    memcpy(head, data, JOURNAL_HEAD_BYTES);
    memcpy(floats, data + JOURNAL_HEAD_BYTES, size - JOURNAL_HEAD_BYTES);
    CHECK(aead_init(&seals, true, f->key) == STATUS_OK);
    aead_seal(&seals, head, JOURNAL_HEAD_BYTES, head + JOURNAL_HEAD_BYTES, &name);
    name.nonce[0] = 1;
    aead_seal(&seals, floats, size - JOURNAL_HEAD_BYTES, end, &name);
    aead_deinit(&seals);
    f->number = NUMBER;
    f->n = (size_t)(end - f->bytes) + AEAD_TAG_BYTES;
    CHECK(read_all(f, false) <= 1);
}

static void seal_samples(struct segment_file *f, size_t ends[RECORDS])
{
    struct aead seals;

    f->number = NUMBER;
    f->n = JOURNAL_HEADER_BYTES;
    CHECK(aead_init(&seals, true, f->key) == STATUS_OK);
    for (uint64_t i = 0; i < RECORDS; i++) {
        const struct journal_record r = sample(i);

        journal_record_seal(&seals, NUMBER, i, &r, f->bytes + f->n);
        f->n += journal_record_bytes(&r);
        ends[i] = f->n;
    }
    aead_deinit(&seals);
}

static void try_changes(struct segment_file *f, const uint8_t *data, size_t size)
{
    static struct segment_file untouched;
    size_t ends[RECORDS], same = JOURNAL_HEADER_BYTES;
    uint64_t whole = 0;

    seal_samples(f, ends);
    untouched = *f;
    if (size >= 2 && data[0] + 256U * data[1] < f->n - JOURNAL_HEADER_BYTES)
        f->n = JOURNAL_HEADER_BYTES + data[0] + 256U * data[1];
    for (size_t i = 2; i + 3 <= size; i += 3) {
        const size_t at = JOURNAL_HEADER_BYTES + data[i] + 256U * data[i + 1];

        if (at < f->n)
            f->bytes[at] ^= data[i + 2];
    }
    /* What is still as it was can be read, and nothing else. */
    while (same < f->n && f->bytes[same] == untouched.bytes[same])
        same++;
    while (whole < RECORDS && ends[whole] <= same)
        whole++;
    CHECK(read_all(f, true) == whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct segment_file f;

    memset(&f, 0, sizeof f);
    if (size == 0 || size > FILE_MAX / 2)
        return 0;
    if (data[0] == 0)
        try_file(&f, data + 1, size - 1);
    else if (data[0] == 1)
        try_numbers(&f, data + 1, size - 1);
    else
        try_changes(&f, data + 1, size - 1);
    return 0;
}
