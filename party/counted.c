/* counted.c -- arithmetic of counts, and the files that they once were in.
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

enum { DAY_S = 86400 };

static uint64_t day_of(int64_t now_s)
{
    return now_s > 0 ? (uint64_t)now_s / DAY_S : 0;
}

/* A new day has no rows yet, and takes ids off.  A clock that goes back stays in the day that it
 * came from, with what was counted in it. */
static struct ledger_asked today(const struct ledger_asked *before,
                                 const struct config_policy *policy, int64_t now_s)
{
    struct ledger_asked a = *before;
    const uint64_t day = day_of(now_s), off = policy->unknown_ids_day;

    if (day <= a.day)
        return a;
    if (off > 0)
        a.unknown = day - a.day > a.unknown / off ? 0 : a.unknown - (day - a.day) * off;
    a.day = day;
    a.rows = 0;
    return a;
}

/* Their figures stay in the own log (words.h), for they tell who is here. */
static enum status too_many_unknown(const struct config_policy *policy, struct error *err)
{
    return error_set(err, STATUS_BUDGET,
                     "policy.predict.max_unknown: more than %u ids that have no row here were "
                     "asked for; %u of them are forgotten a day",
                     policy->unknown_ids, policy->unknown_ids_day);
}

static enum status too_many_rows(const struct config_policy *policy, struct error *err)
{
    return error_set(err, STATUS_BUDGET,
                     "policy.predict.max_rows_per_day: more than %" PRIu64
                     " rows would be asked for today",
                     policy->predict_rows_day);
}

enum status counted_may(const struct ledger_asked *before, const struct config_policy *policy,
                        uint64_t rows, int64_t now_s, struct error *err)
{
    const struct ledger_asked a = today(before, policy, now_s);
    const uint64_t most = policy->predict_rows_day;

    if (a.unknown > policy->unknown_ids)
        return too_many_unknown(policy, err);
    return most > 0 && (rows > most || a.rows > most - rows) ? too_many_rows(policy, err)
                                                             : STATUS_OK;
}

/* One more than the limit says that it was passed, and that no further job is answered. */
enum counted counted_add(struct ledger_asked *a, const struct config_policy *policy, uint64_t rows,
                         uint32_t unknown, int64_t now_s, struct error *err)
{
    const uint64_t most = policy->unknown_ids;

    if (counted_may(a, policy, rows, now_s, err) != STATUS_OK)
        return COUNTED_NOTHING;
    *a = today(a, policy, now_s);
    a->rows += rows;
    a->unknown = unknown > most - a->unknown ? most + 1 : a->unknown + unknown;
    if (a->unknown <= most)
        return COUNTED;
    (void)too_many_unknown(policy, err);
    return COUNTED_REFUSED;
}

/* --- files of an earlier version --- */

/* The n numbers of its line, with a space between; false: there is no such file, or no good one. */
static bool read_numbers(const char *path, uint64_t out[2], int n, struct error *err)
{
    char text[64] = "", again[64];
    struct stat is;
    struct buf b;
    enum status s;

    out[0] = out[1] = 0;
    if (lstat(path, &is) != 0 && errno == ENOENT)
        return false;
    buf_init(&b, sizeof text - 1);
    s = file_read_own(path, &b, err);
    if (s == STATUS_OK)
        snprintf(text, sizeof text, "%.*s", (int)b.len, (char *)b.data);
    buf_deinit(&b);
    if (s != STATUS_OK)
        return false;
    (void)sscanf(text, "%" SCNu64 " %" SCNu64, &out[0], &out[1]);
    snprintf(again, sizeof again, n == 1 ? "%" PRIu64 "\n" : "%" PRIu64 " %" PRIu64 "\n", out[0],
             out[1]);
    if (strcmp(again, text) == 0)
        return true;
    (void)error_set(err, STATUS_IO, "%s: no count", path);
    return false;
}

/* A process that dies in between adopts them again, and counts nothing twice. */
enum status counted_adopt(struct ledger *l, const struct config_party *c, int64_t now_s,
                          struct error *err)
{
    char unknown[CONFIG_PATH_MAX], asked[CONFIG_PATH_MAX];
    uint64_t ids[2], rows[2];
    struct ledger_asked a = ledger_asked(l);
    struct error failed = {0};
    bool any, more;
    enum status s;

    snprintf(unknown, sizeof unknown, "%.*s/unknown", CONFIG_PATH_MAX - 16, c->state);
    snprintf(asked, sizeof asked, "%.*s/asked", CONFIG_PATH_MAX - 16, c->state);
    any = read_numbers(unknown, ids, 1, &failed);
    if (failed.status == STATUS_OK)
        more = read_numbers(asked, rows, 2, &failed);
    if (failed.status != STATUS_OK) {
        *err = failed;
        return failed.status;
    }
    if (!any && !more)
        return STATUS_OK;
    if (a.day == 0)
        a = (struct ledger_asked){.day = more ? rows[0] : day_of(now_s), .rows = rows[1]};
    a.unknown = ids[0] > a.unknown ? ids[0] : a.unknown;
    s = ledger_set_asked(l, &a, err);
    if (s == STATUS_OK && any)
        s = file_remove(unknown, err);
    return s == STATUS_OK && more ? file_remove(asked, err) : s;
}
