/* authority.c -- a CA's folder.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/authority.h"

#include "common/base/mem.h"
#include "common/crypto/crl.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"
#include "deploy/tools/pki/when.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { INDEX_MAX = 16 << 20, FIELDS = 6, CRL_DAYS = 90, CLOCK_SLACK_S = 3600 };

static const struct authority no_folders = {
    .folder.fd = -1, .issued.fd = -1, .requests.fd = -1, .lock = -1};

/* --- the folder --- */

static void path_in(char out[AUTHORITY_PATH_MAX + 32], const struct authority *a, const char *name)
{
    snprintf(out, AUTHORITY_PATH_MAX + 32, "%.*s/%s", AUTHORITY_PATH_MAX, a->folder.path, name);
}

static enum status write_here(struct authority *a, const char *name, const char *text,
                              struct error *err)
{
    struct buf b = {(uint8_t *)(uintptr_t)text, strlen(text), strlen(text), strlen(text)};

    return put_in_folder(&a->folder, name, &b, PUT_OWN, err);
}

static enum status take_lock(struct authority *a, struct error *err)
{
    a->lock = openat(a->folder.fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (a->lock < 0 || flock(a->lock, LOCK_EX) != 0)
        return error_set(err, STATUS_IO, "%s/lock: %s", a->folder.path, strerror(errno));
    return STATUS_OK;
}

static enum status open_folders(struct authority *a, const char *dir, struct error *err)
{
    enum status s;

    *a = no_folders;
    a->now = (int64_t)time(NULL);
    buf_init(&a->index, INDEX_MAX);
    buf_init(&a->revoked, INDEX_MAX);
    s = put_folder_open(&a->folder, dir, NULL, err);
    if (s == STATUS_OK)
        s = put_folder_open(&a->issued, dir, "issued", err);
    if (s == STATUS_OK)
        s = put_folder_open(&a->requests, dir, "requests", err);
    return s == STATUS_OK ? take_lock(a, err) : s;
}

static enum status read_here(const struct authority *a, struct buf *out, const char *name,
                             struct error *err)
{
    char path[AUTHORITY_PATH_MAX + 32];

    path_in(path, a, name);
    return put_read(out, path, INDEX_MAX, err);
}

static enum status no_ca(const char *dir, struct error *err)
{
    return error_set(err, STATUS_CONFIG, "%s: no CA here (make one with: vfl pki ca --ca %s)", dir,
                     dir);
}

enum status authority_open(struct authority *a, const char *dir, struct error *err)
{
    char path[AUTHORITY_PATH_MAX + 32];
    struct stat st;
    enum status s;

    *a = no_folders;
    snprintf(path, sizeof path, "%.*s/ca.key", AUTHORITY_PATH_MAX, dir);
    if (lstat(path, &st) != 0)
        return no_ca(dir, err);
    s = open_folders(a, dir, err);
    if (s != STATUS_OK)
        return s;
    s = sign_key_load(&a->signer.key, path, err);
    path_in(path, a, "ca.crt");
    if (s == STATUS_OK)
        s = cert_load(&a->signer.cert, path, err);
    if (s == STATUS_OK)
        s = read_here(a, &a->index, "index.txt", err);
    if (s == STATUS_OK)
        s = read_here(a, &a->revoked, "revoked.txt", err);
    return s;
}

void authority_close(struct authority *a)
{
    cert_signer_deinit(&a->signer);
    buf_deinit(&a->index);
    buf_deinit(&a->revoked);
    put_folder_close(&a->issued);
    put_folder_close(&a->requests);
    put_folder_close(&a->folder);
    if (a->lock >= 0)
        close(a->lock);
    a->lock = -1;
}

static enum status write_certificate(const struct put_folder *f, const char *name, unsigned mode,
                                     const struct cert *c, struct error *err)
{
    struct buf pem;
    enum status s;

    buf_init(&pem, CERT_FILE_MAX);
    s = cert_print(&pem, c);
    if (s == STATUS_OK)
        s = put_in_folder(f, name, &pem, mode, err);
    else
        error_set(err, s, "%s/%s: %s", f->path, name, status_words(s));
    buf_deinit(&pem);
    return s;
}

static enum status make_pair(struct authority *a, struct buf *key, const char *name,
                             const struct cert_terms *t, struct error *err)
{
    enum status s = cert_make_key(&a->signer.key, key);

    if (s == STATUS_OK)
        s = cert_make_ca(&a->signer.cert, &a->signer.key, name, t);
    return s == STATUS_OK ? s : error_set(err, s, "the CA's key: %s", status_words(s));
}

static enum status no_ca_yet(const char *key, const char *dir, struct error *err)
{
    struct stat st;

    return lstat(key, &st) != 0 ? STATUS_OK
                                : error_set(err, STATUS_CONFIG, "%s: there is a CA already", dir);
}

/* The key comes last: it is what makes the folder a CA's, so that whatever fails can be done again.
 */
enum status authority_make(struct authority *a, const char *dir, const char *name,
                           const struct cert_terms *t, struct error *err)
{
    static const struct {
        const char *name, *text;
    } files[] = {{"index.txt", ""}, {"revoked.txt", ""}, {"crlnumber", "01\n"}};
    char path[AUTHORITY_PATH_MAX + 32];
    struct buf key;
    enum status s;

    *a = no_folders;
    buf_init(&key, SIGN_KEY_FILE_MAX);
    snprintf(path, sizeof path, "%.*s/ca.key", AUTHORITY_PATH_MAX, dir);
    s = no_ca_yet(path, dir, err);
    if (s == STATUS_OK)
        s = open_folders(a, dir, err);
    if (s == STATUS_OK) /* again: somebody else may have held the lock */
        s = no_ca_yet(path, dir, err);
    for (size_t i = 0; s == STATUS_OK && i < sizeof files / sizeof files[0]; i++)
        s = write_here(a, files[i].name, files[i].text, err);
    if (s == STATUS_OK)
        s = make_pair(a, &key, name, t, err);
    if (s == STATUS_OK)
        s = write_certificate(&a->folder, "ca.crt", PUT_OPEN_TO_ALL, &a->signer.cert, err);
    if (s == STATUS_OK)
        s = authority_crl(a, CRL_DAYS, err);
    if (s == STATUS_OK)
        s = put_secret(path, &key, err);
    secret_buf_deinit(&key);
    return s;
}

/* --- the index: V or R, its end, since when it is revoked, serial, "unknown", /CN=NAME --- */

struct line {
    const char *start, *field[FIELDS];
    size_t n[FIELDS], length; /* with its line break */
    bool whole;               /* all fields are there; what is no such line stays as it is */
};

/* The line at *at, which then stands behind it; false at the end. */
static bool next_line(struct line *l, const char **at, const char *end)
{
    const char *from = *at, *stop;
    size_t fields = 0;

    if (from >= end)
        return false;
    stop = memchr(from, '\n', (size_t)(end - from));
    if (stop == NULL)
        stop = end;
    l->start = from;
    l->length = (size_t)(stop - from) + (stop < end);
    *at = from + l->length;
    while (fields < FIELDS) {
        const char *tab = memchr(from, '\t', (size_t)(stop - from));

        l->field[fields] = from;
        l->n[fields++] = (size_t)((tab != NULL ? tab : stop) - from);
        if (tab == NULL)
            break;
        from = tab + 1;
    }
    l->whole = fields == FIELDS && l->n[0] == 1 && l->n[3] > 0 && l->n[3] <= CERT_SERIAL_HEX_MAX &&
               strspn(l->field[3], "0123456789ABCDEFabcdef") == l->n[3];
    return true;
}

/* Whether the line is of a valid certificate of exactly this name. */
static bool is_valid_of(const struct line *l, const char *name)
{
    static const char before[] = "/CN=";
    const size_t skip = sizeof before - 1, n = strlen(name);

    return l->whole && l->field[0][0] == 'V' && l->n[5] == skip + n &&
           memcmp(l->field[5], before, skip) == 0 && memcmp(l->field[5] + skip, name, n) == 0;
}

static enum status memory(enum status s, struct error *err)
{
    return s == STATUS_OK ? s : error_set(err, s, "the CA's index: %s", status_words(s));
}

enum status authority_keep(struct authority *a, struct error *err)
{
    enum status s = STATUS_OK;

    /* A key that is revoked twice costs nothing; one whose certificate is, and which is not, does.
     */
    if (a->revoked_changed)
        s = put_in_folder(&a->folder, "revoked.txt", &a->revoked, PUT_OWN, err);
    if (s == STATUS_OK && a->index_changed)
        s = put_in_folder(&a->folder, "index.txt", &a->index, PUT_OWN, err);
    if (s == STATUS_OK)
        a->revoked_changed = a->index_changed = false;
    return s;
}

/* --- issuing --- */

static bool is_revoked(const struct authority *a, const char *hex)
{
    const char *at = (const char *)a->revoked.data;

    for (size_t left = a->revoked.len; left > 0;) {
        const char *stop = memchr(at, '\n', left);
        const size_t n = stop != NULL ? (size_t)(stop - at) : left;

        if (n == DIGEST_HEX_CHARS && memcmp(at, hex, n) == 0)
            return true;
        at += n + (stop != NULL);
        left -= n + (stop != NULL);
    }
    return false;
}

static const char *const role_lines[] = {[CERT_PARTY] = "party\n", [CERT_SERVER] = "server\n"};

/* In one file, the role in front, so that a renewal never meets one without the other. */
enum status authority_remember(struct authority *a, const struct authority_order *o,
                               struct error *err)
{
    char file[CERT_NAME_MAX + 8];
    struct buf text;
    enum status s;

    buf_init(&text, CERT_FILE_MAX + 8);
    snprintf(file, sizeof file, "%s.csr", o->name);
    s = buf_append(&text, role_lines[o->role], strlen(role_lines[o->role]));
    if (s == STATUS_OK)
        s = buf_append(&text, o->request->data, o->request->len);
    s = s == STATUS_OK ? put_in_folder(&a->requests, file, &text, PUT_OWN, err)
                       : error_set(err, s, "%s: %s", file, status_words(s));
    buf_deinit(&text);
    return s;
}

static bool read_role(enum cert_role *role, const struct buf *text)
{
    for (int i = CERT_PARTY; i <= CERT_SERVER; i++) {
        const size_t n = strlen(role_lines[i]);

        if (text->len >= n && memcmp(text->data, role_lines[i], n) == 0) {
            *role = (enum cert_role)i;
            return true;
        }
    }
    return false;
}

static enum status file_certificate(struct authority *a, const struct cert *c,
                                    const struct authority_order *o, struct error *err)
{
    char serial[CERT_SERIAL_HEX_MAX + 1], file[CERT_SERIAL_HEX_MAX + 8];
    char until[WHEN_INDEX_CHARS + 1];
    enum status s;

    if (!cert_serial(serial, c))
        return error_set(err, STATUS_FAULT, "a serial number too long");
    snprintf(file, sizeof file, "%s.pem", serial);
    s = write_certificate(&a->issued, file, PUT_OWN, c, err);
    when_index(until, o->until);
    a->index_changed = true;
    return s == STATUS_OK ? memory(buf_printf(&a->index, "V\t%s\t\t%s\tunknown\t/CN=%s\n", until,
                                              serial, o->name),
                                   err)
                          : s;
}

enum status authority_issue(struct authority *a, struct cert *out, const struct authority_order *o,
                            struct error *err)
{
    const struct cert_terms t = {o->from, o->until};
    char hex[DIGEST_HEX_CHARS + 1];
    uint8_t key[CERT_KEY_BYTES];
    enum status s;

    out->x509 = NULL;
    sign_spki_digest(key, o->public_key);
    digest_hex(hex, key, sizeof key);
    if (is_revoked(a, hex))
        return error_set(err, STATUS_CONFIG,
                         "%s: this key is revoked; a request with a new key is needed", o->name);
    s = cert_issue(out, &a->signer, o->public_key, o->name, o->role, &t);
    if (s != STATUS_OK)
        return error_set(err, s, "%s: %s", o->name, status_words(s));
    return file_certificate(a, out, o, err);
}

enum status authority_recall(const struct authority *a, struct authority_order *o,
                             struct buf *request, const char *name, struct error *err)
{
    char path[AUTHORITY_PATH_MAX + 64 + CERT_NAME_MAX];
    struct buf text = {0}, role = {0};
    bool known;
    enum status s;

    buf_init(request, CERT_FILE_MAX);
    *o = (struct authority_order){.name = name, .request = request};
    snprintf(path, sizeof path, "%s/requests/%s.csr", a->folder.path, name);
    s = put_read(&text, path, CERT_FILE_MAX + 8, NULL);
    known = s == STATUS_OK && read_role(&o->role, &text);
    if (s == STATUS_OK && !known) { /* as earlier versions kept it */
        snprintf(path, sizeof path, "%s/requests/%s.role", a->folder.path, name);
        s = put_read(&role, path, CERT_FILE_MAX, NULL);
        known = s == STATUS_OK && read_role(&o->role, &role);
    }
    if (s != STATUS_OK)
        s = error_set(err, STATUS_CONFIG, "%s: no certificate was issued to this name here", name);
    else if (!known)
        s = error_set(err, STATUS_CONFIG, "%s: neither server nor party", path);
    else
        s = cert_request_read(o->public_key, request, text.data, text.len, err);
    buf_deinit(&text);
    buf_deinit(&role);
    return s;
}

/* --- revoking --- */

/* The key of a certificate that was issued goes to those that do not come back. */
static enum status forbid_key(struct authority *a, const struct line *l, struct error *err)
{
    char path[AUTHORITY_PATH_MAX + 32 + CERT_SERIAL_HEX_MAX], hex[DIGEST_HEX_CHARS + 1];
    uint8_t key[CERT_KEY_BYTES];
    struct cert c;
    enum status s;

    snprintf(path, sizeof path, "%s/issued/%.*s.pem", a->folder.path, (int)l->n[3], l->field[3]);
    s = cert_load(&c, path, err);
    if (s == STATUS_OK)
        s = memory(cert_key(key, &c), err);
    cert_deinit(&c);
    if (s != STATUS_OK)
        return s;
    digest_hex(hex, key, sizeof key);
    a->revoked_changed = true;
    return memory(buf_printf(&a->revoked, "%s\n", hex), err);
}

enum status authority_revoke(struct authority *a, const char *name, struct error *err)
{
    const char *at = (const char *)a->index.data, *end = at + a->index.len;
    char now[WHEN_INDEX_CHARS + 1];
    size_t found = 0;
    struct buf index;
    struct line l;
    enum status s = STATUS_OK;

    when_index(now, a->now);
    buf_init(&index, INDEX_MAX);
    while (s == STATUS_OK && a->index.len > 0 && next_line(&l, &at, end)) {
        if (!is_valid_of(&l, name)) {
            s = memory(buf_append(&index, l.start, l.length), err);
            continue;
        }
        found++;
        s = forbid_key(a, &l, err);
        if (s == STATUS_OK)
            s = memory(buf_printf(&index, "R\t%.*s\t%s\t%.*s\tunknown\t/CN=%s\n", (int)l.n[1],
                                  l.field[1], now, (int)l.n[3], l.field[3], name),
                       err);
    }
    if (s == STATUS_OK && found == 0)
        s = error_set(err, STATUS_CONFIG, "%s: no valid certificate of this name was issued here",
                      name);
    if (s == STATUS_OK) {
        buf_deinit(&a->index);
        a->index = index;
        a->index_changed = true;
    } else {
        buf_deinit(&index);
    }
    return s;
}

/* Revoked serial numbers of the index; *entries belongs to the caller. */
static enum status collect(const struct authority *a, struct crl_entry **entries, size_t *n,
                           struct error *err)
{
    const char *at = (const char *)a->index.data, *end = at + a->index.len;
    size_t room = 0;
    struct line l;

    *entries = NULL;
    *n = 0;
    while (a->index.len > 0 && next_line(&l, &at, end)) {
        char when[WHEN_INDEX_CHARS + 1];
        struct crl_entry *e;

        if (!l.whole || l.field[0][0] != 'R')
            continue;
        if (*n == room) {
            struct crl_entry *more = mem_grow(*entries, room * sizeof *e, (room + 64) * sizeof *e);

            if (more == NULL)
                return memory(STATUS_MEMORY, err);
            *entries = more;
            room += 64;
        }
        e = &(*entries)[(*n)++];
        snprintf(e->serial, sizeof e->serial, "%.*s", (int)l.n[3], l.field[3]);
        /* `openssl ca` may have put a reason behind the date. */
        snprintf(when, sizeof when, "%.*s", (int)strcspn(l.field[2], ",\t\n"), l.field[2]);
        if (!when_from_index(&e->when, when))
            e->when = a->now;
    }
    return STATUS_OK;
}

static enum status next_number(struct authority *a, uint64_t *number, struct error *err)
{
    char text[32];
    struct buf file;
    enum status s = read_here(a, &file, "crlnumber", err);

    *number = 1;
    if (s == STATUS_OK) {
        snprintf(text, sizeof text, "%.*s", (int)(file.len < 17 ? file.len : 17),
                 (const char *)file.data);
        *number = strtoull(text, NULL, 16);
        /* In whole bytes, as openssl reads it. */
        snprintf(text, sizeof text, "%llx\n", (unsigned long long)*number + 1);
        if (strlen(text) % 2 == 0)
            snprintf(text, sizeof text, "0%llx\n", (unsigned long long)*number + 1);
        s = write_here(a, "crlnumber", text, err);
    }
    buf_deinit(&file);
    return s;
}

enum status authority_crl(struct authority *a, long days, struct error *err)
{
    const struct cert_terms t = {a->now - CLOCK_SLACK_S, a->now + (int64_t)days * 86400};
    struct crl_entry *entries;
    uint64_t number;
    struct buf pem;
    size_t n;
    enum status s = collect(a, &entries, &n, err);

    buf_init(&pem, CERT_CRL_MAX);
    if (s == STATUS_OK)
        s = next_number(a, &number, err);
    if (s == STATUS_OK) {
        s = crl_make(&pem, &a->signer, number, entries, n, &t);
        if (s != STATUS_OK)
            error_set(err, s, "the revocation list: %s", status_words(s));
    }
    if (s == STATUS_OK)
        s = put_in_folder(&a->folder, "ca.crl", &pem, PUT_OPEN_TO_ALL, err);
    buf_deinit(&pem);
    mem_free(entries);
    return s;
}
