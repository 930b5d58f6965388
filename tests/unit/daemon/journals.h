/* journals.h -- small journals for the tests of this room; a helper that fails ends the test.
 *
 * All that is in a record follows from its purpose, its place and a variant (its round), so that a
 * reader can tell a right record from a wrong one.  What is read is noted as a line of text:
 * "t3.0" is training step 3, variant 0, "e5.1" the evaluation of row 5, variant 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_DAEMON_JOURNALS_H
#define COLONNADE_TESTS_DAEMON_JOURNALS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/daemon/journal.h"
#include "common/daemon/journal_files.h"

enum { SUM_FLOATS = 2, GRADIENT_FLOATS = 3, LINE_BYTES = 4096, FILES_MAX = 16 };

static char dir[64], key_path[96];
static const uint8_t plan_label[JOURNAL_LABEL_BYTES] = "the digest of a plan";

static inline struct journal_place here(void)
{
    return (struct journal_place){dir, key_path};
}

static inline void put_key(const char *hex)
{
    struct error err = {0};

    assert_int_equal(file_write_atomic(key_path, hex, strlen(hex), 0600, &err), STATUS_OK);
}

static const char first_key[] =
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";

static inline int set_up(void **state)
{
    (void)state;
    log_init("test", LOG_LEVEL_ERROR, false);
    /* In memory where there is such a place: each segment that begins waits for the disk. */
    snprintf(dir, sizeof dir, "%s/colonnade-journal.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(key_path, sizeof key_path, "%s/state.key", dir);
    put_key(first_key);
    return 0;
}

static inline int tear_down(void **state)
{
    struct journal_place at = here();

    (void)state;
    if (journal_remove(&at, NULL) != STATUS_OK)
        return -1;
    unlink(key_path);
    return rmdir(dir); /* and nothing else was there */
}

/* --- writing --- */

static inline struct journal *open_journal(uint64_t first_step)
{
    struct journal_place at = here();
    struct error err = {0};
    struct journal *j;

    if (journal_open(&j, &at, plan_label, first_step, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return j;
}

/* floats[SUM_FLOATS + GRADIENT_FLOATS]. */
static inline struct journal_record sample(float *floats, uint32_t purpose, uint64_t place,
                                           uint64_t variant)
{
    struct journal_record r = {
        .purpose = purpose,
        .round = variant,
        .place = place,
        .sweep = purpose * 100 + place,
        .generation = 7 + variant,
        .rows = 64,
        .present = (uint32_t)(place % 5),
        .sum = floats,
        .sum_floats = SUM_FLOATS,
    };

    for (int i = 0; i < SUM_FLOATS + GRADIENT_FLOATS; i++)
        floats[i] = (float)(place * 100 + variant * 10) + (float)i + 0.25F * (float)purpose;
    if (purpose == JOURNAL_TRAIN) {
        r.gradient = floats + SUM_FLOATS;
        r.gradient_words = GRADIENT_FLOATS;
    }
    memset(r.trail, (int)(place * 16 + variant + purpose), sizeof r.trail);
    return r;
}

static inline enum status append(struct journal *j, uint32_t purpose, uint64_t place,
                                 uint64_t variant, struct error *err)
{
    float floats[SUM_FLOATS + GRADIENT_FLOATS];
    struct journal_record r = sample(floats, purpose, place, variant);

    return journal_append(j, &r, err);
}

static inline void train(struct journal *j, uint64_t step, uint64_t variant)
{
    struct error err = {0};

    if (append(j, JOURNAL_TRAIN, step, variant, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static inline void evaluate(struct journal *j, uint64_t row, uint64_t variant)
{
    struct error err = {0};

    if (append(j, 1, row, variant, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static inline void turn(struct journal *j, uint64_t step)
{
    struct error err = {0};

    if (journal_turn(j, step, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* --- reading --- */

static inline bool same_record(const struct journal_record *r)
{
    float floats[SUM_FLOATS + GRADIENT_FLOATS];
    struct journal_record want = sample(floats, r->purpose, r->place, r->round);

    return r->sweep == want.sweep && r->generation == want.generation && r->rows == want.rows &&
           r->present == want.present && memcmp(r->trail, want.trail, sizeof r->trail) == 0 &&
           r->sum_floats == want.sum_floats && r->gradient_words == want.gradient_words &&
           memcmp(r->sum, want.sum, r->sum_floats * sizeof(float)) == 0 &&
           (r->gradient_words > 0) == (r->gradient != NULL) &&
           (r->gradient == NULL ||
            memcmp(r->gradient, want.gradient, r->gradient_words * sizeof(float)) == 0);
}

static inline enum status note_record(void *owner, const struct journal_record *r)
{
    char *line = owner;
    size_t n = strlen(line);

    if (!same_record(r))
        snprintf(line + n, LINE_BYTES - n, "%swrong", n == 0 ? "" : " ");
    else
        snprintf(line + n, LINE_BYTES - n, "%s%c%" PRIu64 ".%" PRIu64, n == 0 ? "" : " ",
                 r->purpose == JOURNAL_TRAIN ? 't' : 'e', r->place, r->round);
    return STATUS_OK;
}

/* What the journal holds from a step on, in one of two buffers that take turns. */
static inline const char *line_from(struct journal *j, uint64_t step)
{
    static char lines[2][LINE_BYTES];
    static unsigned turns;
    char *line = lines[turns++ % 2];
    struct error err = {0};

    line[0] = 0;
    if (journal_read(j, step, note_record, line, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return line;
}

/* --- files --- */

static inline char *segment_path(uint64_t number)
{
    static char path[PATH_MAX];

    journal_files_path(path, dir, number);
    return path;
}

static inline int segments_there(void)
{
    uint64_t first, count;
    struct error err = {0};

    assert_int_equal(journal_files_list(dir, &first, &count, &err), STATUS_OK);
    return (int)count;
}

static inline struct journal *open_again(struct journal *j, uint64_t first_step)
{
    journal_close(j);
    return open_journal(first_step);
}

/* -1: not held. */
static inline int trail_after(const struct journal *j, uint64_t steps)
{
    uint8_t trail[JOURNAL_TRAIL_BYTES];

    return journal_trail(j, steps, trail) ? trail[0] : -1;
}

struct saved_file {
    size_t n;
    uint8_t bytes[4096];
};

/* false when it is not there. */
static inline bool save_segment(struct saved_file *f, uint64_t number)
{
    int fd = open(segment_path(number), O_RDONLY);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, f->bytes, sizeof f->bytes);
    assert_true(n >= 0 && n < (ssize_t)sizeof f->bytes);
    f->n = (size_t)n;
    close(fd);
    return true;
}

static inline void put_segment(uint64_t number, const void *bytes, size_t n)
{
    int fd = open(segment_path(number), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

/* Segments 1 ... count, and no other. */
static inline void put_all(const struct saved_file *files, uint64_t count)
{
    for (uint64_t i = 0; i < FILES_MAX; i++) {
        if (i < count)
            put_segment(i + 1, files[i].bytes, files[i].n);
        else
            unlink(segment_path(i + 1));
    }
}

#endif
