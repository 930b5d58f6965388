/* counted.c -- counts in files of one line.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/counted.h"

#include "common/base/buf.h"
#include "common/base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DAY_S = 86400, NUMBERS_MAX = 2 };

static void path_of(char path[CONFIG_PATH_MAX], const struct config_party *c, const char *file)
{
    snprintf(path, CONFIG_PATH_MAX, "%.*s/%s", CONFIG_PATH_MAX - 16, c->state, file);
}

/* The n numbers of its line, with a space between; zeros where there is no file. */
static enum status read_numbers(const struct config_party *c, const char *file,
                                uint64_t out[NUMBERS_MAX], int n, struct error *err)
{
    char path[CONFIG_PATH_MAX], text[64] = "", again[64];
    struct stat is;
    struct buf b;
    enum status s = STATUS_OK;

    out[0] = out[1] = 0;
    path_of(path, c, file);
    buf_init(&b, sizeof text - 1);
    if (lstat(path, &is) == 0 || errno != ENOENT)
        s = file_read_own(path, &b, err);
    if (s == STATUS_OK && b.len > 0)
        snprintf(text, sizeof text, "%.*s", (int)b.len, (char *)b.data);
    buf_deinit(&b);
    if (s != STATUS_OK || text[0] == 0)
        return s;
    (void)sscanf(text, "%" SCNu64 " %" SCNu64, &out[0], &out[1]);
    snprintf(again, sizeof again, n == 1 ? "%" PRIu64 "\n" : "%" PRIu64 " %" PRIu64 "\n", out[0],
             out[1]);
    return strcmp(again, text) == 0 ? STATUS_OK : error_set(err, STATUS_IO, "%s: no count", path);
}

static enum status write_numbers(const struct config_party *c, const char *file,
                                 const uint64_t in[NUMBERS_MAX], int n, struct error *err)
{
    char path[CONFIG_PATH_MAX], text[64];

    path_of(path, c, file);
    snprintf(text, sizeof text, n == 1 ? "%" PRIu64 "\n" : "%" PRIu64 " %" PRIu64 "\n", in[0],
             in[1]);
    return file_write_atomic(path, text, strlen(text), 0600, err);
}

/* --- ids that are nobody's here --- */

/* STATUS_BUDGET: its figures stay in the own log (words.h), for they tell who is here. */
static enum status too_many_unknown(const struct config_party *c, struct error *err)
{
    return error_set(err, STATUS_BUDGET,
                     "policy.predict.max_unknown: more than %u ids that have no row here were "
                     "asked for: see state/unknown",
                     c->policy.unknown_ids);
}

/* Durable before they are answered, or refused: a refusal tells of them, too.  One more than the
 * limit says that it was passed, and that no further job is answered. */
static enum status add_unknown(const struct config_party *c, uint32_t more, struct error *err)
{
    const uint64_t most = c->policy.unknown_ids;
    uint64_t count[NUMBERS_MAX];
    enum status s = read_numbers(c, "unknown", count, 1, err);

    if (s != STATUS_OK || count[0] > most)
        return s == STATUS_OK ? too_many_unknown(c, err) : s;
    count[0] = count[0] + more > most ? most + 1 : count[0] + more;
    s = write_numbers(c, "unknown", count, 1, err);
    return s == STATUS_OK && count[0] > most ? too_many_unknown(c, err) : s;
}

/* --- rows of a day --- */

enum { DAY, ROWS };

/* A clock that goes back stays in the day that it came from, with what was counted in it. */
static enum status read_day(const struct config_party *c, uint64_t day[NUMBERS_MAX], int64_t now_s,
                            struct error *err)
{
    const uint64_t today = now_s > 0 ? (uint64_t)now_s / DAY_S : 0;
    enum status s = read_numbers(c, "asked", day, 2, err);

    if (s == STATUS_OK && today > day[DAY]) {
        day[DAY] = today;
        day[ROWS] = 0;
    }
    return s;
}

static enum status too_many_rows(const struct config_party *c, struct error *err)
{
    return error_set(err, STATUS_BUDGET,
                     "policy.predict.max_rows_per_day: more than %" PRIu64
                     " rows were asked for: see state/asked",
                     c->policy.predict_rows_day);
}

/* What is refused asks for nothing. */
static enum status add_rows(const struct config_party *c, uint64_t more, int64_t now_s,
                            struct error *err)
{
    uint64_t day[NUMBERS_MAX];
    enum status s = read_day(c, day, now_s, err);

    if (s != STATUS_OK)
        return s;
    if (more > c->policy.predict_rows_day || day[ROWS] > c->policy.predict_rows_day - more)
        return too_many_rows(c, err);
    day[ROWS] += more;
    return write_numbers(c, "asked", day, 2, err);
}

/* --- both --- */

enum status counted_may(const struct config_party *c, uint64_t rows, int64_t now_s,
                        struct error *err)
{
    const uint64_t most = c->policy.predict_rows_day;
    uint64_t unknown[NUMBERS_MAX], day[NUMBERS_MAX];
    enum status s = read_numbers(c, "unknown", unknown, 1, err);

    if (s == STATUS_OK && unknown[0] > c->policy.unknown_ids)
        return too_many_unknown(c, err);
    if (s != STATUS_OK || most == 0)
        return s;
    s = read_day(c, day, now_s, err);
    if (s == STATUS_OK && (rows > most || day[ROWS] > most - rows))
        return too_many_rows(c, err);
    return s;
}

enum status counted_add(const struct config_party *c, uint64_t rows, uint32_t unknown,
                        int64_t now_s, struct error *err)
{
    enum status s = STATUS_OK;

    if (c->policy.predict_rows_day > 0)
        s = add_rows(c, rows, now_s, err);
    return s == STATUS_OK && unknown > 0 ? add_unknown(c, unknown, err) : s;
}
