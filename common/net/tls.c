/* tls.c -- one connection: handshake, records, why it failed.
 *
 * OpenSSL reads and writes through a BIO of our own: no copy into a memory BIO, no system call, and
 * the room's shared buffers instead of two per connection.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/net/alert.h"
#include "common/net/tls_cert.h"
#include "common/net/tls_context.h"

#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

static int bio_read(BIO *b, char *out, size_t room, size_t *n)
{
    struct tls *s = BIO_get_data(b);

    BIO_clear_retry_flags(b);
    if (s->in_n == 0) {
        BIO_set_retry_read(b);
        return 0;
    }
    *n = room < s->in_n ? room : s->in_n;
    memcpy(out, s->in, *n);
    s->in += *n;
    s->in_n -= *n;
    return 1;
}

static int bio_write(BIO *b, const char *bytes, size_t len, size_t *n)
{
    struct tls *s = BIO_get_data(b);

    BIO_clear_retry_flags(b);
    if (s->out == NULL || buf_append(s->out, bytes, len) != STATUS_OK)
        return 0;
    s->traffic->tls_out += len;
    record_pass(&s->passed_out, (const uint8_t *)bytes, len);
    s->traffic->records_out = s->passed_out.n;
    *n = len;
    return 1;
}

static long bio_ctrl(BIO *b, int command, long number, void *pointer)
{
    (void)b, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *tls_bio_method_new(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "frames");

    if (m == NULL)
        return NULL;
    BIO_meth_set_read_ex(m, bio_read);
    BIO_meth_set_write_ex(m, bio_write);
    BIO_meth_set_ctrl(m, bio_ctrl);
    return m;
}

struct tls *tls_open(struct net_tls *context, const char *peer_name, struct net_traffic *traffic)
{
    struct tls *s = mem_alloc(1, sizeof *s);
    X509_VERIFY_PARAM *param;
    BIO *bio;

    if (s == NULL)
        return NULL;
    buf_init(&s->kept, TLS_INPUT_BYTES);
    s->context = context;
    s->traffic = traffic;
    s->rekey_at = context->limits.rekey_records;
    s->ssl = SSL_new(context->ctx);
    bio = BIO_new(context->bio_method);
    if (s->ssl == NULL || bio == NULL) {
        BIO_free(bio);
        tls_close(s);
        return NULL;
    }
    BIO_set_data(bio, s);
    BIO_set_init(bio, 1);
    SSL_set_bio(s->ssl, bio, bio);
    SSL_set_app_data(s->ssl, s);
    if (peer_name == NULL) {
        SSL_set_accept_state(s->ssl);
        return s;
    }
    param = SSL_get0_param(s->ssl);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT |
                                               X509_CHECK_FLAG_NO_WILDCARDS);
    if (X509_VERIFY_PARAM_set1_host(param, peer_name, 0) != 1) {
        tls_close(s);
        return NULL;
    }
    SSL_set_connect_state(s->ssl);
    return s;
}

void tls_close(struct tls *s)
{
    if (s == NULL)
        return;
    SSL_free(s->ssl);
    buf_deinit(&s->kept);
    ERR_clear_error();
    mem_free(s);
}

void tls_set_output(struct tls *s, struct buf *out)
{
    s->out = out;
}

void tls_feed(struct tls *s, const uint8_t *bytes, size_t n)
{
    CHECK(s->in_n == 0);
    buf_deinit(&s->kept);
    buf_init(&s->kept, TLS_INPUT_BYTES);
    s->in = bytes;
    s->in_n = n;
    record_pass(&s->passed_in, bytes, n);
    s->traffic->records_in = s->passed_in.n;
}

enum status tls_keep_input(struct tls *s)
{
    enum status st;

    if (s->kept.len > 0) {
        buf_consume(&s->kept, s->kept.len - s->in_n);
    } else {
        st = buf_append(&s->kept, s->in, s->in_n);
        if (st != STATUS_OK)
            return st;
    }
    s->in = s->kept.data;
    return STATUS_OK;
}

bool tls_has_input(const struct tls *s)
{
    return s->in_n > 0;
}

bool tls_partial(const struct tls *s)
{
    return SSL_has_pending(s->ssl) == 1;
}

static bool is_alpn_agreed(const struct tls *s)
{
    const unsigned char *name;
    unsigned n;

    SSL_get0_alpn_selected(s->ssl, &name, &n);
    return n == sizeof TLS_ALPN - 1 && memcmp(name, TLS_ALPN, n) == 0;
}

/* The first complaint of the library in its queue is the cause; what follows are consequences. */
static int take_reason(const char **words)
{
    unsigned long e, first = 0;

    while ((e = ERR_get_error()) != 0)
        if (first == 0 && ERR_GET_LIB(e) == ERR_LIB_SSL)
            first = e;
    *words = first != 0 ? ERR_reason_error_string(first) : NULL;
    if (*words == NULL)
        *words = "no reason given";
    return ERR_GET_REASON(first);
}

static enum status explain(const struct tls *s, struct error *err)
{
    const char *words;
    int reason = take_reason(&words);

    if (s->own_fault != X509_V_OK)
        return tls_cert_explain(s->own_fault, err);
    if (s->no_alpn)
        return error_set(err, STATUS_PROTOCOL, "peer does not speak vfl/1 (ALPN)");
    if (reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256 && !s->heard)
        return alert_explain(reason - SSL_AD_REASON_OFFSET, s->context->server, err);
    switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return tls_cert_explain((int)SSL_get_verify_result(s->ssl), err);
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return error_set(err, STATUS_AUTH, "peer sent no certificate");
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
        return error_set(err, STATUS_PROTOCOL, "peer does not speak TLS 1.3");
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_GROUPS:
        return error_set(err, STATUS_PROTOCOL, "no TLS cipher suite or group in common with peer");
    default:
        if (SSL_is_init_finished(s->ssl))
            return error_set(err, STATUS_PROTOCOL, "TLS: %s", words);
        return error_set(err, STATUS_PROTOCOL, "peer does not speak TLS: %s", words);
    }
}

/* An old error in the library's queue would be taken for the next call's; clearing an empty one
 * costs. */
static void forget_errors(void)
{
    if (ERR_peek_error() != 0)
        ERR_clear_error();
}

enum tls_result tls_handshake(struct tls *s, struct error *err)
{
    int rc;

    forget_errors();
    rc = SSL_do_handshake(s->ssl);
    if (rc != 1) {
        if (SSL_get_error(s->ssl, rc) == SSL_ERROR_WANT_READ)
            return TLS_WANT;
        explain(s, err);
        return TLS_FAILED;
    }
    if (!is_alpn_agreed(s)) {
        error_set(err, STATUS_PROTOCOL, "peer does not speak vfl/1 (ALPN)");
        return TLS_FAILED;
    }
    return TLS_DONE;
}

enum tls_result tls_read(struct tls *s, size_t *n, uint8_t *plain, size_t room, struct error *err)
{
    int rc, why;

    CHECK(room >= TLS_RECORD_MAX);
    forget_errors();
    rc = SSL_read_ex(s->ssl, plain, room, n);
    if (rc == 1) {
        s->heard = true;
        return TLS_DONE;
    }
    *n = 0;
    why = SSL_get_error(s->ssl, rc);
    if (why == SSL_ERROR_WANT_READ)
        return TLS_WANT;
    if (why == SSL_ERROR_ZERO_RETURN)
        return TLS_CLOSED;
    explain(s, err);
    return TLS_FAILED;
}

enum status tls_write(struct tls *s, const uint8_t *plain, size_t n, struct error *err)
{
    const char *words;
    size_t written;

    forget_errors();
    /* OpenSSL does not replace keys by itself (threats D8). */
    if (s->traffic->records_out >= s->rekey_at) {
        s->rekey_at = s->traffic->records_out + s->context->limits.rekey_records;
        if (SSL_key_update(s->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
            return error_set(err, STATUS_CRYPTO, "TLS key update failed");
    }
    if (SSL_write_ex(s->ssl, plain, n, &written) == 1 && written == n)
        return STATUS_OK;
    take_reason(&words);
    return error_set(err, STATUS_CRYPTO, "TLS write: %s", words);
}

void tls_goodbye(struct tls *s)
{
    if (SSL_is_init_finished(s->ssl))
        SSL_shutdown(s->ssl);
    ERR_clear_error();
}

bool tls_peer_spki(const struct tls *s, uint8_t spki[NET_SPKI_BYTES])
{
    X509 *leaf = SSL_get0_peer_certificate(s->ssl);

    return leaf != NULL && tls_cert_spki(leaf, spki);
}

bool tls_peer_has_name(const struct tls *s, const char *name)
{
    X509 *leaf = SSL_get0_peer_certificate(s->ssl);

    /* OpenSSL would read a leading dot as "any host below". */
    if (leaf == NULL || name[0] == 0 || name[0] == '.')
        return false;
    return X509_check_host(leaf, name, 0,
                           X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS,
                           NULL) == 1;
}

enum status tls_recheck(const struct tls *s, struct error *err)
{
    X509 *leaf = SSL_get0_peer_certificate(s->ssl);

    if (leaf == NULL)
        return error_set(err, STATUS_AUTH, "peer has no certificate");
    return tls_cert_check(s->context->ctx, leaf, SSL_get_peer_cert_chain(s->ssl),
                          !s->context->server, err);
}
