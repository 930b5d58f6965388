/* models.c -- folders of packages.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/models.h"

#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/log.h"
#include "common/daemon/answers.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_DIGITS = 16, SERVED_MAX = MODELS_MAX * (PACKAGE_RUN_MAX + 1) };

static void path_of(char out[PATH_MAX], const char *state, const char *run, const char *file)
{
    snprintf(out, PATH_MAX, "%s/models/%s%s%s", state, run, file[0] != 0 ? "/" : "", file);
}

static bool there_is(const char *path)
{
    struct stat is;

    return lstat(path, &is) == 0 || errno != ENOENT;
}

bool models_name(const char *run)
{
    const size_t n = strlen(run);

    return n > 0 && n <= PACKAGE_RUN_MAX && strcmp(run, "served") != 0 &&
           strspn(run, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

const char *models_asked(const char *run)
{
    return strcmp(run, "served") == 0 ? "" : run;
}

/* --- which is in use --- */

/* The file, or nothing where there is none. */
static enum status read_served(const char *state, struct buf *out, struct error *err)
{
    char path[PATH_MAX];

    path_of(path, state, "served", "");
    return there_is(path) ? file_read_own(path, out, err) : STATUS_OK;
}

static enum status write_served(const char *state, const struct buf *b, struct error *err)
{
    char path[PATH_MAX];

    path_of(path, state, "served", "");
    return file_write_atomic(path, b->data, b->len, 0600, err);
}

/* The last line without its end into run, and where it begins; "" when there is none. */
static size_t last_line(const struct buf *b, char run[PACKAGE_RUN_MAX + 1])
{
    size_t end = b->len, at;

    if (end > 0 && b->data[end - 1] == '\n')
        end--;
    for (at = end; at > 0 && b->data[at - 1] != '\n';)
        at--;
    snprintf(run, PACKAGE_RUN_MAX + 1, "%.*s", (int)(end - at),
             end > at ? (char *)b->data + at : "");
    return at;
}

/* Room for one line more, where there is none. */
static void forget_the_oldest(struct buf *b)
{
    while (b->len + PACKAGE_RUN_MAX + 1 > SERVED_MAX) {
        const uint8_t *end = memchr(b->data, '\n', b->len);
        const size_t gone = end == NULL ? b->len : (size_t)(end - b->data) + 1;

        memmove(b->data, b->data + gone, b->len - gone);
        b->len -= gone;
    }
}

enum status models_use(const char *state, const char *run, struct error *err)
{
    char last[PACKAGE_RUN_MAX + 1];
    struct buf b;
    enum status s;

    buf_init(&b, SERVED_MAX);
    s = read_served(state, &b, err);
    if (s == STATUS_OK) {
        last_line(&b, last);
        if (strcmp(last, run) != 0) {
            forget_the_oldest(&b);
            s = buf_printf(&b, "%s\n", run);
            s = s == STATUS_OK ? write_served(state, &b, err)
                               : error_set(err, s, "models/served: %s", status_words(s));
        }
    }
    buf_deinit(&b);
    return s;
}

enum status models_served(const char *state, char run[PACKAGE_RUN_MAX + 1], struct error *err)
{
    struct buf b;
    enum status s;

    buf_init(&b, SERVED_MAX);
    run[0] = 0;
    s = read_served(state, &b, err);
    if (s == STATUS_OK)
        last_line(&b, run);
    if (s == STATUS_OK && run[0] != 0 && !models_name(run))
        s = error_set(err, STATUS_IO, "%s/models/served: its last line names no run", state);
    buf_deinit(&b);
    return s;
}

/* Past those that were removed since; the last one is in `run` then, "" where there is none. */
static void skip_what_is_gone(const char *state, struct buf *b, char run[PACKAGE_RUN_MAX + 1])
{
    char path[PATH_MAX];

    for (size_t at = last_line(b, run); b->len > 0; at = last_line(b, run)) {
        path_of(path, state, run, "model.safetensors");
        if (models_name(run) && there_is(path))
            return;
        b->len = at;
    }
}

/* What is about to go is not in use: the one before it is, if there was one. */
static enum status out_of_use(const char *state, const char *run, struct error *err)
{
    char last[PACKAGE_RUN_MAX + 1];
    struct buf b;
    size_t at;
    enum status s;

    buf_init(&b, SERVED_MAX);
    s = read_served(state, &b, err);
    at = last_line(&b, last);
    if (s == STATUS_OK && strcmp(last, run) == 0) {
        b.len = at;
        skip_what_is_gone(state, &b, last);
        s = write_served(state, &b, err);
    }
    buf_deinit(&b);
    return s;
}

enum status models_rollback(const char *state, char run[PACKAGE_RUN_MAX + 1], struct error *err)
{
    struct buf b;
    enum status s;

    buf_init(&b, SERVED_MAX);
    run[0] = 0;
    s = read_served(state, &b, err);
    if (s == STATUS_OK) {
        b.len = last_line(&b, run);
        skip_what_is_gone(state, &b, run);
        s = b.len > 0 ? write_served(state, &b, err)
                      : error_set(err, STATUS_CONFIG,
                                  "%s/models: no model was in use before this one", state);
    }
    buf_deinit(&b);
    return s;
}

/* --- packages --- */

/* The run of a package that has this file beside it is not over. */
static void mark_of(char out[PATH_MAX], const char *state, const char *run)
{
    path_of(out, state, run, "open");
}

static enum status unmark(const char *state, const char *run, struct error *err)
{
    char path[PATH_MAX];

    mark_of(path, state, run);
    return unlink(path) == 0 || errno == ENOENT
               ? STATUS_OK
               : error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
}

static enum status write_package(const char *state, const char *run, const struct buf *package,
                                 struct error *err)
{
    char path[PATH_MAX];

    path_of(path, state, run, "model.safetensors");
    return file_write_atomic(path, package->data, package->len, 0600, err);
}

/* The mark comes first: a package that a power cut leaves without it would stay for good. */
static enum status write_new(const char *state, const char *run, const struct buf *package,
                             bool over, struct error *err)
{
    char path[PATH_MAX];
    enum status s = STATUS_OK;

    mark_of(path, state, run);
    if (!over)
        s = file_write_atomic(path, "", 0, 0600, err);
    return s == STATUS_OK ? write_package(state, run, package, err) : s;
}

/* Is what is there another one? */
static enum status differs(const char *state, const char *run, const struct buf *package, bool *yes,
                           struct error *err)
{
    char path[PATH_MAX];
    struct buf there;
    enum status s;

    path_of(path, state, run, "model.safetensors");
    buf_init(&there, SIZE_MAX);
    s = file_read_own(path, &there, err);
    *yes = s == STATUS_OK &&
           (there.len != package->len || memcmp(there.data, package->data, there.len) != 0);
    buf_deinit(&there);
    return s;
}

static enum status keep_as(const char *state, const char *run, const struct buf *package, bool over,
                           bool *taken, struct error *err)
{
    char path[PATH_MAX];
    enum status s;

    path_of(path, state, run, "");
    s = folder_make(path, err);
    path_of(path, state, run, "model.safetensors");
    *taken = false;
    if (s != STATUS_OK)
        return s;
    return there_is(path) ? differs(state, run, package, taken, err)
                          : write_new(state, run, package, over, err);
}

/* Of the k-th run of a plan. */
static void name_of(char run[PACKAGE_RUN_MAX + 1], const char *plan_hex, unsigned k)
{
    snprintf(run, PACKAGE_RUN_MAX + 1, k > 1 ? "%.*s-%u" : "%.*s", NAME_DIGITS, plan_hex, k);
}

/* Where the model of this run is. */
static enum status find_model(const char *state, const char *run, char path[PATH_MAX],
                              struct error *err)
{
    path_of(path, state, models_name(run) ? run : "no-such-name", "model.safetensors");
    if (models_name(run) && there_is(path))
        return STATUS_OK;
    return error_set(err, STATUS_CONFIG, "%s/models: there is no model of run %.40s", state, run);
}

enum status models_load(const char *state, const char *run, struct package *p, struct error *err)
{
    char served[PACKAGE_RUN_MAX + 1], path[PATH_MAX];
    enum status s = STATUS_OK;

    if (run[0] == 0) {
        s = models_served(state, served, err);
        if (s == STATUS_OK && served[0] == 0)
            s = error_set(err, STATUS_CONFIG, "%s/models: no model is in use", state);
        run = served;
    }
    if (s == STATUS_OK)
        s = find_model(state, run, path, err);
    if (s == STATUS_OK)
        s = package_load(p, path, err);
    if (s == STATUS_OK && strcmp(p->run, run) != 0)
        s = error_set(err, STATUS_DATA, "%s: it is the model of run %s", path, p->run);
    return s;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

enum status models_list(const char *state, char (*runs)[PACKAGE_RUN_MAX + 1], size_t max, size_t *n,
                        struct error *err)
{
    char path[PATH_MAX];
    DIR *d;

    *n = 0;
    snprintf(path, sizeof path, "%s/models", state);
    d = opendir(path);
    if (d == NULL && errno == ENOENT)
        return STATUS_OK;
    if (d == NULL)
        return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    for (const struct dirent *e; (e = readdir(d)) != NULL && *n < max;) {
        path_of(path, state, models_name(e->d_name) ? e->d_name : "x", "model.safetensors");
        if (models_name(e->d_name) && there_is(path))
            snprintf(runs[(*n)++], sizeof *runs, "%s", e->d_name);
    }
    closedir(d);
    qsort(runs, *n, sizeof *runs, by_name);
    return STATUS_OK;
}

/* Is what is kept as `run` of the run with this trail?  What cannot be read is of none: it keeps
 * nobody from the others. */
static bool is_of(const char *state, const char *run, const uint8_t trail[DIGEST_BYTES])
{
    char path[PATH_MAX];
    struct error err = {0};
    struct package p;
    bool yes;
    enum status s;

    package_init(&p);
    path_of(path, state, run, "model.safetensors");
    s = package_peek(&p, path, &err);
    if (s == STATUS_OK && strcmp(p.run, run) != 0)
        s = error_set(&err, STATUS_DATA, "%s: it is the model of run %s", path, p.run);
    if (s != STATUS_OK)
        log_warn("%s; it is passed over", err.text);
    yes = s == STATUS_OK && memcmp(p.trail, trail, DIGEST_BYTES) == 0;
    package_deinit(&p);
    return yes;
}

/* What this run has kept, and has not ended with. */
static void find_open(const char *state, const struct package *p, const char *plan_hex,
                      char run[PACKAGE_RUN_MAX + 1])
{
    char mark[PATH_MAX], path[PATH_MAX];
    bool found = false;

    for (unsigned k = 1; !found && k <= MODELS_MAX; k++) {
        name_of(run, plan_hex, k);
        mark_of(mark, state, run);
        path_of(path, state, run, "model.safetensors");
        found = there_is(mark) && there_is(path) && is_of(state, run, p->trail);
    }
    if (!found)
        run[0] = 0;
}

/* Under the first name that is free, or has the very same. */
static enum status keep_new(const char *state, struct package *p, const struct nn_net *n,
                            const char *plan_hex, bool over, struct error *err)
{
    struct buf out;
    bool taken = true;
    enum status s = STATUS_OK;

    buf_init(&out, SIZE_MAX);
    for (unsigned k = 1; s == STATUS_OK && taken && k <= MODELS_MAX; k++) {
        name_of(p->run, plan_hex, k);
        s = package_print(p, n, &out, err);
        if (s == STATUS_OK)
            s = keep_as(state, p->run, &out, over, &taken, err);
    }
    buf_deinit(&out);
    if (s == STATUS_OK && taken)
        s = error_set(err, STATUS_LIMIT, "%s/models: %d runs of one plan", state, MODELS_MAX);
    return s;
}

/* A name is part of the package, so it is printed for each that is tried. */
enum status models_keep(const char *state, struct package *p, const struct nn_net *n, bool over,
                        struct error *err)
{
    char hex[DIGEST_HEX_CHARS + 1], open[PACKAGE_RUN_MAX + 1];
    struct buf out;
    bool other = false;
    enum status s;

    buf_init(&out, SIZE_MAX);
    snprintf(p->run, sizeof p->run, "x");
    s = package_print(p, n, &out, err); /* for the plan's digest */
    digest_hex(hex, p->plan_sha256, sizeof p->plan_sha256);
    find_open(state, p, hex, open);
    if (s == STATUS_OK && open[0] == 0) {
        s = keep_new(state, p, n, hex, over, err);
    } else if (s == STATUS_OK) {
        snprintf(p->run, sizeof p->run, "%s", open);
        s = package_print(p, n, &out, err);
        if (s == STATUS_OK)
            s = differs(state, open, &out, &other, err);
        if (other)
            s = write_package(state, open, &out, err);
    }
    buf_deinit(&out);
    return s == STATUS_OK && over ? unmark(state, p->run, err) : s;
}

enum status models_withdraw(const char *state, const char *run, struct error *err)
{
    char path[PATH_MAX];
    enum status s;

    mark_of(path, state, run);
    if (!models_name(run) || !there_is(path))
        return STATUS_OK;
    s = out_of_use(state, run, err);
    if (s != STATUS_OK)
        return s;
    path_of(path, state, run, "model.safetensors");
    if (unlink(path) != 0 && errno != ENOENT)
        return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    return unmark(state, run, err);
}

/* Among the runs of a plan with these digits. */
static enum status find_of(const char *state, const char *hex, const uint8_t trail[DIGEST_BYTES],
                           char run[PACKAGE_RUN_MAX + 1], struct error *err)
{
    char path[PATH_MAX], name[PACKAGE_RUN_MAX + 1];
    enum status s = STATUS_OK;

    run[0] = 0;
    for (unsigned k = 1; s == STATUS_OK && k <= MODELS_MAX; k++) {
        bool found;

        name_of(name, hex, k);
        path_of(path, state, name, "model.safetensors");
        found = there_is(path) && is_of(state, name, trail);
        if (found && run[0] != 0)
            s = error_set(err, STATUS_CONFIG,
                          "%s/models: %s and %s are both of one run, and which one the others have "
                          "cannot be told: remove one of them",
                          state, run, name);
        else if (found)
            snprintf(run, PACKAGE_RUN_MAX + 1, "%s", name);
    }
    return s;
}

enum status models_find(const char *state, const uint8_t plan[DIGEST_BYTES],
                        const uint8_t trail[DIGEST_BYTES], char run[PACKAGE_RUN_MAX + 1],
                        struct error *err)
{
    char hex[DIGEST_HEX_CHARS + 1];

    digest_hex(hex, plan, DIGEST_BYTES);
    return find_of(state, hex, trail, run, err);
}

/* --- models that runs go on from --- */

#define NEEDED "needed."

enum status models_need(const char *state, const char *run, const char *by, struct error *err)
{
    char file[sizeof NEEDED + PACKAGE_RUN_MAX], path[PATH_MAX];

    snprintf(file, sizeof file, NEEDED "%s", by[0] != 0 ? by : "alone");
    path_of(path, state, run, file);
    return there_is(path) ? STATUS_OK : file_write_atomic(path, "", 0, 0600, err);
}

/* Is that run one that can be gone on with? */
static bool is_unfinished(const char *state, const char *by)
{
    static const char *const files[] = {"checkpoint.sealed", "checkpoint.before.sealed"};
    const bool alone = strcmp(by, "alone") == 0;
    char path[PATH_MAX];
    bool any = false;

    for (size_t i = 0; i < 2 && !any; i++) {
        snprintf(path, sizeof path, "%s/%s%s%s%s", state, alone ? "" : "runs/", alone ? "" : by,
                 alone ? "" : "/", files[i]);
        any = there_is(path);
    }
    return any;
}

/* What is said by runs that are over goes. */
static enum status check_needed(const char *state, const char *run, struct error *err)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    enum status s = STATUS_OK;
    DIR *d;

    path_of(path, state, run, "");
    d = opendir(path);
    if (d == NULL)
        return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    while (s == STATUS_OK && (entry = readdir(d)) != NULL) {
        const char *by = entry->d_name + strlen(NEEDED);

        if (strncmp(entry->d_name, NEEDED, strlen(NEEDED)) != 0)
            continue;
        if (strcmp(by, "alone") != 0 && !models_name(by))
            continue;
        if (is_unfinished(state, by))
            s = error_set(err, STATUS_CONFIG,
                          "%s/models: a run that is not complete goes on from %s (run %s): finish "
                          "it, or remove its checkpoint first",
                          state, run, strcmp(by, "alone") == 0 ? "of this folder" : by);
        else if (unlinkat(dirfd(d), entry->d_name, 0) != 0)
            s = error_set(err, STATUS_IO, "%s/%s: %s", path, entry->d_name, strerror(errno));
    }
    closedir(d);
    return s;
}

enum status models_load_from(const char *state, const struct plan *plan, const char *by,
                             struct package *p, struct error *err)
{
    uint8_t trail[DIGEST_BYTES];
    char run[PACKAGE_RUN_MAX + 1] = "";
    enum status s = STATUS_OK;

    if (!digest_from_hex(trail, sizeof trail, plan->training.from_trail))
        return error_set(err, STATUS_PROTOCOL, "training.from: of which playing is not said");
    s = package_tells(trail, plan->training.from, err);
    if (s == STATUS_OK)
        s = find_of(state, plan->training.from, trail, run, err);
    if (s == STATUS_OK && run[0] == 0)
        s = error_set(err, STATUS_CONFIG,
                      "training.from: no model of run %s is kept here, or one of another time that "
                      "its plan was played",
                      plan->training.from);
    if (s == STATUS_OK)
        s = models_load(state, run, p, err);
    return s == STATUS_OK ? models_need(state, run, by, err) : s;
}

enum status models_remove(const char *state, const char *run, struct error *err)
{
    char served[PACKAGE_RUN_MAX + 1], path[PATH_MAX];
    enum status s = models_served(state, served, err);

    if (s == STATUS_OK)
        s = find_model(state, run, path, err);
    if (s != STATUS_OK)
        return s;
    s = check_needed(state, run, err);
    if (s == STATUS_OK && strcmp(served, run) == 0)
        s = error_set(err, STATUS_CONFIG,
                      "%s/models: run %s is in use; go back first, or train another", state, run);
    if (s != STATUS_OK)
        return s;
    s = answers_remove(state, run, err); /* first: refused while a job gives them */
    if (s != STATUS_OK)
        return s;
    if (unlink(path) != 0)
        return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    s = unmark(state, run, err);
    if (s != STATUS_OK)
        return s;
    path_of(path, state, run, "");
    if (rmdir(path) != 0)
        return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    return STATUS_OK;
}
