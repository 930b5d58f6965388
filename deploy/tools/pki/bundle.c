/* bundle.c -- folders for hosts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/bundle.h"

#include "common/base/mem.h"
#include "common/config/config.h"
#include "common/crypto/crl.h"
#include "common/crypto/digest.h"
#include "deploy/tools/pki/bundle_text.h"
#include "deploy/tools/pki/members.h"
#include "deploy/tools/pki/put.h"

#include <stdio.h>
#include <string.h>

enum { UNIT_MAX = 65536, PATH_TEXT_MAX = 1024, ALLOWED_MAX = 16384 };

static const char *const words[] = {[CERT_PARTY] = "party", [CERT_SERVER] = "server"};

struct bundle {
    const struct options *o;
    struct bundle_address address;
    struct cert_authority ca;
    struct roster roster;
    struct buf roster_text, ca_text, crl_text, plan, unit[2];
    char allowed[2][ALLOWED_MAX]; /* by role */
    struct member *member;        /* the server, then the parties */
    size_t members_n;
};

/* --- what is judged --- */

static enum status read_allowed(struct bundle *b, struct error *err)
{
    char *server = b->allowed[CERT_SERVER], *party = b->allowed[CERT_PARTY];
    size_t used = 0;

    for (size_t i = 0; i < b->o->allow_n; i++) {
        const char *one = b->o->allow[i];

        if (!bundle_is_network(one))
            return error_set(err, STATUS_CONFIG,
                             "--allow: an address or a network (10.1.0.0/16) expected");
        used += (size_t)snprintf(server + used, ALLOWED_MAX - used, "%s%s", i > 0 ? " " : "", one);
    }
    if (used == 0) {
        snprintf(server, ALLOWED_MAX, "any");
        snprintf(party, ALLOWED_MAX, "%s", b->address.numeric ? b->address.host : "any");
    } else {
        memcpy(party, server, used + 1);
    }
    return STATUS_OK;
}

static enum status read_crl(struct bundle *b, const char *dir, struct error *err)
{
    char path[PATH_TEXT_MAX];
    struct crl_facts facts;
    struct buf text;
    enum status s;

    snprintf(path, sizeof path, "%s/ca.crl", dir);
    s = put_read(&text, path, CERT_CRL_MAX, err);
    if (s == STATUS_OK) {
        s = crl_read(&facts, &b->crl_text, text.data, text.len, err);
        if (s != STATUS_OK)
            error_wrap(err, "%s", path);
    }
    buf_deinit(&text);
    return s;
}

static enum status read_texts(struct bundle *b, struct error *err)
{
    const char *units = b->o->text[OPTION_UNITS];
    enum status s = read_crl(b, b->o->text[OPTION_CA] != NULL ? b->o->text[OPTION_CA] : "ca", err);

    if (s == STATUS_OK && b->o->text[OPTION_PLAN] != NULL)
        s = config_print_plan_file(b->o->text[OPTION_PLAN], &b->plan, err);
    for (int role = 0; s == STATUS_OK && role < 2; role++) {
        char path[PATH_TEXT_MAX];

        snprintf(path, sizeof path, "%s/vfl-%s.service", units != NULL ? units : "deploy/systemd",
                 words[role]);
        s = put_read(&b->unit[role], path, UNIT_MAX, err);
        if (s != STATUS_OK && err != NULL)
            err->status = s = STATUS_IO; /* an installation that is not whole */
    }
    if (s != STATUS_OK)
        return s;
    s = roster_print(&b->roster, &b->roster_text);
    if (s == STATUS_OK)
        s = cert_print(&b->ca_text, &b->ca.self);
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}

static enum status take_member(struct bundle *b, const char *path, enum cert_role role,
                               struct error *err)
{
    struct member *m = &b->member[b->members_n];
    const struct roster_entry *e = &b->roster.server;
    enum status s = members_take(m, &b->ca, path, role, err);
    int i;

    if (s != STATUS_OK)
        return s;
    b->members_n++;
    if (role == CERT_PARTY) {
        i = roster_find_name(&b->roster, m->name);
        e = i >= 0 ? &b->roster.party[i] : NULL;
    }
    if (e == NULL || strcmp(e->name, m->name) != 0 || memcmp(e->key, m->key, sizeof m->key) != 0)
        return error_set(err, STATUS_CONFIG, "%s: %s is not in %s as %s with this key", path,
                         m->name, b->o->text[OPTION_ROSTER],
                         role == CERT_SERVER ? "the server" : "a party");
    for (size_t k = 0; k + 1 < b->members_n; k++) {
        if (strcmp(b->member[k].name, m->name) == 0)
            return error_set(err, STATUS_CONFIG, "%s: %s is given before", path, m->name);
    }
    return STATUS_OK;
}

static enum status judge(struct bundle *b, struct error *err)
{
    const struct options *o = b->o;
    const char *address = o->text[OPTION_ADDRESS] != NULL ? o->text[OPTION_ADDRESS] : "";
    enum status s;

    if (o->text[OPTION_ROSTER] == NULL || o->text[OPTION_SERVER] == NULL ||
        o->text[OPTION_OUT] == NULL || o->files_n == 0)
        return error_set(err, STATUS_CONFIG,
                         "--roster, --server, --address, --out and party certificates are needed "
                         "(--help)");
    if (!bundle_address_read(&b->address, address))
        return error_set(err, STATUS_CONFIG, "--address: HOST:PORT or [IPV6]:PORT expected");
    s = read_allowed(b, err);
    if (s == STATUS_OK)
        s = members_authority(&b->ca, o->text[OPTION_CA], err);
    if (s == STATUS_OK)
        s = roster_load(&b->roster, o->text[OPTION_ROSTER], err);
    if (s == STATUS_OK)
        s = take_member(b, o->text[OPTION_SERVER], CERT_SERVER, err);
    for (size_t i = 0; s == STATUS_OK && i < o->files_n; i++)
        s = take_member(b, o->file[i], CERT_PARTY, err);
    return s == STATUS_OK ? read_texts(b, err) : s;
}

/* --- what is written --- */

/* The text and its name; out->len is 0 again. */
static enum status write_text(const struct put_folder *f, const char *name, struct buf *text,
                              enum status made, struct error *err)
{
    enum status s = made;

    if (s == STATUS_OK)
        s = put_in_folder(f, name, text, PUT_OPEN_TO_ALL, err);
    else
        error_set(err, s, "%s/%s: %s", f->path, name, status_words(s));
    text->len = 0;
    return s;
}

static enum status write_own(struct bundle *b, const struct put_folder *f, const struct member *m,
                             enum cert_role role, struct error *err)
{
    char name[32];
    struct buf text;
    enum status s;

    buf_init(&text, PUT_TEXT_MAX);
    snprintf(name, sizeof name, "%s.crt", words[role]);
    s = write_text(f, name, &text, cert_print(&text, &m->cert), err);
    snprintf(name, sizeof name, "%s.yaml", words[role]);
    if (s == STATUS_OK)
        s = write_text(f, name, &text,
                       role == CERT_SERVER ? bundle_server_yaml(&text, &b->address, &b->plan)
                                           : bundle_party_yaml(&text, &b->address),
                       err);
    snprintf(name, sizeof name, "vfl-%s.service", words[role]);
    if (s == STATUS_OK)
        s = write_text(f, name, &text, bundle_unit(&text, &b->unit[role], b->allowed[role]), err);
    if (s == STATUS_OK)
        s = write_text(f, "README.txt", &text, bundle_readme(&text, m->name, role, b->address.port),
                       err);
    buf_deinit(&text);
    return s;
}

static enum status write_folder(struct bundle *b, const struct member *m, enum cert_role role,
                                struct error *err)
{
    struct put_folder f;
    enum status s = put_folder_open(&f, b->o->text[OPTION_OUT], m->name, err);

    if (s == STATUS_OK)
        s = put_in_folder(&f, "ca.crt", &b->ca_text, PUT_OPEN_TO_ALL, err);
    if (s == STATUS_OK)
        s = put_in_folder(&f, "ca.crl", &b->crl_text, PUT_OPEN_TO_ALL, err);
    if (s == STATUS_OK)
        s = put_in_folder(&f, "roster.yaml", &b->roster_text, PUT_OPEN_TO_ALL, err);
    if (s == STATUS_OK)
        s = write_own(b, &f, m, role, err);
    put_folder_close(&f);
    return s;
}

static void tell(const struct bundle *b)
{
    char hex[DIGEST_HEX_CHARS + 1];

    digest_hex(hex, b->roster.digest, sizeof b->roster.digest);
    if (b->members_n != b->roster.n + 1)
        put_line(b->o->quiet, "note: %zu folders for the %zu entries of the roster", b->members_n,
                 b->roster.n + 1);
    put_line(b->o->quiet, "folders in %s; roster digest %s", b->o->text[OPTION_OUT], hex);
}

static void release(struct bundle *b)
{
    for (size_t i = 0; i < b->members_n; i++)
        members_free(&b->member[i]);
    mem_free(b->member);
    cert_authority_deinit(&b->ca);
    buf_deinit(&b->roster_text);
    buf_deinit(&b->ca_text);
    buf_deinit(&b->crl_text);
    buf_deinit(&b->plan);
    buf_deinit(&b->unit[0]);
    buf_deinit(&b->unit[1]);
}

enum status bundle_run(const struct options *o, struct error *err)
{
    static struct bundle b;
    enum status s;

    memset(&b, 0, sizeof b);
    b.o = o;
    buf_init(&b.roster_text, PUT_TEXT_MAX);
    buf_init(&b.ca_text, CERT_FILE_MAX);
    buf_init(&b.crl_text, CERT_CRL_MAX);
    buf_init(&b.plan, PUT_TEXT_MAX);
    b.member = mem_alloc(o->files_n + 1, sizeof *b.member);
    s = b.member != NULL ? judge(&b, err)
                         : error_set(err, STATUS_MEMORY, "%s", status_words(STATUS_MEMORY));
    for (size_t i = 0; s == STATUS_OK && i < b.members_n; i++)
        s = write_folder(&b, &b.member[i], i == 0 ? CERT_SERVER : CERT_PARTY, err);
    if (s == STATUS_OK)
        tell(&b);
    release(&b);
    return s;
}
