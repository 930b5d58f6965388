/* roster.c -- reading and asking the roster.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/roster.h"

#include "common/base/buf.h"
#include "common/base/check.h"
#include "common/base/file.h"
#include "common/config/tree.h"
#include "common/crypto/cert_name.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"

#include <stdio.h>
#include <string.h>

enum { ROSTER_FILE_MAX = 128 * 1024 };

/* The file, its entries, an entry, and one more, of which the reader says where it is too much. */
static const struct tree_limits limits = {.bytes = ROSTER_FILE_MAX,
                                          .depth = 4,
                                          .nodes = 16 + 8 * (WIRE_MEMBERS_MAX + 1),
                                          .text_max = 256};

struct reader {
    const char *path;
    struct error *err;
};

static enum status refuse(const struct reader *rd, int line, const char *what)
{
    return error_set(rd->err, STATUS_CONFIG, "%s:%d: %s", rd->path, line, what);
}

static bool key_given(const struct roster_entry *e)
{
    static const uint8_t zero[ROSTER_KEY_BYTES];

    return memcmp(e->key, zero, sizeof zero) != 0;
}

static enum status read_word(const struct reader *rd, char out[WIRE_NAME_MAX + 1],
                             const struct tree *t)
{
    const size_t n = strlen(t->text);

    if (!cert_name_is(t->text, n))
        return refuse(rd, t->value_line, "a name or operator is none: " CERT_NAME_RULE);
    memcpy(out, t->text, n + 1);
    return STATUS_OK;
}

static enum status read_field(const struct reader *rd, struct roster_entry *e, const struct tree *t)
{
    if (t->kind != TREE_SCALAR)
        return refuse(rd, t->line, "a roster entry is {name: ..., key: ..., operator: ...}");
    if (strcmp(t->name, "name") == 0)
        return read_word(rd, e->name, t);
    if (strcmp(t->name, "operator") == 0)
        return read_word(rd, e->operator_name, t);
    if (strcmp(t->name, "key") != 0)
        return refuse(rd, t->line, "unknown key in a roster entry; known: name, key, operator");
    if (strlen(t->text) != DIGEST_HEX_CHARS ||
        !digest_from_hex(e->key, ROSTER_KEY_BYTES, t->text) || !key_given(e))
        return refuse(rd, t->value_line,
                      "key: 64 hexadecimal digits expected (see `deploy/vfl pki fingerprint`)");
    return STATUS_OK;
}

static enum status read_entry(const struct reader *rd, struct roster_entry *e, const struct tree *t)
{
    memset(e, 0, sizeof *e);
    if (t->kind != TREE_MAP)
        return refuse(rd, t->value_line, "a roster entry is {name: ..., key: ..., operator: ...}");
    for (const struct tree *field = t->first; field != NULL; field = field->next) {
        enum status s = read_field(rd, e, field);

        if (s != STATUS_OK)
            return s;
    }
    if (e->name[0] == 0 || !key_given(e))
        return refuse(rd, t->value_line, "a roster entry needs name and key");
    if (e->operator_name[0] == 0)
        memcpy(e->operator_name, e->name, sizeof e->name);
    return STATUS_OK;
}

static enum status read_parties(const struct reader *rd, struct roster *r, const struct tree *t)
{
    if (t->kind != TREE_LIST)
        return refuse(rd, t->value_line, "parties: a list expected");
    for (const struct tree *item = t->first; item != NULL; item = item->next) {
        struct roster_entry *e = &r->party[r->n];
        enum status s;

        if (r->n == WIRE_MEMBERS_MAX)
            return refuse(rd, item->line, "more than 256 parties");
        s = read_entry(rd, e, item);
        if (s != STATUS_OK)
            return s;
        if (roster_find_name(r, e->name) >= 0 || strcmp(e->name, r->server.name) == 0)
            return refuse(rd, item->line, "two entries of one name");
        if (roster_find_key(r, e->key) >= 0 || memcmp(e->key, r->server.key, sizeof e->key) == 0)
            return refuse(rd, item->line, "two entries of one key");
        r->n++;
    }
    return r->n == 0 ? refuse(rd, t->value_line, "parties: nobody is listed") : STATUS_OK;
}

static enum status read_roster(const struct reader *rd, struct roster *r, const struct tree *root)
{
    const struct tree *parties = NULL;

    if (root == NULL || root->kind != TREE_MAP)
        return refuse(rd, root == NULL ? 1 : root->line,
                      "a roster has the keys server and parties");
    for (const struct tree *t = root->first; t != NULL; t = t->next) {
        enum status s = STATUS_OK;

        if (strcmp(t->name, "server") == 0)
            s = read_entry(rd, &r->server, t);
        else if (strcmp(t->name, "parties") == 0)
            parties = t;
        else
            s = refuse(rd, t->line, "unknown key in a roster; known: server, parties");
        if (s != STATUS_OK)
            return s;
    }
    if (r->server.name[0] == 0 || parties == NULL)
        return refuse(rd, root->line, "a roster has the keys server and parties");
    return read_parties(rd, r, parties);
}

static enum status read_text(const struct reader *rd, struct roster *r, const struct buf *text)
{
    const struct tree *root;
    struct tree_fault f;
    struct arena a;
    enum status s = tree_read(&root, &a, (const char *)text->data, text->len, &limits, &f);

    s = s == STATUS_OK ? read_roster(rd, r, root) : tree_refuse(rd->path, s, &f, rd->err);
    arena_deinit(&a);
    return s;
}

enum status roster_load(struct roster *r, const char *path, struct error *err)
{
    struct reader rd = {.path = path, .err = err};
    struct buf text;
    enum status s;

    memset(r, 0, sizeof *r);
    buf_init(&text, ROSTER_FILE_MAX);
    s = file_read(path, &text, err);
    if (s != STATUS_OK) {
        buf_deinit(&text);
        error_wrap(err, "roster");
        if (err != NULL)
            err->status = STATUS_CONFIG;
        return STATUS_CONFIG;
    }
    s = read_text(&rd, r, &text);
    buf_deinit(&text);
    if (s == STATUS_OK)
        roster_seal(r);
    return s;
}

static void seal_entry(struct digest *d, const char *role, const struct roster_entry *e)
{
    char line[256], hex[DIGEST_HEX_CHARS + 1];
    int n;

    digest_hex(hex, e->key, sizeof e->key);
    n = snprintf(line, sizeof line, "%s %s %s %s\n", role, e->name, hex, e->operator_name);
    digest_update(d, line, (size_t)n);
}

void roster_seal(struct roster *r)
{
    struct digest d;

    digest_begin(&d);
    seal_entry(&d, "server", &r->server);
    for (size_t i = 0; i < r->n; i++)
        seal_entry(&d, "party", &r->party[i]);
    digest_final(&d, r->digest);
    digest_deinit(&d);
}

static enum status print_entry(const char *before, const struct roster_entry *e, struct buf *out)
{
    char hex[DIGEST_HEX_CHARS + 1];

    /* What stands between braces unquoted must not be able to end them. */
    CHECK(cert_name_is(e->name, strlen(e->name)) &&
          cert_name_is(e->operator_name, strlen(e->operator_name)));
    digest_hex(hex, e->key, sizeof e->key);
    return buf_printf(out, "%s{name: %s, key: %s, operator: %s}\n", before, e->name, hex,
                      e->operator_name);
}

enum status roster_print(const struct roster *r, struct buf *out)
{
    enum status s = buf_printf(
        out, "# The roster: who takes part, in this order.  Digest: vfl pki digest FILE\n");

    if (s == STATUS_OK)
        s = print_entry("server: ", &r->server, out);
    if (s == STATUS_OK)
        s = buf_printf(out, "parties:\n");
    for (size_t i = 0; s == STATUS_OK && i < r->n; i++)
        s = print_entry("  - ", &r->party[i], out);
    return s;
}

int roster_find_key(const struct roster *r, const uint8_t key[ROSTER_KEY_BYTES])
{
    for (size_t i = 0; i < r->n; i++) {
        if (secret_equal(r->party[i].key, key, ROSTER_KEY_BYTES))
            return (int)i;
    }
    return -1;
}

int roster_find_name(const struct roster *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(r->party[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

/* Members run by `operator_name`. */
static uint32_t run_by(const struct roster *r, const uint8_t *members, size_t n,
                       const char *operator_name)
{
    uint32_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += strcmp(r->party[members[i]].operator_name, operator_name) == 0;
    return count;
}

uint32_t roster_servers(const struct roster *r, const uint8_t *members, size_t n, uint32_t self)
{
    const char *own = r->party[self].operator_name, *server = r->server.operator_name;

    return strcmp(own, server) == 0 ? 0 : run_by(r, members, n, server);
}

uint32_t roster_colluders(const struct roster *r, const uint8_t *members, size_t n, uint32_t self)
{
    const char *own = r->party[self].operator_name, *server = r->server.operator_name;
    uint32_t with_server = roster_servers(r, members, n, self);
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++) {
        const char *other = r->party[members[i]].operator_name;
        uint32_t count;

        if (strcmp(other, own) == 0 || strcmp(other, server) == 0)
            continue;
        count = run_by(r, members, n, other);
        if (count > most)
            most = count;
    }
    most += with_server;
    return most == 0 ? 1 : most;
}
