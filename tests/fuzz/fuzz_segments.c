/* fuzz_segments.c -- a journal's folder in other hands: segments changed, cut, lost, exchanged, put
 * in place of others, taken from another journal of the same plan and key.
 *
 * Input: byte 0 the step that the checkpoint says comes next; then deeds: what, to which segments,
 * where (2 bytes), what to add there.
 *
 * Laws: refused in words; or what is read is what was written into one of the two, from the oldest
 * step that is held on, perhaps without an end, and goes on from there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/feed.h"
#include "tests/unit/daemon/journals.h"

enum { STEPS = 6, DEEDS_MAX = 6 };
enum deed { CHANGE, CUT, LOSE, EXCHANGE, COPY, FOREIGN, DEEDS };

/* A journal that was written well, and what is read from each step on. */
static struct journal_sample {
    struct saved_file file[FILES_MAX];
    char from_step[STEPS + 1][LINE_BYTES];
} good, other;
static struct saved_file files[FILES_MAX];
static bool there[FILES_MAX];
static uint64_t count; /* segments of either */

static void leave(void)
{
    CHECK(tear_down(NULL) == 0);
}

/* Evaluations stand where a segment begins: a lost one takes those of its own steps along. */
static void make(struct journal_sample *made, uint64_t variant)
{
    const struct journal_place at = here();
    struct journal *j = open_journal(0);

    train(j, 0, variant);
    train(j, 1, variant);
    turn(j, 2);
    evaluate(j, 5, variant);
    evaluate(j, 6, variant);
    train(j, 2, variant);
    j = open_again(j, 2);
    train(j, 3, variant);
    turn(j, 4);
    evaluate(j, 7, variant);
    train(j, 4, variant);
    train(j, 5, variant);
    for (uint64_t s = 0; s <= STEPS; s++)
        strcpy(made->from_step[s], line_from(j, s));
    journal_close(j);
    for (count = 0; save_segment(&made->file[count], count + 1);)
        count++;
    CHECK(count >= 3 && count < FILES_MAX / 2);
    CHECK(journal_remove(&at, NULL) == STATUS_OK);
}

static void make_both(void)
{
    CHECK(set_up(NULL) == 0);
    atexit(leave);
    make(&good, 0);
    make(&other, 1);
}

static void act(struct feed *f)
{
    const enum deed deed = (enum deed)feed_among(f, CHANGE, DEEDS - 1);
    const uint8_t to = feed_byte(f);
    struct saved_file *a = &files[to % count], *b = &files[to / count % count], kept = *a;
    const size_t at = feed_number(f, 2);

    switch (deed) {
    case CHANGE:
        if (a->n > 0)
            a->bytes[at % a->n] = (uint8_t)(a->bytes[at % a->n] + feed_byte(f));
        break;
    case CUT: a->n = at < a->n ? at : a->n; break;
    case LOSE: there[to % count] = false; break;
    case EXCHANGE: *a = *b, *b = kept; break;
    case COPY: *a = *b; break;
    case FOREIGN:
    case DEEDS: *a = other.file[to % count]; break;
    }
}

static void put_files(void)
{
    for (uint64_t i = 0; i < FILES_MAX; i++) {
        if (i < count && there[i])
            put_segment(i + 1, files[i].bytes, files[i].n);
        else
            unlink(segment_path(i + 1));
    }
}

/* What was read is the beginning of what was written, and a record more is read behind it. */
static void check_read(struct journal *j)
{
    const uint64_t first = journal_first(j), next = journal_next(j);
    const char *line = line_from(j, first);
    char before[LINE_BYTES];

    CHECK(first <= next && (next <= STEPS || line[0] == 0)); /* none at all begins anywhere */
    CHECK(line[0] == 0 || strncmp(line, good.from_step[first], strlen(line)) == 0 ||
          strncmp(line, other.from_step[first], strlen(line)) == 0);
    strcpy(before, line);
    train(j, next, 0);
    line = line_from(j, first);
    CHECK(strncmp(line, before, strlen(before)) == 0 && strlen(line) > strlen(before));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    const struct journal_place at = here();
    struct error err = {0};
    struct journal *j;
    uint64_t first;

    if (count == 0)
        make_both();
    memcpy(files, good.file, sizeof files);
    memset(there, true, sizeof there);
    first = feed_among(&f, 0, STEPS + 1);
    for (int deeds = 0; deeds < DEEDS_MAX && f.left > 0; deeds++)
        act(&f);
    put_files();
    if (journal_open(&j, &at, plan_label, first, &err) != STATUS_OK) {
        CHECK(err.status == STATUS_IO || err.status == STATUS_CONFIG);
        feed_check_words(err.text);
        return 0;
    }
    CHECK(journal_first(j) <= first && first <= journal_next(j));
    check_read(j);
    journal_close(j);
    return 0;
}
