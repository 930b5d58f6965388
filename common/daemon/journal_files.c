/* journal_files.c -- a folder, looked through.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/journal_files.h"

#include "common/daemon/journal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_LENGTH_MAX = 64 };

static const char segment_ending[] = ".sealed", unfinished_ending[] = ".sealed.tmp";

static void print_name(char out[NAME_LENGTH_MAX], uint64_t number, const char *ending)
{
    snprintf(out, NAME_LENGTH_MAX, "journal-%08" PRIu64 "%s", number, ending);
}

void journal_files_path(char out[PATH_MAX], const char *state, uint64_t number)
{
    char name[NAME_LENGTH_MAX];

    print_name(name, number, segment_ending);
    snprintf(out, PATH_MAX, "%s/%s", state, name);
}

/* The number of a file of ours, from 1; 0 of any other. */
static uint64_t number_of(const char *name, const char *ending)
{
    char again[NAME_LENGTH_MAX];
    uint64_t number;

    if (strncmp(name, "journal-", 8) != 0 || name[8] < '0' || name[8] > '9')
        return 0;
    number = strtoull(name + 8, NULL, 10);
    print_name(again, number, ending);
    return strcmp(name, again) == 0 ? number : 0;
}

struct found {
    uint64_t lowest, highest, count;
};

static enum status look(const char *state, const char *ending, struct found *f, struct error *err)
{
    DIR *dir = opendir(state);

    *f = (struct found){.lowest = UINT64_MAX};
    if (dir == NULL)
        return error_set(err, STATUS_IO, "%s: %s", state, strerror(errno));
    for (;;) {
        const struct dirent *entry;
        uint64_t number;

        errno = 0;
        entry = readdir(dir);
        if (entry == NULL)
            break;
        number = number_of(entry->d_name, ending);
        if (number == 0)
            continue;
        f->count++;
        f->lowest = number < f->lowest ? number : f->lowest;
        f->highest = number > f->highest ? number : f->highest;
    }
    if (errno != 0) {
        error_set(err, STATUS_IO, "%s: %s", state, strerror(errno));
        closedir(dir);
        return STATUS_IO;
    }
    closedir(dir);
    return STATUS_OK;
}

/* Says which one is missing. */
static enum status missing(const char *state, const struct found *f, struct error *err)
{
    char path[PATH_MAX];
    uint64_t number = f->lowest;

    do
        journal_files_path(path, state, ++number);
    while (access(path, F_OK) == 0);
    return error_set(err, STATUS_IO, "%s: missing, but later segments of the journal are there",
                     path);
}

enum status journal_files_list(const char *state, uint64_t *first, uint64_t *count,
                               struct error *err)
{
    struct found f;
    enum status s = look(state, segment_ending, &f, err);

    if (s != STATUS_OK)
        return s;
    if (f.count > 0 && f.highest - f.lowest != f.count - 1)
        return missing(state, &f, err);
    if (f.count > JOURNAL_SEGMENTS_MAX)
        return error_set(err, STATUS_IO, "%s: more than %d segments of a journal", state,
                         JOURNAL_SEGMENTS_MAX);
    *first = f.lowest;
    *count = f.count;
    return STATUS_OK;
}

/* Unlinks number, number + 1, ... up to the first that cannot be. */
static enum status remove_from(const char *state, uint64_t number, const char *ending,
                               struct error *err)
{
    char name[NAME_LENGTH_MAX], path[PATH_MAX];

    do {
        print_name(name, number++, ending);
        snprintf(path, sizeof path, "%s/%s", state, name);
    } while (unlink(path) == 0);
    if (errno != ENOENT)
        return error_set(err, STATUS_IO, "%s: not removed: %s", path, strerror(errno));
    return STATUS_OK;
}

static enum status remove_all(const char *state, const char *ending, struct error *err)
{
    struct found f;
    enum status s;

    while ((s = look(state, ending, &f, err)) == STATUS_OK && f.count > 0) {
        s = remove_from(state, f.lowest, ending, err);
        if (s != STATUS_OK)
            break;
    }
    return s;
}

enum status journal_files_remove(const char *state, struct error *err)
{
    enum status s = remove_all(state, unfinished_ending, err);

    return s == STATUS_OK ? remove_all(state, segment_ending, err) : s;
}
