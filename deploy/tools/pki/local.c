/* local.c -- a federation on one machine.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/local.h"

#include "common/config/config.h"
#include "common/config/config_keys.h"
#include "common/config/key_print.h"
#include "common/crypto/digest.h"
#include "common/crypto/rng.h"
#include "common/crypto/secret.h"
#include "common/flow/roster.h"
#include "deploy/tools/pki/authority.h"
#include "deploy/tools/pki/hand.h"
#include "deploy/tools/pki/put.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { DAY_S = 86400, EARLIER_S = 3600, CA_DAYS = 3650, CERT_DAYS = 365, PLACE_MAX = 1024 };

/* --- one side --- */

static enum status make_state_key(const char *path, struct error *err)
{
    char text[2 * 32 + 2];
    struct buf b = {(uint8_t *)text, sizeof text - 1, sizeof text, sizeof text};
    struct rng random;
    uint8_t key[32];
    struct stat st;
    enum status s;

    if (lstat(path, &st) == 0)
        return STATUS_OK;
    s = rng_init_system(&random);
    if (s != STATUS_OK)
        return error_set(err, s, "%s: %s", path, status_words(s));
    rng_fill(&random, key, sizeof key);
    rng_deinit(&random);
    digest_hex(text, key, sizeof key);
    memcpy(text + 2 * sizeof key, "\n", 2);
    s = put_secret(path, &b, err);
    secret_wipe(key, sizeof key);
    secret_wipe(text, sizeof text);
    return s;
}

static enum status make_side(struct authority *a, struct roster_entry *e, const char *folder,
                             enum cert_role role, struct error *err)
{
    const char *word = role == CERT_SERVER ? "server" : "party";
    struct authority_order order = {.name = e->name, .role = role};
    struct put_folder f = {-1, ""};
    char path[PLACE_MAX];
    struct sign_key k = {0};
    struct cert c = {0};
    struct buf pem;
    enum status s = put_folder_open(&f, folder, NULL, err);

    buf_init(&pem, CERT_FILE_MAX);
    snprintf(path, sizeof path, "%s/state.key", folder);
    if (s == STATUS_OK)
        s = make_state_key(path, err);
    snprintf(path, sizeof path, "%s/%s.key", folder, word);
    if (s == STATUS_OK)
        s = hand_key(&k, path, err);
    if (s == STATUS_OK) {
        memcpy(order.public_key, k.public_key, sizeof order.public_key);
        sign_spki_digest(e->key, k.public_key);
        order.from = a->now - EARLIER_S;
        order.until = a->now + (int64_t)CERT_DAYS * DAY_S;
        s = authority_issue(a, &c, &order, err);
    }
    snprintf(path, sizeof path, "%s.crt", word);
    if (s == STATUS_OK && (s = cert_print(&pem, &c)) != STATUS_OK)
        error_set(err, s, "%s: %s", e->name, status_words(s));
    if (s == STATUS_OK)
        s = put_in_folder(&f, path, &pem, PUT_OPEN_TO_ALL, err);
    sign_key_deinit(&k);
    cert_deinit(&c);
    buf_deinit(&pem);
    put_folder_close(&f);
    return s;
}

/* --- all of them --- */

static void name_entry(struct roster_entry *e, const char *name)
{
    snprintf(e->name, sizeof e->name, "%s", name);
    memcpy(e->operator_name, e->name, sizeof e->name);
}

static enum status make_sides(struct authority *a, struct roster *r, const char *out,
                              struct error *err)
{
    char folder[PLACE_MAX], name[CERT_NAME_MAX + 1];
    enum status s;

    snprintf(folder, sizeof folder, "%s/server", out);
    name_entry(&r->server, "server");
    s = make_side(a, &r->server, folder, CERT_SERVER, err);
    for (size_t i = 0; s == STATUS_OK && i < r->n; i++) {
        snprintf(folder, sizeof folder, "%s/party-%zu", out, i + 1);
        snprintf(name, sizeof name, "p%zu", i + 1);
        name_entry(&r->party[i], name);
        s = make_side(a, &r->party[i], folder, CERT_PARTY, err);
    }
    return s == STATUS_OK ? authority_keep(a, err) : s;
}

static enum status write_roster(struct roster *r, const char *out, struct error *err)
{
    char path[PLACE_MAX];
    struct buf text;
    enum status s;

    buf_init(&text, PUT_TEXT_MAX);
    snprintf(path, sizeof path, "%s/roster.yaml", out);
    s = roster_print(r, &text);
    s = s == STATUS_OK ? put_file(path, &text, PUT_OPEN_TO_ALL, err)
                       : error_set(err, s, "%s: %s", path, status_words(s));
    buf_deinit(&text);
    return s;
}

enum status local_run(const struct options *o, struct error *err)
{
    static struct roster r;
    const int64_t now = (int64_t)time(NULL);
    const struct cert_terms t = {now - EARLIER_S, now + (int64_t)CA_DAYS * DAY_S};
    char dir[PLACE_MAX];
    struct authority a;
    long m = 0;
    enum status s = options_need(o, OPTION_OUT, err);

    if (s == STATUS_OK)
        s = options_need(o, OPTION_PARTIES, err);
    if (s == STATUS_OK)
        s = options_number(&m, "--parties", o->text[OPTION_PARTIES], 1, WIRE_MEMBERS_MAX, err);
    if (s != STATUS_OK)
        return s;
    put_lightly();
    r.n = (size_t)m;
    if ((size_t)snprintf(dir, sizeof dir, "%s/pki", o->text[OPTION_OUT]) >= AUTHORITY_PATH_MAX)
        return error_set(err, STATUS_CONFIG, "--out: a path too long");
    s = authority_make(&a, dir, "Colonnade trial CA", &t, err);
    if (s == STATUS_OK)
        s = make_sides(&a, &r, o->text[OPTION_OUT], err);
    authority_close(&a);
    return s == STATUS_OK ? write_roster(&r, o->text[OPTION_OUT], err) : s;
}

/* --- values --- */

enum status local_value(const struct options *o, struct error *err)
{
    static struct config_server c;
    enum status s;

    if (o->files_n < 2)
        return error_set(err, STATUS_CONFIG, "a configuration and its keys are needed");
    s = config_load_server(&c, o->file[0], NULL, 0, err);
    for (size_t i = 1; s == STATUS_OK && i < o->files_n; i++) {
        const int row = key_find(&config_keys_server, o->file[i]);
        const struct key *k;
        struct buf text;
        size_t offset;

        if (row < 0)
            return error_set(err, STATUS_CONFIG, "%.80s: no key", o->file[i]);
        k = key_at(&config_keys_server, (size_t)row, &offset);
        buf_init(&text, PUT_TEXT_MAX);
        s = key_print(k, (const char *)&c + offset, &text);
        if (s == STATUS_OK)
            printf("%.*s\n", (int)text.len, (const char *)text.data);
        else
            error_set(err, s, "%s: %s", k->path, status_words(s));
        buf_deinit(&text);
    }
    return s;
}
