/* look.c -- what is in a file.
 *
 * What a certificate says is shown by common/crypto/cert.h alone: names that follow the rule, and
 * subjects with all but printable ASCII escaped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/look.h"

#include "common/crypto/cert_make.h"
#include "common/crypto/crl.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"
#include "common/flow/roster.h"
#include "deploy/tools/pki/put.h"
#include "deploy/tools/pki/when.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DAY_S = 86400 };

/* What the first PEM block of a text is. */
enum kind { KIND_NONE, KIND_CERTIFICATE, KIND_REQUEST, KIND_PUBLIC, KIND_PRIVATE, KIND_CRL };

static enum kind kind_of(const struct buf *text)
{
    static const struct {
        const char *words;
        enum kind kind;
    } kinds[] = {{"CERTIFICATE-----", KIND_CERTIFICATE},
                 {"CERTIFICATE REQUEST-----", KIND_REQUEST},
                 {"NEW CERTIFICATE REQUEST-----", KIND_REQUEST},
                 {"PUBLIC KEY-----", KIND_PUBLIC},
                 {"PRIVATE KEY-----", KIND_PRIVATE},
                 {"X509 CRL-----", KIND_CRL}};
    static const char begin[] = "-----BEGIN ";
    const char *at = text->len > 0 ? memmem(text->data, text->len, begin, sizeof begin - 1) : NULL;
    size_t left;

    if (at == NULL)
        return KIND_NONE;
    at += sizeof begin - 1;
    left = text->len - (size_t)(at - (const char *)text->data);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t n = strlen(kinds[i].words);

        if (n <= left && memcmp(at, kinds[i].words, n) == 0)
            return kinds[i].kind;
    }
    return KIND_NONE;
}

static enum status key_of_text(uint8_t out[LOOK_KEY_BYTES], const struct buf *text,
                               const char *path, struct error *err)
{
    uint8_t public_key[SIGN_PUBLIC_BYTES];
    struct sign_key k = {0};
    struct buf pem = {0};
    struct cert c = {0};
    enum status s = STATUS_CONFIG;

    switch (kind_of(text)) {
    case KIND_CERTIFICATE:
        s = cert_parse(&c, text->data, text->len, err);
        if (s == STATUS_OK && (s = cert_key(out, &c)) != STATUS_OK)
            error_set(err, s, "%s", status_words(s));
        cert_deinit(&c);
        if (s != STATUS_OK)
            error_wrap(err, "%s", path);
        return s;
    case KIND_REQUEST:
        buf_init(&pem, CERT_FILE_MAX);
        s = cert_request_read(public_key, &pem, text->data, text->len, err);
        buf_deinit(&pem);
        break;
    case KIND_PUBLIC: s = cert_public_read(public_key, text->data, text->len, err); break;
    case KIND_PRIVATE:
        s = sign_key_load(&k, path, err);
        memcpy(public_key, k.public_key, sizeof public_key);
        sign_key_deinit(&k);
        if (s != STATUS_OK)
            return s;
        break;
    case KIND_NONE:
    case KIND_CRL: error_set(err, s, "no certificate, request or key"); break;
    }
    if (s == STATUS_OK)
        sign_spki_digest(out, public_key);
    else
        error_wrap(err, "%s", path);
    return s;
}

enum status look_key(uint8_t out[LOOK_KEY_BYTES], const char *path, struct error *err)
{
    struct buf text;
    enum status s = put_read(&text, path, CERT_FILE_MAX, err);

    if (s == STATUS_OK)
        s = key_of_text(out, &text, path, err);
    secret_buf_deinit(&text);
    return s;
}

enum status look_fingerprint(const struct options *o, struct error *err)
{
    char hex[DIGEST_HEX_CHARS + 1];
    uint8_t key[LOOK_KEY_BYTES];
    enum status s;

    if (o->files_n != 1)
        return error_set(err, STATUS_CONFIG, "one file is needed");
    s = look_key(key, o->file[0], err);
    if (s == STATUS_OK) {
        digest_hex(hex, key, sizeof key);
        puts(hex);
    }
    return s;
}

enum status look_digest(const struct options *o, struct error *err)
{
    static struct roster r;
    char hex[DIGEST_HEX_CHARS + 1];
    enum status s;

    if (o->files_n != 1)
        return error_set(err, STATUS_CONFIG, "one file is needed");
    s = roster_load(&r, o->file[0], err);
    if (s == STATUS_OK) {
        digest_hex(hex, r.digest, sizeof r.digest);
        puts(hex);
    }
    return s;
}

/* --- show --- */

static void show_dates(int64_t from, int64_t until)
{
    char text[WHEN_SHOWN_CHARS + 1];

    when_show(text, from);
    printf("  notBefore=%s\n", text);
    when_show(text, until);
    printf("  notAfter=%s\n", text);
}

static enum status show_crl(const struct buf *text, struct error *err)
{
    struct crl_facts f;
    enum status s = crl_read(&f, NULL, text->data, text->len, err);

    if (s != STATUS_OK)
        return s;
    puts("  revocation list");
    show_dates(f.from, f.until);
    printf("  revoked=%zu\n", f.revoked);
    if (f.until < (int64_t)time(NULL))
        puts("  EXPIRED");
    return STATUS_OK;
}

static void show_person(const char *what, const struct cert *c,
                        enum status (*print)(struct buf *, const struct cert *))
{
    struct buf text;

    buf_init(&text, CERT_FILE_MAX);
    if (print(&text, c) == STATUS_OK)
        printf("  %s=%.*s\n", what, (int)text.len, (const char *)text.data);
    buf_deinit(&text);
}

static void show_purpose(const struct cert *c)
{
    char name[CERT_NAME_MAX + 1];
    struct error err = {0};

    if (cert_is_ca(c)) {
        printf(cert_path_len(c) < 0 ? "  CA\n" : "  CA, pathlen:%ld\n", cert_path_len(c));
        return;
    }
    if (cert_name(name, c, &err) == STATUS_OK)
        printf("  name=%s\n", name);
    else
        printf("  no name that a roster takes: %s\n", err.text);
    printf("  role=%s%s%s\n", cert_has_role(c, CERT_SERVER) ? "server" : "",
           cert_has_role(c, CERT_SERVER) && cert_has_role(c, CERT_PARTY) ? "," : "",
           cert_has_role(c, CERT_PARTY) ? "party" : "");
}

static enum status show_certificate(const struct buf *text, struct error *err)
{
    const int64_t now = (int64_t)time(NULL);
    char hex[DIGEST_HEX_CHARS + 1];
    uint8_t key[CERT_KEY_BYTES];
    int64_t from, until;
    struct cert c;
    enum status s = cert_parse(&c, text->data, text->len, err);

    if (s == STATUS_OK && (!cert_dates(&from, &until, &c) || cert_key(key, &c) != STATUS_OK))
        s = error_set(err, STATUS_CONFIG, "a certificate without dates or key");
    if (s == STATUS_OK) {
        show_person("subject", &c, cert_print_subject);
        show_person("issuer", &c, cert_print_issuer);
        show_purpose(&c);
        show_dates(from, until);
        if (until < now)
            puts("  EXPIRED");
        else
            printf("  days left=%lld\n", (long long)((until - now) / DAY_S));
        digest_hex(hex, key, sizeof key);
        printf("  fingerprint=%s\n", hex);
    }
    cert_deinit(&c);
    return s;
}

enum status look_show(const struct options *o, struct error *err)
{
    enum status s = STATUS_OK;

    if (o->files_n == 0)
        return error_set(err, STATUS_CONFIG, "a file is needed");
    for (size_t i = 0; s == STATUS_OK && i < o->files_n; i++) {
        struct buf text;
        bool named = false;

        s = put_read(&text, o->file[i], CERT_CRL_MAX, err);
        if (s == STATUS_OK) {
            const enum kind kind = kind_of(&text);

            named = true;
            puts(o->file[i]);
            s = kind == KIND_CRL           ? show_crl(&text, err)
                : kind == KIND_CERTIFICATE ? show_certificate(&text, err)
                                           : error_set(err, STATUS_CONFIG, "no certificate or CRL");
        }
        if (s != STATUS_OK && named)
            error_wrap(err, "%s", o->file[i]);
        secret_buf_deinit(&text);
    }
    return s;
}
