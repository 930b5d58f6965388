/* journal_load.c -- is all of it there, and is it what was written?
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/journal_load.h"

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/daemon/journal_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_PARTS = 16 };

enum status journal_load_room(struct journal *j)
{
    const size_t cap = j->cap == 0 ? FIRST_PARTS : 2 * j->cap, size = sizeof *j->parts;
    struct journal_part *grown;

    if (j->n < j->cap)
        return STATUS_OK;
    grown = mem_grow(j->parts, j->cap * size, cap * size);
    if (grown == NULL)
        return STATUS_MEMORY;
    j->parts = grown;
    j->cap = cap;
    return STATUS_OK;
}

void journal_load_note(struct journal *j, struct journal_part *in, const struct journal_record *r,
                       uint64_t offset)
{
    const uint64_t index = in->records++;

    if (r->purpose == JOURNAL_TRAIN) {
        struct journal_step step = {in->head.number, offset, index, r->gradient_words, {0}};

        memcpy(step.trail, r->trail, sizeof step.trail);
        journal_line_add(&j->line, r->place, &step);
        in->end_step = r->place + 1;
        in->evaluates = false;
    } else {
        in->evaluates = true;
    }
}

/* --- one segment --- */

static bool read_header(int fd, uint8_t header[JOURNAL_HEADER_BYTES], uint64_t *size)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return false;
    *size = (uint64_t)st.st_size;
    return pread(fd, header, JOURNAL_HEADER_BYTES, 0) == JOURNAL_HEADER_BYTES;
}

/* The caller closes from->fd, which is -1 after a failure. */
static enum status open_segment(struct journal *j, uint64_t number, struct journal_reader *from,
                                struct journal_segment *head, struct error *err)
{
    uint8_t header[JOURNAL_HEADER_BYTES], key[AEAD_KEY_BYTES];
    char path[PATH_MAX];
    enum status s = STATUS_INTEGRITY;

    journal_files_path(path, j->state, number);
    *from = (struct journal_reader){
        .opens = &j->opens, .number = number, .offset = JOURNAL_HEADER_BYTES};
    if (file_open_own(&from->fd, path, O_RDONLY, 0, err) != STATUS_OK)
        return STATUS_IO;
    if (read_header(from->fd, header, &from->size))
        s = journal_segment_parse(head, j->state_key, header, key);
    if (s == STATUS_OK) {
        aead_rekey(&j->opens, key);
        secret_wipe(key, sizeof key);
        return STATUS_OK;
    }
    close(from->fd);
    from->fd = -1;
    if (s != STATUS_INTEGRITY)
        return error_set(err, s, "%s: %s", path, status_words(s));
    /* Where another segment could be opened, the key is the right one. */
    return j->n > 0 ? error_set(err, STATUS_IO, "%s: damaged", path)
                    : error_set(err, STATUS_CONFIG,
                                "%s: damaged, or not sealed with this state_key", path);
}

static enum status damaged(const struct journal *j, const struct journal_reader *from,
                           struct error *err)
{
    char path[PATH_MAX];

    journal_files_path(path, j->state, from->number);
    return error_set(err, STATUS_IO, "%s: record %" PRIu64 ", at byte %" PRIu64 ", is damaged",
                     path, from->index, from->offset);
}

/* Damage is a fault already; a torn record is the caller's to judge. */
static enum status next_record(struct journal *j, struct journal_reader *from,
                               struct journal_record *r, enum journal_found *found,
                               struct error *err)
{
    enum status s = journal_reader_next(from, r, &j->bytes, found, err);
    char path[PATH_MAX];

    if (s == STATUS_OK && *found == JOURNAL_DAMAGED)
        return damaged(j, from, err);
    if (s != STATUS_OK) {
        journal_files_path(path, j->state, from->number);
        error_wrap(err, "%s", path);
    }
    return s;
}

/* --- all of them --- */

/* Is this the journal's next segment? */
static enum status check_header(struct journal *j, const struct journal_segment *head,
                                uint64_t number, struct error *err)
{
    const struct journal_part *before = j->n > 0 ? &j->parts[j->n - 1] : NULL;
    char path[PATH_MAX];

    journal_files_path(path, j->state, number);
    if (!secret_equal(head->label, j->label, sizeof j->label))
        return error_set(err, STATUS_CONFIG, "%s: of a run of another plan", path);
    if (head->number != number)
        return error_set(err, STATUS_IO, "%s: this is segment %" PRIu64 " under another name", path,
                         head->number);
    if (before == NULL) {
        j->line.first = head->first_step;
        j->line.trail_known = head->trail_known;
        memcpy(j->line.trail, head->trail, sizeof j->line.trail);
        return STATUS_OK;
    }
    if (!secret_equal(head->before_check, before->head.check, sizeof head->before_check))
        return error_set(err, STATUS_IO, "%s: does not follow the segment before it", path);
    if (head->before_records != before->records)
        return error_set(err, STATUS_IO,
                         "%s: the segment before it has %" PRIu64 " records, of %" PRIu64, path,
                         before->records, head->before_records);
    return STATUS_OK;
}

/* All records up to the end, which *found describes. */
static enum status load_records(struct journal *j, struct journal_part *into,
                                struct journal_reader *from, enum journal_found *found,
                                struct error *err)
{
    for (;;) {
        const uint64_t offset = from->offset;
        struct journal_record r;
        enum status s = next_record(j, from, &r, found, err);

        if (s != STATUS_OK || *found != JOURNAL_RECORD)
            return s;
        if (r.purpose == JOURNAL_TRAIN && r.place > journal_line_next(&j->line))
            return error_set(err, STATUS_IO,
                             "%s: journal: training step %" PRIu64 " stands where %" PRIu64
                             " should",
                             j->state, r.place, journal_line_next(&j->line));
        s = journal_line_room(&j->line);
        if (s != STATUS_OK)
            return error_set(err, s, "journal: %s", status_words(s));
        journal_load_note(j, into, &r, offset);
    }
}

static enum status load(struct journal *j, uint64_t number, bool last, struct error *err)
{
    struct journal_part loaded = {0};
    struct journal_reader from;
    enum journal_found found = JOURNAL_END;
    enum status s = journal_load_room(j);

    if (s != STATUS_OK)
        return error_set(err, s, "journal: %s", status_words(s));
    s = open_segment(j, number, &from, &loaded.head, err);
    if (s != STATUS_OK)
        return s;
    s = check_header(j, &loaded.head, number, err);
    loaded.end_step = loaded.head.first_step;
    if (s == STATUS_OK)
        s = load_records(j, &loaded, &from, &found, err);
    if (s == STATUS_OK && found == JOURNAL_TORN && !last)
        s = damaged(j, &from, err);
    if (s == STATUS_OK && found == JOURNAL_TORN)
        log_warn("journal: segment %" PRIu64 " ends in the midst of record %" PRIu64
                 ", which counts as never written: %" PRIu64 " bytes",
                 number, from.index, from.size - from.offset);
    close(from.fd);
    j->size = from.offset;
    j->parts[j->n++] = loaded;
    return s;
}

/* Does the journal go with a checkpoint after which first_step comes? */
static enum status check_reach(const struct journal *j, uint64_t first_step, struct error *err)
{
    const uint64_t first = j->line.first, next = journal_line_next(&j->line);

    if (first_step < first)
        return error_set(err, STATUS_IO,
                         "%s: the checkpoint (next step %" PRIu64
                         ") is older than the journal, which begins at step %" PRIu64,
                         j->state, first_step, first);
    if (first_step > next)
        return error_set(err, STATUS_IO,
                         "%s: the checkpoint (next step %" PRIu64
                         ") is newer than the journal, which ends before step %" PRIu64
                         ": records are missing",
                         j->state, first_step, next);
    return STATUS_OK;
}

enum status journal_load_all(struct journal *j, uint64_t first_step, struct error *err)
{
    uint64_t first, count;
    enum status s = journal_files_list(j->state, &first, &count, err);

    for (uint64_t i = 0; s == STATUS_OK && i < count; i++)
        s = load(j, first + i, i + 1 == count, err);
    if (s != STATUS_OK)
        return s;
    if (count > 0)
        return check_reach(j, first_step, err);
    if (first_step > 0)
        log_warn("no journal: gradients before step %" PRIu64 " are not held", first_step);
    j->line.first = first_step;
    return STATUS_OK;
}

/* --- one of them, later --- */

enum status journal_load_again(struct journal *j, const struct journal_part *p,
                               struct journal_reader *from, struct error *err)
{
    struct journal_segment head;
    enum status s = open_segment(j, p->head.number, from, &head, err);

    if (s != STATUS_OK || secret_equal(head.check, p->head.check, sizeof head.check))
        return s;
    close(from->fd);
    from->fd = -1;
    return error_set(err, STATUS_IO, "%s: journal: segment %" PRIu64 " was exchanged", j->state,
                     p->head.number);
}

enum status journal_load_record(struct journal *j, struct journal_reader *from,
                                struct journal_record *r, struct error *err)
{
    enum journal_found found = JOURNAL_END;
    enum status s = next_record(j, from, r, &found, err);

    return s == STATUS_OK && found != JOURNAL_RECORD ? damaged(j, from, err) : s;
}
