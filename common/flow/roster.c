/* roster.c -- reading and asking the roster.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/roster.h"

#include "common/base/buf.h"
#include "common/base/check.h"
#include "common/base/file.h"
#include "common/config/shape.h"
#include "common/crypto/cert_name.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { ROSTER_FILE_MAX = 128 * 1024 };

/* The file, its entries, an entry, and one more, of which the reader says where it is too much. */
static const struct shape_limits roster_shape = {
    .depth = 4, .nodes = 16 + 8 * (WIRE_MEMBERS_MAX + 1), .scalar_max = 256};

struct reader {
    const char *path;
    yaml_document_t doc;
    struct error *err;
};

static enum status fail(const struct reader *rd, const yaml_node_t *at, const char *what)
{
    return error_set(rd->err, STATUS_CONFIG, "%s:%zu: %s", rd->path,
                     at == NULL ? (size_t)1 : at->start_mark.line + 1, what);
}

static bool scalar_is(const yaml_node_t *node, const char *word)
{
    return node->type == YAML_SCALAR_NODE && node->data.scalar.length == strlen(word) &&
           memcmp(node->data.scalar.value, word, strlen(word)) == 0;
}

static bool key_given(const struct roster_entry *e)
{
    static const uint8_t zero[ROSTER_KEY_BYTES];

    return memcmp(e->key, zero, sizeof zero) != 0;
}

static enum status read_word(const struct reader *rd, char out[WIRE_NAME_MAX + 1],
                             const yaml_node_t *key, const yaml_node_t *value)
{
    const char *text = (const char *)value->data.scalar.value;

    if (out[0] != 0)
        return fail(rd, key, "given twice");
    if (!cert_name_is(text, value->data.scalar.length))
        return fail(rd, value, "a name or operator is none: " CERT_NAME_RULE);
    memcpy(out, text, value->data.scalar.length + 1);
    return STATUS_OK;
}

static enum status read_field(const struct reader *rd, struct roster_entry *e,
                              const yaml_node_t *key, const yaml_node_t *value)
{
    if (value->type != YAML_SCALAR_NODE)
        return fail(rd, key, "a roster entry is {name: ..., key: ..., operator: ...}");
    if (scalar_is(key, "name"))
        return read_word(rd, e->name, key, value);
    if (scalar_is(key, "operator"))
        return read_word(rd, e->operator_name, key, value);
    if (!scalar_is(key, "key"))
        return fail(rd, key, "unknown key in a roster entry; known: name, key, operator");
    if (key_given(e))
        return fail(rd, key, "given twice");
    if (value->data.scalar.length != DIGEST_HEX_CHARS ||
        !digest_from_hex(e->key, ROSTER_KEY_BYTES, (const char *)value->data.scalar.value) ||
        !key_given(e))
        return fail(rd, value,
                    "key: 64 hexadecimal digits expected (see `deploy/vfl pki fingerprint`)");
    return STATUS_OK;
}

static enum status read_entry(struct reader *rd, struct roster_entry *e, const yaml_node_t *node)
{
    memset(e, 0, sizeof *e);
    if (node == NULL || node->type != YAML_MAPPING_NODE)
        return fail(rd, node, "a roster entry is {name: ..., key: ..., operator: ...}");
    for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
         p++) {
        enum status s = read_field(rd, e, yaml_document_get_node(&rd->doc, p->key),
                                   yaml_document_get_node(&rd->doc, p->value));
        if (s != STATUS_OK)
            return s;
    }
    if (e->name[0] == 0 || !key_given(e))
        return fail(rd, node, "a roster entry needs name and key");
    if (e->operator_name[0] == 0)
        memcpy(e->operator_name, e->name, sizeof e->name);
    return STATUS_OK;
}

static enum status read_parties(struct reader *rd, struct roster *r, const yaml_node_t *node)
{
    if (node->type != YAML_SEQUENCE_NODE)
        return fail(rd, node, "parties: a list expected");
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top;
         i++) {
        const yaml_node_t *item = yaml_document_get_node(&rd->doc, *i);
        struct roster_entry *e = &r->party[r->n];
        enum status s;

        if (r->n == WIRE_MEMBERS_MAX)
            return fail(rd, item, "more than 256 parties");
        s = read_entry(rd, e, item);
        if (s != STATUS_OK)
            return s;
        if (roster_find_name(r, e->name) >= 0 || strcmp(e->name, r->server.name) == 0)
            return fail(rd, item, "two entries of one name");
        if (roster_find_key(r, e->key) >= 0 || memcmp(e->key, r->server.key, sizeof e->key) == 0)
            return fail(rd, item, "two entries of one key");
        r->n++;
    }
    return r->n == 0 ? fail(rd, node, "parties: nobody is listed") : STATUS_OK;
}

static enum status read_document(struct reader *rd, struct roster *r)
{
    const yaml_node_t *root = yaml_document_get_root_node(&rd->doc), *parties = NULL;

    if (root == NULL || root->type != YAML_MAPPING_NODE)
        return fail(rd, root, "a roster has the keys server and parties");
    for (yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = yaml_document_get_node(&rd->doc, p->key);
        const yaml_node_t *value = yaml_document_get_node(&rd->doc, p->value);

        if (scalar_is(key, "server")) {
            enum status s = r->server.name[0] != 0 ? fail(rd, key, "given twice")
                                                   : read_entry(rd, &r->server, value);
            if (s != STATUS_OK)
                return s;
        } else if (scalar_is(key, "parties")) {
            if (parties != NULL)
                return fail(rd, key, "given twice");
            parties = value;
        } else {
            return fail(rd, key, "unknown key in a roster; known: server, parties");
        }
    }
    if (r->server.name[0] == 0 || parties == NULL)
        return fail(rd, root, "a roster has the keys server and parties");
    return read_parties(rd, r, parties);
}

static enum status not_yaml(const struct reader *rd, const yaml_parser_t *parser)
{
    return error_set(rd->err, STATUS_CONFIG, "%s:%zu: %s", rd->path, parser->problem_mark.line + 1,
                     parser->problem == NULL ? "not YAML" : parser->problem);
}

/* What stands behind a second `---` would look like part of the roster and be none. */
static enum status expect_end(const struct reader *rd, yaml_parser_t *parser)
{
    enum status s = STATUS_OK;
    yaml_document_t more;
    const yaml_node_t *root;

    if (!yaml_parser_load(parser, &more))
        return not_yaml(rd, parser);
    root = yaml_document_get_root_node(&more);
    if (root != NULL)
        s = fail(rd, root, "a second document");
    yaml_document_delete(&more);
    return s;
}

static enum status read_text(struct reader *rd, struct roster *r, const struct buf *text)
{
    const char *bytes = text->len > 0 ? (const char *)text->data : "", *reason;
    yaml_parser_t parser;
    size_t line;
    enum status s;

    if (!shape_within(bytes, text->len, &roster_shape, &line, &reason))
        return error_set(rd->err, STATUS_CONFIG, "%s:%zu: %s", rd->path, line, reason);
    if (yaml_parser_initialize(&parser) == 0)
        return error_set(rd->err, STATUS_CONFIG, "%s: %s", rd->path, status_words(STATUS_MEMORY));
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, text->len);
    if (!yaml_parser_load(&parser, &rd->doc)) {
        s = not_yaml(rd, &parser);
    } else {
        s = read_document(rd, r);
        if (s == STATUS_OK)
            s = expect_end(rd, &parser);
        yaml_document_delete(&rd->doc);
    }
    yaml_parser_delete(&parser);
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
