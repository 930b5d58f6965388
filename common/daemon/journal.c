/* journal.c -- segments: read through at the start, begun, appended to, forgotten.
 *
 * A segment is on the disk (fdatasync) before the next one's header is: whatever the machine loses,
 * only the last segment can have a torn end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/journal.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/daemon/journal_files.h"
#include "common/daemon/journal_load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD_BYTES_MAX = JOURNAL_FLOATS_MAX * sizeof(float) + JOURNAL_RECORD_BYTES_MIN };

static struct journal_part *in_use(const struct journal *j)
{
    return &j->parts[j->n - 1];
}

/* --- beginning a segment --- */

/* `as` has its number and what goes before it. */
static enum status begin(struct journal *j, struct journal_segment as, struct error *err)
{
    uint8_t header[JOURNAL_HEADER_BYTES], key[AEAD_KEY_BYTES];
    char path[PATH_MAX];
    int fd = -1;
    enum status s = journal_load_room(j);

    memcpy(as.label, j->label, sizeof as.label);
    as.first_step = journal_line_next(&j->line);
    as.trail_known = journal_line_trail(&j->line, as.first_step, as.trail);
    if (s == STATUS_OK)
        s = journal_segment_print(&as, j->state_key, header, key);
    if (s != STATUS_OK)
        return error_set(err, s, "journal: %s", status_words(s));
    journal_files_path(path, j->state, as.number);
    s = file_write_atomic(path, header, sizeof header, 0600, err);
    if (s == STATUS_OK)
        s = file_open_own(&fd, path, O_WRONLY | O_APPEND, 0, err);
    if (s == STATUS_OK) {
        if (j->fd >= 0)
            close(j->fd);
        j->fd = fd;
        j->size = JOURNAL_HEADER_BYTES;
        j->parts[j->n++] = (struct journal_part){.head = as, .end_step = as.first_step};
        aead_rekey(&j->seals, key);
    }
    secret_wipe(key, sizeof key);
    return s;
}

/* The segment in use, up to its last whole record, is on the disk; another one takes its place. */
static enum status begin_next(struct journal *j, struct error *err)
{
    const struct journal_part *last = in_use(j);
    struct journal_segment as = {.number = last->head.number + 1, .before_records = last->records};
    char path[PATH_MAX];
    enum status s;

    if (j->n == JOURNAL_SEGMENTS_MAX)
        return error_set(err, STATUS_IO, "%s: more than %d segments of a journal", j->state,
                         JOURNAL_SEGMENTS_MAX);
    if ((j->cut && ftruncate(j->fd, (off_t)j->size) != 0) || fdatasync(j->fd) != 0)
        return error_set(err, STATUS_IO, "%s: journal: %s", j->state, strerror(errno));
    memcpy(as.before_check, last->head.check, sizeof as.before_check);
    s = begin(j, as, err);
    if (s == STATUS_OK) {
        j->cut = false;
        return s;
    }
    /* It may be there, and it counts the records before it: until it is gone there can be no more.
     */
    journal_files_path(path, j->state, as.number);
    if (unlink(path) != 0 && errno != ENOENT)
        j->broken = true;
    return s;
}

/* After what an earlier process has left.  Where that has no record, its place is taken: a server
 * that starts again and again leaves one file. */
static enum status begin_after(struct journal *j, struct error *err)
{
    struct journal_segment as;
    char path[PATH_MAX];
    enum status s;

    if (j->n == 0)
        return begin(j, (struct journal_segment){.number = 1}, err);
    if (in_use(j)->records == 0) {
        as = in_use(j)->head;
        j->n--;
        return begin(j, as, err);
    }
    journal_files_path(path, j->state, in_use(j)->head.number);
    s = file_open_own(&j->fd, path, O_WRONLY, 0, err);
    if (s != STATUS_OK)
        return s;
    j->cut = true;
    return begin_next(j, err);
}

static enum status set_up(struct journal *j, const struct journal_place *at,
                          const uint8_t label[JOURNAL_LABEL_BYTES], struct error *err)
{
    static const uint8_t no_key[AEAD_KEY_BYTES]; /* until there is a segment */
    enum status s;

    j->fd = -1;
    buf_init(&j->bytes, RECORD_BYTES_MAX);
    memcpy(j->label, label, sizeof j->label);
    if (at->state_key[0] == 0)
        return error_set(err, STATUS_CONFIG, "a journal needs a state_key");
    if (strlen(at->state) >= sizeof j->state)
        return error_set(err, STATUS_IO, "path too long: %s", at->state);
    memcpy(j->state, at->state, strlen(at->state) + 1);
    s = sealed_key_load(j->state_key, at->state_key, err);
    if (s != STATUS_OK)
        return s;
    s = aead_init(&j->seals, true, no_key);
    if (s == STATUS_OK)
        s = aead_init(&j->opens, false, no_key);
    return s == STATUS_OK ? s : error_set(err, s, "journal: %s", status_words(s));
}

enum status journal_open(struct journal **out, const struct journal_place *at,
                         const uint8_t label[JOURNAL_LABEL_BYTES], uint64_t first_step,
                         struct error *err)
{
    struct journal *j = secret_alloc(1, sizeof *j);
    enum status s;

    *out = NULL;
    if (j == NULL)
        return error_set(err, STATUS_MEMORY, "journal: %s", status_words(STATUS_MEMORY));
    s = set_up(j, at, label, err);
    if (s == STATUS_OK)
        s = journal_load_all(j, first_step, err);
    if (s == STATUS_OK)
        s = begin_after(j, err);
    if (s == STATUS_OK)
        *out = j;
    else
        journal_close(j);
    return s;
}

void journal_close(struct journal *j)
{
    if (j == NULL)
        return;
    if (j->fd >= 0)
        close(j->fd);
    aead_deinit(&j->seals);
    aead_deinit(&j->opens);
    secret_buf_deinit(&j->bytes);
    journal_line_deinit(&j->line);
    mem_free(j->parts);
    secret_free(j, 1, sizeof *j);
}

enum status journal_remove(const struct journal_place *at, struct error *err)
{
    return journal_files_remove(at->state, err);
}

/* --- appending --- */

static enum status write_record(struct journal *j, size_t n, struct error *err)
{
    ssize_t done;

    do
        done = write(j->fd, j->bytes.data, n);
    while (done < 0 && errno == EINTR);
    if (done == (ssize_t)n) {
        j->size += n;
        return STATUS_OK;
    }
    error_set(err, STATUS_IO, "%s: journal: %s", j->state,
              done < 0 ? strerror(errno) : "only a part of a record could be written");
    /* Tried again before anything follows; until then a reader takes it for a torn end. */
    if (ftruncate(j->fd, (off_t)j->size) != 0)
        log_warn("%s: journal: the part of a record stays: %s", j->state, strerror(errno));
    j->cut = true;
    return STATUS_IO;
}

enum status journal_append(struct journal *j, const struct journal_record *r, struct error *err)
{
    const bool trains = r->purpose == JOURNAL_TRAIN;
    enum status s = STATUS_OK;

    CHECK(trains || r->gradient_words == 0);
    CHECK(!trains || r->place <= journal_line_next(&j->line));
    if (r->sum_floats > JOURNAL_FLOATS_MAX ||
        r->gradient_words > JOURNAL_FLOATS_MAX - r->sum_floats)
        return error_set(err, STATUS_CONFIG, "a round of %zu + %zu floats is too large to journal",
                         r->sum_floats, r->gradient_words);
    if (j->broken)
        return error_set(err, STATUS_IO, "%s: journal: an earlier failure left it unusable",
                         j->state);
    if (j->cut || in_use(j)->records == JOURNAL_RECORDS_MAX)
        s = begin_next(j, err);
    if (s != STATUS_OK)
        return s;
    s = journal_line_room(&j->line);
    if (s == STATUS_OK)
        s = journal_room(&j->bytes, journal_record_bytes(r));
    if (s != STATUS_OK)
        return error_set(err, s, "journal: %s", status_words(s));
    journal_record_seal(&j->seals, in_use(j)->head.number, in_use(j)->records, r, j->bytes.data);
    s = write_record(j, journal_record_bytes(r), err);
    if (s == STATUS_OK)
        journal_load_note(j, in_use(j), r, j->size - journal_record_bytes(r));
    return s;
}

enum status journal_turn(struct journal *j, uint64_t step, struct error *err)
{
    CHECK(step == journal_line_next(&j->line));
    if (j->broken)
        return error_set(err, STATUS_IO, "%s: journal: an earlier failure left it unusable",
                         j->state);
    return in_use(j)->records == 0 && !j->cut ? STATUS_OK : begin_next(j, err);
}

void journal_forget(struct journal *j, uint64_t before_step)
{
    size_t gone = 0;

    while (gone + 1 < j->n) {
        const struct journal_part *s = &j->parts[gone];
        char path[PATH_MAX];

        if (s->end_step > before_step || (s->end_step == before_step && s->evaluates))
            break;
        journal_files_path(path, j->state, s->head.number);
        if (unlink(path) != 0 && errno != ENOENT) {
            log_warn("%s: not forgotten: %s", path, strerror(errno));
            break;
        }
        journal_line_forget(&j->line, s->head.number);
        gone++;
    }
    j->n -= gone;
    memmove(j->parts, j->parts + gone, j->n * sizeof *j->parts);
}

/* --- reading --- */

struct delivery {
    uint64_t from_step;
    enum status (*take)(void *owner, const struct journal_record *r);
    void *owner;
};

/* Where a segment begins: does the line still come by there? */
static bool lives_at(const struct journal *j, const struct journal_segment *head)
{
    const uint64_t step = head->first_step;
    const struct journal_step *last = step > 0 ? journal_line_at(&j->line, step - 1) : NULL;

    return last != NULL ? last->segment < head->number : step == j->line.first;
}

static enum status deliver(struct journal *j, const struct journal_part *p,
                           const struct delivery *to, struct error *err)
{
    uint64_t step = p->head.first_step;
    bool live = lives_at(j, &p->head);
    struct journal_reader from;
    enum status s = journal_load_again(j, p, &from, err);

    if (s != STATUS_OK)
        return s;
    while (s == STATUS_OK && from.index < p->records) {
        const uint64_t index = from.index;
        struct journal_record r;

        s = journal_load_record(j, &from, &r, err);
        if (s != STATUS_OK)
            break;
        if (r.purpose == JOURNAL_TRAIN) {
            const struct journal_step *held = journal_line_at(&j->line, r.place);

            live = held != NULL && held->segment == p->head.number && held->index == index;
            step = r.place; /* it belongs to the model before it, ... */
        }
        if (live && step >= to->from_step)
            s = to->take(to->owner, &r);
        if (r.purpose == JOURNAL_TRAIN)
            step = r.place + 1; /* ... what follows to the one after it */
    }
    close(from.fd);
    return s;
}

enum status journal_read(struct journal *j, uint64_t from_step,
                         enum status (*take)(void *owner, const struct journal_record *r),
                         void *owner, struct error *err)
{
    const struct delivery to = {from_step, take, owner};
    enum status s = STATUS_OK;

    if (from_step < j->line.first)
        return error_set(err, STATUS_DATA,
                         "the journal begins at step %" PRIu64 ", not at %" PRIu64, j->line.first,
                         from_step);
    for (size_t i = 0; s == STATUS_OK && i < j->n; i++) {
        if (j->parts[i].records > 0 && j->parts[i].end_step >= from_step)
            s = deliver(j, &j->parts[i], &to, err);
    }
    return s;
}

/* One held step's gradient, to the end of out. */
static enum status add_gradient(struct journal *j, const struct journal_step *step,
                                struct journal_reader *from, struct buf *out, struct error *err)
{
    struct journal_record r;
    enum status s = STATUS_OK;

    if (from->fd < 0 || from->number != step->segment) {
        if (from->fd >= 0)
            close(from->fd);
        s = journal_load_again(j, &j->parts[step->segment - j->parts[0].head.number], from, err);
    }
    if (s != STATUS_OK)
        return s;
    from->offset = step->offset;
    from->index = step->index;
    s = journal_load_record(j, from, &r, err);
    if (s != STATUS_OK)
        return s;
    s = buf_append(out, r.gradient, r.gradient_words * sizeof(float));
    return s == STATUS_OK ? s : error_set(err, s, "gradients: %s", status_words(s));
}

enum status journal_gradients(struct journal *j, uint64_t step, size_t bytes_max, struct buf *out,
                              uint64_t *steps, struct error *err)
{
    const struct journal_step *at = journal_line_at(&j->line, step);
    struct journal_reader from = {.fd = -1};
    const size_t len = out->len;
    enum status s = STATUS_OK;

    *steps = 0;
    if (at == NULL)
        return error_set(err, STATUS_DATA, "the gradient of step %" PRIu64 " is not held", step);
    for (; at != NULL && s == STATUS_OK; at = journal_line_at(&j->line, step + *steps)) {
        const size_t n = (size_t)at->gradient_words * sizeof(float);

        if (*steps > 0 && (out->len - len > bytes_max || n > bytes_max - (out->len - len)))
            break;
        s = add_gradient(j, at, &from, out, err);
        if (s == STATUS_OK)
            ++*steps;
    }
    if (from.fd >= 0)
        close(from.fd);
    if (s != STATUS_OK) {
        out->len = len;
        *steps = 0;
    }
    return s;
}

bool journal_trail(const struct journal *j, uint64_t steps_applied,
                   uint8_t trail[JOURNAL_TRAIL_BYTES])
{
    return journal_line_trail(&j->line, steps_applied, trail);
}

uint64_t journal_first(const struct journal *j)
{
    return j->line.first;
}

uint64_t journal_next(const struct journal *j)
{
    return journal_line_next(&j->line);
}
