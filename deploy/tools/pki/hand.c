/* hand.c -- making CAs, requests, certificates and revocation lists.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/hand.h"

#include "common/config/key_text.h"
#include "common/crypto/secret.h"
#include "deploy/tools/pki/authority.h"
#include "deploy/tools/pki/put.h"
#include "deploy/tools/pki/when.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { DAY_S = 86400, EARLIER_S = 3600, CA_DAYS = 3650, CERT_DAYS = 365, CRL_DAYS = 90 };

/* Certificates begin an hour ago, so that a host whose clock is a little behind takes them. */
static enum status dates(int64_t *from, int64_t *until, const struct options *o, long days,
                         struct error *err)
{
    const int64_t now = (int64_t)time(NULL);
    const char *start = o->text[OPTION_START];

    *from = now - EARLIER_S;
    *until = now;
    if (start != NULL && start[0] != 0) {
        if (!when_read(from, start, now))
            return error_set(err, STATUS_CONFIG,
                             "--start: no date (YYYY-MM-DD, YYYY-MM-DD HH:MM, '3 days', "
                             "'3 days ago')");
        *until = *from;
    }
    *until += (o->days != 0 ? o->days : days) * (int64_t)DAY_S;
    return STATUS_OK;
}

/* --- the CA --- */

enum status hand_ca(const struct options *o, struct error *err)
{
    const char *name = o->text[OPTION_NAME] != NULL ? o->text[OPTION_NAME] : "Colonnade CA";
    const char *dir = o->text[OPTION_CA];
    struct cert_terms t = {0, 0};
    struct authority a;
    enum status s = options_need(o, OPTION_CA, err);

    if (s == STATUS_OK &&
        (name[0] == 0 || strlen(name) > CERT_CA_NAME_MAX || !key_text_is_printable(name)))
        s = error_set(err, STATUS_CONFIG, "--name: 1 to %d printable characters expected",
                      CERT_CA_NAME_MAX);
    if (s == STATUS_OK)
        s = dates(&t.from, &t.until, o, CA_DAYS, err);
    if (s != STATUS_OK)
        return s;
    s = authority_make(&a, dir, name, &t, err);
    authority_close(&a);
    if (s == STATUS_OK)
        put_line(o->quiet, "CA in %s: give ca.crt and ca.crl to everybody, ca.key to nobody", dir);
    return s;
}

enum status hand_crl(const struct options *o, struct error *err)
{
    struct authority a;
    enum status s = options_need(o, OPTION_CA, err);

    if (s != STATUS_OK)
        return s;
    s = authority_open(&a, o->text[OPTION_CA], err);
    if (s == STATUS_OK)
        s = authority_crl(&a, o->days != 0 ? o->days : CRL_DAYS, err);
    authority_close(&a);
    return s;
}

enum status hand_revoke(const struct options *o, struct error *err)
{
    const char *name = o->text[OPTION_NAME] != NULL ? o->text[OPTION_NAME] : "";
    struct authority a;
    enum status s = options_check_name(name, err);

    if (s == STATUS_OK)
        s = options_need(o, OPTION_CA, err);
    if (s != STATUS_OK)
        return s;
    s = authority_open(&a, o->text[OPTION_CA], err);
    if (s == STATUS_OK)
        s = authority_revoke(&a, name, err);
    if (s == STATUS_OK)
        s = authority_keep(&a, err);
    if (s == STATUS_OK)
        s = authority_crl(&a, CRL_DAYS, err);
    authority_close(&a);
    if (s == STATUS_OK)
        put_line(o->quiet, "%s is revoked: give %s/ca.crl to every host and send its daemon SIGHUP",
                 name, o->text[OPTION_CA]);
    return s;
}

/* --- requests and certificates --- */

enum status hand_key(struct sign_key *k, const char *path, struct error *err)
{
    struct stat st;
    struct buf pem;
    enum status s;

    if (lstat(path, &st) == 0)
        return sign_key_load(k, path, err);
    buf_init(&pem, SIGN_KEY_FILE_MAX);
    s = cert_make_key(k, &pem);
    if (s == STATUS_OK)
        s = put_secret(path, &pem, err);
    else
        error_set(err, s, "%s: %s", path, status_words(s));
    secret_buf_deinit(&pem);
    return s;
}

enum status hand_csr(const struct options *o, struct error *err)
{
    const char *name = o->text[OPTION_NAME] != NULL ? o->text[OPTION_NAME] : "";
    struct sign_key k = {0};
    struct buf pem;
    enum status s = options_check_name(name, err);

    if (s == STATUS_OK)
        s = options_need(o, OPTION_KEY, err);
    if (s == STATUS_OK)
        s = options_need(o, OPTION_OUT, err);
    if (s != STATUS_OK)
        return s;
    buf_init(&pem, CERT_FILE_MAX);
    s = hand_key(&k, o->text[OPTION_KEY], err);
    if (s == STATUS_OK) {
        s = cert_make_request(&pem, &k, name);
        if (s != STATUS_OK)
            error_set(err, s, "%s: %s", name, status_words(s));
    }
    if (s == STATUS_OK)
        s = put_file(o->text[OPTION_OUT], &pem, PUT_OPEN_TO_ALL, err);
    sign_key_deinit(&k);
    buf_deinit(&pem);
    if (s == STATUS_OK)
        put_line(o->quiet, "request %s; the key %s stays on this host", o->text[OPTION_OUT],
                 o->text[OPTION_KEY]);
    return s;
}

/* Signs, keeps the index and the request, writes --out. */
static enum status sign(struct authority *a, struct authority_order *order, const struct options *o,
                        struct error *err)
{
    const char *out = o->text[OPTION_OUT];
    struct cert c = {0};
    struct buf pem;
    enum status s = dates(&order->from, &order->until, o, CERT_DAYS, err);

    buf_init(&pem, CERT_FILE_MAX);
    if (s == STATUS_OK)
        s = put_check(out, err);
    if (s == STATUS_OK)
        s = authority_issue(a, &c, order, err);
    if (s == STATUS_OK)
        s = authority_keep(a, err);
    if (s == STATUS_OK)
        s = authority_remember(a, order, err);
    if (s == STATUS_OK) {
        s = cert_print(&pem, &c);
        s = s == STATUS_OK ? put_file(out, &pem, PUT_OPEN_TO_ALL, err)
                           : error_set(err, s, "%s: %s", out, status_words(s));
    }
    cert_deinit(&c);
    buf_deinit(&pem);
    if (s == STATUS_OK)
        put_line(o->quiet, "certificate %s: %s %s, %ld days", out,
                 order->role == CERT_SERVER ? "server" : "party", order->name,
                 o->days != 0 ? o->days : CERT_DAYS);
    return s;
}

static enum status read_request(struct authority_order *order, struct buf *pem, const char *path,
                                struct error *err)
{
    struct buf text;
    enum status s = put_read(&text, path, CERT_FILE_MAX, err);

    if (s == STATUS_OK) {
        s = cert_request_read(order->public_key, pem, text.data, text.len, err);
        if (s != STATUS_OK)
            error_wrap(err, "%s", path);
    }
    secret_buf_deinit(&text);
    return s;
}

enum status hand_issue(const struct options *o, struct error *err)
{
    const char *name = o->text[OPTION_NAME] != NULL ? o->text[OPTION_NAME] : "";
    const char *role = o->text[OPTION_ROLE] != NULL ? o->text[OPTION_ROLE] : "";
    struct authority_order order = {.name = name};
    struct authority a;
    struct buf pem;
    enum status s = options_check_name(name, err);

    if (s == STATUS_OK && strcmp(role, "server") != 0 && strcmp(role, "party") != 0)
        s = error_set(err, STATUS_CONFIG, "--role: server or party expected");
    if (s == STATUS_OK)
        s = options_need(o, OPTION_OUT, err);
    if (s == STATUS_OK)
        s = options_need(o, OPTION_CSR, err);
    if (s == STATUS_OK)
        s = options_need(o, OPTION_CA, err);
    if (s != STATUS_OK)
        return s;
    order.role = strcmp(role, "server") == 0 ? CERT_SERVER : CERT_PARTY;
    order.request = &pem;
    buf_init(&pem, CERT_FILE_MAX);
    s = read_request(&order, &pem, o->text[OPTION_CSR], err);
    if (s == STATUS_OK) {
        s = authority_open(&a, o->text[OPTION_CA], err);
        if (s == STATUS_OK)
            s = sign(&a, &order, o, err);
        authority_close(&a);
    }
    buf_deinit(&pem);
    return s;
}

enum status hand_renew(const struct options *o, struct error *err)
{
    const char *name = o->text[OPTION_NAME] != NULL ? o->text[OPTION_NAME] : "";
    struct authority_order order;
    struct buf request = {0};
    struct authority a;
    enum status s = options_check_name(name, err);

    if (s == STATUS_OK)
        s = options_need(o, OPTION_OUT, err);
    if (s == STATUS_OK)
        s = options_need(o, OPTION_CA, err);
    if (s != STATUS_OK)
        return s;
    s = authority_open(&a, o->text[OPTION_CA], err);
    if (s == STATUS_OK)
        s = authority_recall(&a, &order, &request, name, err);
    if (s == STATUS_OK)
        s = sign(&a, &order, o, err);
    authority_close(&a);
    buf_deinit(&request);
    return s;
}
