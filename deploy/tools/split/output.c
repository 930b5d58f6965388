/* output.c -- the files that a set is cut into, written in a folder of their own beside their
 * places, for this user alone, and moved when all are whole.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/split/output.h"

#include "common/base/file.h"
#include "common/data/csv.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARTIES_DEFAULT = 4 };

static const char *const set_names[SPLIT_SETS] = {"train", "test"};

enum status output_label_map(struct split *s)
{
    const char *name = s->o.label_map;
    char *end;

    if (name == NULL || strcmp(name, "none") == 0)
        return STATUS_OK;
    if (strcmp(name, "evenodd") == 0) {
        s->map = MAP_EVENODD;
        return STATUS_OK;
    }
    if (strncmp(name, "binary:", 7) == 0 && name[7] >= '0' && name[7] <= '9') {
        s->map = MAP_BINARY;
        s->map_class = strtoul(name + 7, &end, 10);
        if (*end == 0)
            return STATUS_OK;
    }
    return error_set(&s->err, STATUS_CONFIG,
                     "--label-map %s: known are none, evenodd (label mod 2) "
                     "and binary:K (1 where the label is K)",
                     name);
}

/* What the map makes of the label. */
static bool put_label(const struct split *s, FILE *out, const char *text)
{
    unsigned long label = 0;

    if (s->map == MAP_NONE) {
        csv_put(out, text, strlen(text));
        return true;
    }
    if (strlen(text) > 9 || text[0] == 0 || strspn(text, "0123456789") != strlen(text))
        return false;
    label = strtoul(text, NULL, 10);
    fprintf(out, "%lu", s->map == MAP_EVENODD ? label % 2 : label == s->map_class);
    return true;
}

bool output_label(const struct split *s, int set, const char *id, const char *text)
{
    FILE *out = s->labels_out[set];

    fputs(id, out);
    if (split_bare(&s->o))
        return true;
    fputc(',', out);
    return put_label(s, out, text);
}

/* What is only predicted is one set. */
static int sets_of(const struct split *s)
{
    return s->o.predict != NULL ? 1 : SPLIT_SETS;
}

static void path_of(const struct split *s, char out[PATH_MAX], const char *folder, int set,
                    uint32_t party)
{
    const char *of = s->o.predict != NULL ? "predict" : set_names[set];

    if (split_bare(&s->o) && party == s->columns.parties)
        snprintf(out, PATH_MAX, "%s/ids-predict.txt", folder);
    else if (party == s->columns.parties)
        snprintf(out, PATH_MAX, "%s/labels-%s.csv", folder, of);
    else
        snprintf(out, PATH_MAX, "%s/party-%u-%s.%s", folder, party + 1, of,
                 s->ending != NULL ? s->ending : "csv");
}

static FILE **stream_of(struct split *s, int set, uint32_t party)
{
    return party == s->columns.parties ? &s->labels_out[set] : &s->features_out[set][party];
}

/* Is `at` the file whose name is n characters long? */
static bool is_input(const struct stat *at, const char *name, size_t n)
{
    char path[PATH_MAX];
    struct stat st;

    return n < sizeof path && snprintf(path, sizeof path, "%.*s", (int)n, name) >= 0 &&
           stat(path, &st) == 0 && st.st_dev == at->st_dev && st.st_ino == at->st_ino;
}

static bool is_any_input(const struct split *s, const struct stat *there)
{
    const char *const one[] = {s->o.train, s->o.test, s->o.predict};
    const char *const pair[] = {s->o.pair_train, s->o.pair_test};
    bool is = false;

    for (size_t i = 0; i < sizeof one / sizeof *one && !is; i++)
        is = one[i] != NULL && is_input(there, one[i], strlen(one[i]));
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        for (const char *at = pair[i]; at != NULL && *at != 0 && !is;) {
            const size_t n = strcspn(at, ",");

            is = is_input(there, at, n);
            at += n + (at[n] == ',');
        }
    return is;
}

/* An earlier split's file may be replaced; what is being cut may not, nor what is no file. */
static enum status check_place(struct split *s, const char *path)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return errno == ENOENT ? STATUS_OK
                               : error_set(&s->err, STATUS_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(&s->err, STATUS_IO, "%s: not a regular file", path);
    if (is_any_input(s, &st))
        return error_set(&s->err, STATUS_CONFIG,
                         "%s: it is to be cut, and would be written over: another --out", path);
    return STATUS_OK;
}

static enum status make_beside(struct split *s)
{
    char path[SPLIT_FOLDER_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/.split-XXXXXX", s->o.out) >= sizeof path)
        return error_set(&s->err, STATUS_IO, "path too long: %.200s...", s->o.out);
    if (mkdtemp(path) == NULL)
        return error_set(&s->err, STATUS_IO, "%.200s: %s", s->o.out, strerror(errno));
    memcpy(s->beside, path, sizeof path);
    return STATUS_OK;
}

static enum status open_outputs(struct split *s)
{
    char path[PATH_MAX];

    for (int set = 0; set < sets_of(s); set++)
        for (uint32_t p = 0; p <= s->columns.parties; p++) {
            path_of(s, path, s->o.out, set, p);
            if (check_place(s, path) != STATUS_OK)
                return s->err.status;
        }
    if (make_beside(s) != STATUS_OK)
        return s->err.status;
    for (int set = 0; set < sets_of(s); set++)
        for (uint32_t p = 0; p <= s->columns.parties; p++) {
            path_of(s, path, s->beside, set, p);
            if (file_create(stream_of(s, set, p), path, 0600, &s->err) != STATUS_OK)
                return s->err.status;
        }
    for (int set = 0; set < SPLIT_SETS && s->o.predict == NULL && s->ending != NULL; set++)
        fputs("id,label\n", s->labels_out[set]);
    return STATUS_OK;
}

/* Closed in any case; errno says why it is not whole on the disk. */
static bool close_durably(FILE *f)
{
    const bool whole = fflush(f) == 0 && ferror(f) == 0 && fsync(fileno(f)) == 0;

    return fclose(f) == 0 && whole;
}

/* Written to the end, or the reason why not. */
static enum status close_outputs(struct split *s, enum status status)
{
    char path[PATH_MAX];

    for (int set = 0; set < sets_of(s); set++)
        for (uint32_t p = 0; p <= s->columns.parties; p++) {
            FILE **f = stream_of(s, set, p);

            if (*f == NULL || close_durably(*f) || status != STATUS_OK)
                continue;
            path_of(s, path, s->o.out, set, p);
            status = error_set(&s->err, STATUS_IO, "%s: %s", path, strerror(errno));
        }
    return status;
}

static enum status move_outputs(struct split *s)
{
    char from[PATH_MAX], to[PATH_MAX];

    for (int set = 0; set < sets_of(s); set++)
        for (uint32_t p = 0; p <= s->columns.parties; p++) {
            path_of(s, from, s->beside, set, p);
            path_of(s, to, s->o.out, set, p);
            if (s->rows[set] > 0 ? rename(from, to) != 0 : unlink(to) != 0 && errno != ENOENT)
                return error_set(&s->err, STATUS_IO, "%s: %s", to, strerror(errno));
        }
    return STATUS_OK;
}

static void remove_beside(struct split *s)
{
    char path[PATH_MAX];

    for (int set = 0; set < sets_of(s); set++)
        for (uint32_t p = 0; p <= s->columns.parties; p++) {
            path_of(s, path, s->beside, set, p);
            unlink(path);
        }
    rmdir(s->beside);
}

enum status output_close(struct split *s, enum status status)
{
    if (s->beside[0] == 0)
        return status;
    status = close_outputs(s, status);
    if (status == STATUS_OK)
        status = move_outputs(s);
    remove_beside(s);
    return status;
}

enum status output_open(struct split *s, const struct output_shape *shape)
{
    struct columns_want want = {.spec = s->o.columns,
                                .parties = s->o.parties,
                                .features = shape->features,
                                .names = shape->names,
                                .shape = shape->shape};
    enum status status;

    if (want.spec == NULL && want.parties == 0)
        want.parties = PARTIES_DEFAULT;
    s->features = shape->features;
    status = columns_assign(&s->columns, &want, &s->err);
    return status == STATUS_OK ? open_outputs(s) : status;
}
