/* keep.c -- a shell follows every link that it is given, so it is asked here first.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/keep.h"

#include "common/base/folder.h"
#include "common/crypto/secret.h"
#include "deploy/tools/pki/put.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLACED_MAX = 256 << 20 }; /* bytes of a picture, or of what it is drawn from */

static enum status check_entry(const FTSENT *e, struct error *err)
{
    const struct stat *st = e->fts_statp;

    switch (e->fts_info) {
    case FTS_DP: return STATUS_OK; /* was looked at on the way in */
    case FTS_D:
    case FTS_F: break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: /* a run that is at work there may take a file away meanwhile */
        return e->fts_errno == ENOENT
                   ? STATUS_OK
                   : error_set(err, STATUS_IO, "%s: %s", e->fts_path, strerror(e->fts_errno));
    default:
        return error_set(err, STATUS_CONFIG,
                         "%s: a link, or neither a file nor a folder: nothing is written there",
                         e->fts_path);
    }
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return error_set(err, STATUS_CONFIG, "%s: belongs to user %u, this process is user %u",
                         e->fts_path, (unsigned)st->st_uid, (unsigned)geteuid());
    if (e->fts_info == FTS_D && (st->st_mode & 022) != 0)
        return error_set(err, STATUS_CONFIG, "%s: writable by others (mode %04o); chmod go-w it",
                         e->fts_path, (unsigned)(st->st_mode & 07777));
    return STATUS_OK;
}

enum status keep_folder(const struct options *o, struct error *err)
{
    char *paths[] = {(char *)o->file[0], NULL};
    enum status s;
    FTS *walk;

    if (o->files_n != 1)
        return error_set(err, STATUS_CONFIG, "one folder is needed");
    s = folder_make(paths[0], err);
    if (s != STATUS_OK)
        return s;
    walk = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    if (walk == NULL)
        return error_set(err, STATUS_IO, "%s: %s", paths[0], strerror(errno));
    errno = 0;
    for (const FTSENT *e; s == STATUS_OK && (e = fts_read(walk)) != NULL; errno = 0)
        s = check_entry(e, err);
    if (s == STATUS_OK && errno != 0)
        s = error_set(err, STATUS_IO, "%s: %s", paths[0], strerror(errno));
    fts_close(walk);
    return s;
}

enum status keep_place(const struct options *o, struct error *err)
{
    struct put_folder f = {-1, ""};
    enum status s;

    if (o->files_n < 1)
        return error_set(err, STATUS_CONFIG, "a folder is needed");
    s = folder_make(o->file[0], err);
    if (s == STATUS_OK)
        s = put_folder_open(&f, o->file[0], NULL, err);
    for (size_t i = 1; s == STATUS_OK && i < o->files_n; i++) {
        const char *slash = strrchr(o->file[i], '/');
        struct buf text;

        s = put_read(&text, o->file[i], PLACED_MAX, err);
        if (s == STATUS_OK)
            s = put_in_folder(&f, slash != NULL ? slash + 1 : o->file[i], &text, PUT_OWN, err);
        secret_buf_deinit(&text);
    }
    put_folder_close(&f);
    return s;
}
