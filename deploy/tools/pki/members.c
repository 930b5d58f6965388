/* members.c -- from certificates to a roster.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/members.h"

#include "common/crypto/digest.h"
#include "deploy/tools/pki/put.h"

#include <stdio.h>
#include <string.h>

enum { CA_PATH_MAX = 1024 };

enum status members_authority(struct cert_authority *a, const char *dir, struct error *err)
{
    char ca[CA_PATH_MAX], crl[CA_PATH_MAX];

    if (dir == NULL)
        dir = "ca";
    *a = (struct cert_authority){0};
    if ((size_t)snprintf(ca, sizeof ca, "%s/ca.crt", dir) >= sizeof ca)
        return error_set(err, STATUS_CONFIG, "--ca: a path too long");
    snprintf(crl, sizeof crl, "%s/ca.crl", dir);
    return cert_authority_load(a, ca, crl, err);
}

enum status members_take(struct member *m, const struct cert_authority *a, const char *path,
                         enum cert_role role, struct error *err)
{
    enum status s;

    *m = (struct member){0};
    s = cert_load(&m->cert, path, err); /* names the file itself */
    if (s != STATUS_OK)
        return s;
    s = cert_check(a, &m->cert, role, err);
    if (s == STATUS_OK)
        s = cert_name(m->name, &m->cert, err);
    if (s == STATUS_OK && (s = cert_key(m->key, &m->cert)) != STATUS_OK)
        error_set(err, s, "%s", status_words(s));
    if (s != STATUS_OK) {
        error_wrap(err, "%s", path);
        members_free(m);
    }
    return s;
}

void members_free(struct member *m)
{
    cert_deinit(&m->cert);
}

/* --- the roster --- */

static enum status add(struct roster *r, struct roster_entry *e, const struct cert_authority *a,
                       const char *path, enum cert_role role, struct error *err)
{
    struct member m;
    enum status s = members_take(&m, a, path, role, err);

    if (s != STATUS_OK)
        return s;
    if (role == CERT_PARTY &&
        (roster_find_name(r, m.name) >= 0 || strcmp(r->server.name, m.name) == 0))
        s = error_set(err, STATUS_CONFIG, "%s: the name %s is twice in the roster", path, m.name);
    else if (role == CERT_PARTY &&
             (roster_find_key(r, m.key) >= 0 || memcmp(r->server.key, m.key, sizeof m.key) == 0))
        s = error_set(err, STATUS_CONFIG, "%s: the key of %s is twice in the roster", path, m.name);
    if (s == STATUS_OK) {
        memcpy(e->name, m.name, sizeof m.name);
        memcpy(e->operator_name, m.name, sizeof m.name);
        memcpy(e->key, m.key, sizeof m.key);
    }
    members_free(&m);
    return s;
}

/* Names are compared whole, as bytes: an operator decides who counts as colluding with whom. */
static struct roster_entry *find_entry(struct roster *r, const char *name, size_t n)
{
    for (size_t i = 0; i <= r->n; i++) {
        struct roster_entry *e = i == 0 ? &r->server : &r->party[i - 1];

        if (strlen(e->name) == n && memcmp(e->name, name, n) == 0)
            return e;
    }
    return NULL;
}

static enum status set_operators(struct roster *r, const struct options *o, struct error *err)
{
    bool said[WIRE_MEMBERS_MAX + 1] = {false};

    for (size_t i = 0; i < o->operators_n; i++) {
        const char *text = o->operators[i], *equals = strchr(text, '=');
        const size_t n = equals != NULL ? (size_t)(equals - text) : 0;
        struct roster_entry *e;
        size_t place;

        if (equals == NULL || !cert_name_is(text, n) ||
            !cert_name_is(equals + 1, strlen(equals + 1)))
            return error_set(err, STATUS_CONFIG,
                             "--operator: NAME=OPERATOR expected, both names: " CERT_NAME_RULE);
        e = find_entry(r, text, n);
        if (e == NULL)
            return error_set(err, STATUS_CONFIG, "--operator %s: no certificate here has the name",
                             text);
        place = e == &r->server ? WIRE_MEMBERS_MAX : (size_t)(e - r->party);
        if (said[place])
            return error_set(err, STATUS_CONFIG, "--operator %s: its operator is given before",
                             text);
        said[place] = true;
        snprintf(e->operator_name, sizeof e->operator_name, "%s", equals + 1);
    }
    return STATUS_OK;
}

static enum status write_roster(struct roster *r, const struct options *o, struct error *err)
{
    char hex[DIGEST_HEX_CHARS + 1];
    struct buf text;
    enum status s;

    buf_init(&text, PUT_TEXT_MAX);
    roster_seal(r);
    s = roster_print(r, &text);
    s = s == STATUS_OK ? put_file(o->text[OPTION_OUT], &text, PUT_OPEN_TO_ALL, err)
                       : error_set(err, s, "the roster: %s", status_words(s));
    buf_deinit(&text);
    if (s == STATUS_OK) {
        digest_hex(hex, r->digest, sizeof r->digest);
        put_line(o->quiet, "%s", hex);
    }
    return s;
}

enum status members_roster(const struct options *o, struct error *err)
{
    static struct roster r;
    struct cert_authority a;
    enum status s;

    memset(&r, 0, sizeof r);
    if (o->text[OPTION_OUT] == NULL || o->text[OPTION_SERVER] == NULL || o->files_n == 0)
        return error_set(err, STATUS_CONFIG, "--out, --server and party certificates are needed");
    if (o->files_n > WIRE_MEMBERS_MAX)
        return error_set(err, STATUS_CONFIG, "more than %d parties", WIRE_MEMBERS_MAX);
    s = members_authority(&a, o->text[OPTION_CA], err);
    if (s == STATUS_OK)
        s = add(&r, &r.server, &a, o->text[OPTION_SERVER], CERT_SERVER, err);
    for (size_t i = 0; s == STATUS_OK && i < o->files_n; i++) {
        s = add(&r, &r.party[i], &a, o->file[i], CERT_PARTY, err);
        if (s == STATUS_OK)
            r.n = i + 1;
    }
    if (s == STATUS_OK)
        s = set_operators(&r, o, err);
    if (s == STATUS_OK)
        s = write_roster(&r, o, err);
    cert_authority_deinit(&a);
    return s;
}
