/* answers.c -- lines of answers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/answers.h"

#include "common/base/file.h"
#include "common/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_TRIES = 50, LOCK_EVERY_MS = 20 };

struct answer {
    const char *absent; /* in the file, up to the comma */
    const char *id;     /* behind that, up to the next */
    size_t n;
    const float *score;
};

/* --- the file --- */

static void path_of(char out[PATH_MAX], const char *state, const char *run, const char *file)
{
    snprintf(out, PATH_MAX, "%s/models/%s/%s", state, run, file);
}

/* All whole lines; what a crash has left behind the last one is none. */
static enum status read_lines(struct buf *out, const char *path, struct error *err)
{
    struct stat is;
    enum status s = STATUS_OK;

    out->len = 0;
    if (lstat(path, &is) == 0 || errno != ENOENT)
        s = file_read_own(path, out, err);
    while (s == STATUS_OK && out->len > 0 && out->data[out->len - 1] != '\n')
        out->len--;
    return s;
}

/* A server that serves has it for moments, a job for as long as it takes. */
static enum status lock_of(int *lock, const char *state, const char *run, struct error *err)
{
    char path[PATH_MAX];
    enum status s = STATUS_CONFIG;

    path_of(path, state, run, "answers.lock");
    for (int i = 0; i < LOCK_TRIES && s == STATUS_CONFIG; i++) {
        if (i > 0)
            (void)poll(NULL, 0, LOCK_EVERY_MS);
        *err = (struct error){0};
        s = file_lock(lock, path, err);
    }
    return s;
}

static const char *first_of(const struct buf *b)
{
    return b->len > 0 ? (const char *)b->data : "";
}

static const char *last_of(const struct buf *b)
{
    return first_of(b) + b->len;
}

/* Where the part of a line behind so many commas begins; NULL: it has fewer. */
static const char *part(const char *line, const char *end, int commas)
{
    while (commas > 0 && line != NULL) {
        line = memchr(line, ',', (size_t)(end - line));
        line = line == NULL ? NULL : line + 1;
        commas--;
    }
    return line;
}

/* The id of a line, and how long it is. */
static const char *id_of(const char *line, const char *end, size_t *n)
{
    const char *id = part(line, end, 2), *behind = id == NULL ? NULL : part(id, end, 1);

    *n = behind == NULL ? 0 : (size_t)(behind - 1 - id);
    return behind == NULL ? NULL : id;
}

static const char *line_end(const struct buf *b, const char *line)
{
    return memchr(line, '\n', b->len - (size_t)(line - (const char *)b->data));
}

/* --- reading --- */

void answers_missing(char out[ANSWERS_ABSENT_MAX], const bool *missing, size_t n)
{
    size_t used = 0;

    out[0] = 0;
    for (size_t i = 0; i < n; i++)
        if (missing[i])
            used += (size_t)snprintf(out + used, ANSWERS_ABSENT_MAX - used, "%s%zu",
                                     used > 0 ? "+" : "", i);
}

enum { BEGINS_MAX = ANSWERS_ABSENT_MAX + DIGEST_HEX_CHARS + 32 };

/* How a line of this key begins; its length. */
static int begin_line(char begins[BEGINS_MAX], const struct answers_key *key)
{
    return snprintf(begins, BEGINS_MAX, "%llu%s%s,%s,", (unsigned long long)key->epoch,
                    key->alignment[0] != 0 ? "@" : "", key->alignment, key->absent);
}

/* Is it an answer of this key? */
static bool is_of(const char *line, const char *end, const struct answers_key *key)
{
    char begins[BEGINS_MAX];
    const int n = begin_line(begins, key);

    return end - line > n && memcmp(line, begins, (size_t)n) == 0;
}

static bool read_scores(float *out, uint32_t n, const char *at, const char *end)
{
    for (uint32_t k = 0; k < n; k++) {
        char *behind;

        out[k] = strtof(at, &behind); /* a line end stops it */
        if (behind == at || *behind != (k + 1 < n ? ',' : '\n') || !isfinite(out[k]))
            return false;
        at = behind + 1;
    }
    return at == end + 1;
}

static int by_id(const void *x, const void *y)
{
    const struct answer *a = x, *b = y;
    const int order = memcmp(a->id, b->id, a->n < b->n ? a->n : b->n);

    return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

static void forget_all(struct answers *a)
{
    mem_free(a->answer);
    mem_free(a->scores);
    a->answer = NULL;
    a->scores = NULL;
    a->n = 0;
}

/* Of the key, or of this process. */
static bool is_for(const struct answers *a, const char *line, const char *end)
{
    return line >= first_of(&a->file) + a->opened || is_of(line, end, &a->key);
}

/* a NULL: all. */
static size_t count(const struct buf *b, const struct answers *a)
{
    size_t n = 0;

    for (const char *at = first_of(b), *end; at < last_of(b); at = end + 1) {
        end = line_end(b, at);
        n += a == NULL || is_for(a, at, end);
    }
    return n;
}

static enum status read_answer(const struct answers *a, const char *line, const char *end,
                               struct answer *to, float *score, struct error *err)
{
    to->score = score;
    to->absent = part(line, end, 1);
    to->id = id_of(line, end, &to->n);
    if (to->id != NULL && read_scores(score, a->key.outputs, to->id + to->n + 1, end))
        return STATUS_OK;
    return error_set(err, STATUS_IO, "%s: a line that is no answer of its model", a->path);
}

static enum status read_answers(struct answers *a, struct error *err)
{
    const size_t n = count(&a->file, a);
    enum status s = STATUS_OK;

    forget_all(a);
    a->scores = mem_alloc(n, a->key.outputs * sizeof *a->scores);
    a->answer = mem_alloc(n, sizeof *a->answer);
    if (a->scores == NULL || a->answer == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for %zu kept answers", n);
    for (const char *at = first_of(&a->file), *end; s == STATUS_OK && at < last_of(&a->file);
         at = end + 1) {
        end = line_end(&a->file, at);
        if (!is_for(a, at, end))
            continue;
        s = read_answer(a, at, end, &a->answer[a->n], a->scores + a->n * a->key.outputs, err);
        a->n += s == STATUS_OK;
    }
    qsort(a->answer, a->n, sizeof *a->answer, by_id);
    return s;
}

/* --- of one model --- */

enum status answers_open(struct answers *a, const char *state, const char *run,
                         const struct answers_key *key, struct error *err)
{
    char path[PATH_MAX];
    enum status s = lock_of(&a->lock, state, run, err);

    a->key = *key;
    buf_init(&a->file, ANSWERS_FILE_MAX);
    path_of(path, state, run, "answers");
    a->path = mem_strdup(path);
    if (s == STATUS_OK && a->path == NULL)
        s = error_set(err, STATUS_MEMORY, "no memory for kept answers");
    if (s == STATUS_OK)
        s = read_lines(&a->file, path, err);
    a->opened = a->file.len;
    return s == STATUS_OK ? read_answers(a, err) : s;
}

void answers_close(struct answers *a)
{
    if (a->path != NULL)
        file_unlock(a->lock);
    forget_all(a);
    buf_deinit(&a->file);
    mem_free(a->path);
    a->path = NULL;
}

static const struct answer *find(const struct answers *a, const char *id, size_t n)
{
    const struct answer wanted = {.id = id, .n = n};

    return a->n == 0 ? NULL : bsearch(&wanted, a->answer, a->n, sizeof wanted, by_id);
}

const float *answers_find(const struct answers *a, const char *id, size_t n)
{
    const struct answer *found = find(a, id, n);

    return found == NULL ? NULL : found->score;
}

const char *answers_without(const struct answers *a, const char *id, size_t n, size_t *len)
{
    const struct answer *found = find(a, id, n);

    *len = found == NULL ? 0 : (size_t)(found->id - 1 - found->absent);
    return found == NULL ? "" : found->absent;
}

enum status answers_print(struct buf *out, const struct answers_key *key, const char *id, size_t n,
                          const float *score)
{
    char begins[BEGINS_MAX];
    enum status s;

    (void)begin_line(begins, key);
    s = buf_printf(out, "%s%.*s", begins, (int)n, id);
    for (uint32_t k = 0; k < key->outputs && s == STATUS_OK; k++)
        s = buf_printf(out, ",%.9g", (double)score[k]);
    return s == STATUS_OK ? buf_printf(out, "\n") : s;
}

static enum status append_at(const char *path, const uint8_t *lines, size_t n, size_t from,
                             struct error *err)
{
    int fd;
    enum status s;
    bool bad;

    if (from > ANSWERS_FILE_MAX || n > ANSWERS_FILE_MAX - from) /* nobody would read it again */
        return error_set(err, STATUS_IO, "%s: it is full, at %d bytes: no more are kept", path,
                         (int)ANSWERS_FILE_MAX);
    s = file_open_own(&fd, path, O_WRONLY | O_CREAT, 0600, err);
    if (s != STATUS_OK)
        return s;
    /* Over what a crash has left behind the last whole line. */
    bad = ftruncate(fd, (off_t)from) != 0 || lseek(fd, (off_t)from, SEEK_SET) < 0;
    for (size_t at = 0; !bad && at < n;) {
        const ssize_t put = write(fd, lines + at, n - at);

        bad = put <= 0 && errno != EINTR;
        at += put > 0 ? (size_t)put : 0;
    }
    bad = bad || fsync(fd) != 0;
    bad = close(fd) != 0 || bad;
    return bad ? error_set(err, STATUS_IO, "%s: %s", path, strerror(errno)) : STATUS_OK;
}

void answers_each(const struct answers *a, void *owner,
                  void (*visit)(void *owner, const char *id, size_t n, const float *score))
{
    for (size_t i = 0; i < a->n; i++)
        visit(owner, a->answer[i].id, a->answer[i].n, a->answer[i].score);
}

void answers_stand(const char *state, const char *run, struct answers_file *f)
{
    char path[PATH_MAX];
    struct stat is;

    path_of(path, state, run, "answers");
    *f = (struct answers_file){.there = lstat(path, &is) == 0};
    if (f->there) {
        f->inode = (uint64_t)is.st_ino;
        f->size = (uint64_t)is.st_size;
    }
}

bool answers_same(const struct answers_file *a, const struct answers_file *b)
{
    return a->there == b->there && a->inode == b->inode && a->size == b->size;
}

/* Where whole lines end: seldom is it not where the file does. */
static enum status end_of(const char *path, struct answers_file *was, size_t *end,
                          struct error *err)
{
    struct buf all;
    enum status s;

    buf_init(&all, ANSWERS_FILE_MAX);
    s = read_lines(&all, path, err);
    *end = all.len;
    was->size = all.len;
    buf_deinit(&all);
    return s;
}

enum status answers_append(const char *state, const char *run, const struct buf *lines,
                           struct answers_file *file, struct error *err)
{
    struct answers_file now;
    char path[PATH_MAX];
    size_t end = file->size;
    bool same;
    int lock;
    enum status s = lock_of(&lock, state, run, err);

    if (s != STATUS_OK)
        return s;
    path_of(path, state, run, "answers");
    answers_stand(state, run, &now);
    same = answers_same(&now, file);
    if (!same)
        s = end_of(path, &now, &end, err);
    if (s == STATUS_OK && (!now.there || now.inode == file->inode))
        s = append_at(path, lines->data, lines->len, end, err);
    if (s == STATUS_OK && same)
        answers_stand(state, run, file);
    file_unlock(lock);
    return s;
}

static bool all_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

enum status answers_keep(struct answers *a, const char *ids, const uint32_t *at, uint32_t rows,
                         const float *scores, struct error *err)
{
    const struct answers_rows of_key = {ids, at, rows, scores, a->key.absent};

    return answers_keep_rows(a, &of_key, err);
}

enum status answers_keep_rows(struct answers *a, const struct answers_rows *rows, struct error *err)
{
    const size_t from = a->file.len;
    struct answers_key key = a->key;
    enum status s = STATUS_OK;

    snprintf(key.absent, sizeof key.absent, "%s", rows->absent);
    for (uint32_t i = 0; i < rows->rows && s == STATUS_OK; i++) {
        const float *score = rows->scores + (size_t)i * key.outputs;

        if (all_finite(score, key.outputs))
            s = answers_print(&a->file, &key, rows->ids + rows->at[i],
                              rows->at[i + 1] - rows->at[i] - 1, score);
    }
    s = s == STATUS_OK ? append_at(a->path, a->file.data + from, a->file.len - from, from, err)
                       : error_set(err, s, "%s: %s", a->path, status_words(s));
    if (s != STATUS_OK)
        a->file.len = from;
    return s == STATUS_OK ? read_answers(a, err) : s;
}

/* --- of persons --- */

enum status answers_count(const char *state, const char *run, size_t *n, struct error *err)
{
    char path[PATH_MAX];
    struct buf b;
    enum status s;

    buf_init(&b, ANSWERS_FILE_MAX);
    path_of(path, state, run, "answers");
    s = read_lines(&b, path, err);
    *n = s == STATUS_OK ? count(&b, NULL) : 0;
    buf_deinit(&b);
    return s;
}

static bool goes(const struct answers_goes *whose, const char *line, const char *end)
{
    char alignment[DIGEST_HEX_CHARS + 1] = "";
    size_t n;
    const char *id = id_of(line, end, &n), *at;

    if (id == NULL) /* too few commas, which are what the rest hangs on */
        return false;
    at = line + strcspn(line, "@,");
    if (*at == '@')
        snprintf(alignment, sizeof alignment, "%.*s", (int)strcspn(at + 1, ","), at + 1);
    return whose->goes(whose->owner, alignment, id, n);
}

/* All lines but those that are to go. */
static enum status without(struct buf *out, const struct buf *b, const struct answers_goes *whose,
                           size_t *gone)
{
    enum status s = STATUS_OK;

    *gone = 0;
    for (const char *at = first_of(b), *end; s == STATUS_OK && at < last_of(b); at = end + 1) {
        end = line_end(b, at);
        if (goes(whose, at, end))
            ++*gone;
        else
            s = buf_append(out, at, (size_t)(end + 1 - at));
    }
    return s;
}

enum status answers_forget(const char *state, const char *run, const struct answers_goes *whose,
                           size_t *n, struct error *err)
{
    char path[PATH_MAX];
    struct buf was, left;
    bool there;
    int lock;
    enum status s = lock_of(&lock, state, run, err);

    *n = 0;
    if (s != STATUS_OK)
        return s;
    buf_init(&was, ANSWERS_FILE_MAX);
    buf_init(&left, ANSWERS_FILE_MAX);
    path_of(path, state, run, "answers");
    there = access(path, F_OK) == 0;
    s = read_lines(&was, path, err);
    if (s == STATUS_OK && without(&left, &was, whose, n) != STATUS_OK)
        s = error_set(err, STATUS_MEMORY, "%s: no memory", path);
    /* Also where there is none of it: who has lines to add is to know (answers_append). */
    if (s == STATUS_OK && there)
        s = file_write_atomic(path, left.data, left.len, 0600, err);
    buf_deinit(&was);
    buf_deinit(&left);
    file_unlock(lock);
    return s;
}

enum status answers_remove(const char *state, const char *run, struct error *err)
{
    static const char *const files[] = {"answers", "answers.lock"};
    char path[PATH_MAX];
    int lock;
    enum status s = lock_of(&lock, state, run, err);

    if (s != STATUS_OK)
        return s;
    for (size_t i = 0; i < sizeof files / sizeof *files && s == STATUS_OK; i++) {
        path_of(path, state, run, files[i]);
        if (unlink(path) != 0 && errno != ENOENT)
            s = error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    }
    file_unlock(lock);
    return s;
}
