/* tls_context.c -- loads an identity and sets the rules of TLS for one role (threats D3, D4).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls_context.h"

#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/crypto/pem.h"
#include "common/crypto/sign.h"
#include "common/net/tls_cert.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

enum { PEM_FILE_MAX = 16 << 20 }; /* a CA's list of 200,000 revoked certificates */

#define SUITES "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
#define GROUPS "X25519:P-256"

static const char *last_reason(void)
{
    const char *words = ERR_reason_error_string(ERR_peek_last_error());

    return words != NULL ? words : "not understood";
}

/* By our own hand and not by OpenSSL's, which waits for a pipe that is named as a certificate. */
static enum status read_pem(BIO **bio, struct buf *text, const char *key, const char *path,
                            struct error *err)
{
    enum status s;

    *bio = NULL;
    if (path == NULL || path[0] == 0)
        return error_set(err, STATUS_IDENTITY, "identity.%s: missing", key);
    buf_init(text, PEM_FILE_MAX);
    s = file_read(path, text, err);
    if (s != STATUS_OK && s != STATUS_MEMORY) {
        error_wrap(err, "identity.%s", key);
        return err != NULL ? err->status = STATUS_IDENTITY : STATUS_IDENTITY;
    }
    if (s == STATUS_OK)
        *bio = BIO_new_mem_buf(text->len > 0 ? (const void *)text->data : "", (int)text->len);
    if (*bio != NULL)
        return STATUS_OK;
    return error_set(err, STATUS_MEMORY, "identity.%s: %s", key, status_words(STATUS_MEMORY));
}

/* PEM files end where no other block begins; what was read before counts. */
static bool at_the_end(void)
{
    unsigned long e = ERR_peek_last_error();

    if (ERR_GET_LIB(e) != ERR_LIB_PEM || ERR_GET_REASON(e) != PEM_R_NO_START_LINE)
        return false;
    ERR_clear_error();
    return true;
}

/* Through a buffer of our own and not stdio's, so that the text of the key can be wiped. */
static enum status load_key(SSL_CTX *ctx, const char *path, struct error *err)
{
    struct buf text;
    EVP_PKEY *key = NULL;
    BIO *bio = NULL;
    enum status s;

    buf_init(&text, SIGN_KEY_FILE_MAX);
    s = file_read_private(path, &text, err);
    if (s == STATUS_CONFIG) {
        error_wrap(err, "identity.key");
        s = err != NULL ? err->status = STATUS_IDENTITY : STATUS_IDENTITY;
    }
    if (s == STATUS_OK) {
        bio = BIO_new_mem_buf(text.data, (int)text.len);
        key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, pem_no_password, NULL) : NULL;
        if (key == NULL)
            s = error_set(err, STATUS_IDENTITY, "identity.key: %s: %s", path, last_reason());
        else if (SSL_CTX_use_PrivateKey(ctx, key) != 1 || SSL_CTX_check_private_key(ctx) != 1)
            s = error_set(err, STATUS_IDENTITY, "identity.key: %s: not the key of identity.cert",
                          path);
    }
    EVP_PKEY_free(key);
    BIO_free(bio);
    if (text.data != NULL)
        OPENSSL_cleanse(text.data, text.cap);
    buf_deinit(&text);
    return s;
}

/* Like SSL_CTX_load_verify_locations: certificates and what CRLs stand among them. */
static bool add_authorities(X509_STORE *store, BIO *bio)
{
    STACK_OF(X509_INFO) *all = PEM_X509_INFO_read_bio(bio, NULL, pem_no_password, NULL);
    int certificates = 0;
    bool good = all != NULL;

    for (int i = 0; good && i < sk_X509_INFO_num(all); i++) {
        const X509_INFO *one = sk_X509_INFO_value(all, i);

        if (one->x509 != NULL)
            good = X509_STORE_add_cert(store, one->x509) == 1;
        if (good && one->crl != NULL)
            good = X509_STORE_add_crl(store, one->crl) == 1;
        certificates += one->x509 != NULL;
    }
    sk_X509_INFO_pop_free(all, X509_INFO_free);
    return good && certificates > 0;
}

static bool add_crls(X509_STORE *store, BIO *bio)
{
    bool good = true;
    int n = 0;

    for (; good; n++) {
        X509_CRL *crl = PEM_read_bio_X509_CRL(bio, NULL, pem_no_password, NULL);

        if (crl == NULL)
            break;
        good = X509_STORE_add_crl(store, crl) == 1;
        X509_CRL_free(crl);
    }
    return good && n > 0 && at_the_end();
}

/* Like SSL_CTX_use_certificate_chain_file. */
static bool use_chain(SSL_CTX *ctx, BIO *bio)
{
    X509 *own = PEM_read_bio_X509_AUX(bio, NULL, pem_no_password, NULL), *next;
    bool good = own != NULL && SSL_CTX_use_certificate(ctx, own) == 1;

    X509_free(own);
    if (!good || SSL_CTX_clear_chain_certs(ctx) != 1)
        return false;
    while ((next = PEM_read_bio_X509(bio, NULL, pem_no_password, NULL)) != NULL) {
        if (SSL_CTX_add0_chain_cert(ctx, next) != 1) {
            X509_free(next);
            return false;
        }
    }
    return at_the_end();
}

enum pem { PEM_CERT, PEM_CA, PEM_CRL };

static enum status load_pem(SSL_CTX *ctx, enum pem what, const char *path, struct error *err)
{
    static const char *const name[] = {"cert", "ca", "crl"};
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    struct buf text = {0};
    BIO *bio;
    bool good = false;
    enum status s = read_pem(&bio, &text, name[what], path, err);

    if (s == STATUS_OK) {
        ERR_clear_error();
        switch (what) {
        case PEM_CERT: good = use_chain(ctx, bio); break;
        case PEM_CA: good = add_authorities(store, bio); break;
        case PEM_CRL: good = add_crls(store, bio); break;
        }
        if (!good)
            s = error_set(err, STATUS_IDENTITY, "identity.%s: %s: %s", name[what], path,
                          last_reason());
    }
    BIO_free(bio);
    buf_deinit(&text);
    return s;
}

static enum status load_ca(SSL_CTX *ctx, const struct net_identity *id, struct error *err)
{
    unsigned long flags = X509_V_FLAG_X509_STRICT;
    enum status s = load_pem(ctx, PEM_CA, id->ca, err);

    if (s == STATUS_OK && id->crl != NULL && id->crl[0] != 0) {
        s = load_pem(ctx, PEM_CRL, id->crl, err);
        flags |= X509_V_FLAG_CRL_CHECK;
    }
    if (s == STATUS_OK)
        X509_STORE_set_flags(SSL_CTX_get_cert_store(ctx), flags);
    return s;
}

static enum status load_identity(SSL_CTX *ctx, bool server, const struct net_identity *id,
                                 struct error *err)
{
    STACK_OF(X509) *chain = NULL;
    enum status s = load_pem(ctx, PEM_CERT, id->cert, err);

    if (s == STATUS_OK && (id->key == NULL || id->key[0] == 0))
        s = error_set(err, STATUS_IDENTITY, "identity.key: missing");
    if (s != STATUS_OK || (s = load_key(ctx, id->key, err)) != STATUS_OK ||
        (s = load_ca(ctx, id, err)) != STATUS_OK)
        return s;
    SSL_CTX_get0_chain_certs(ctx, &chain);
    s = tls_cert_check(ctx, SSL_CTX_get0_certificate(ctx), chain, server, err);
    if (s != STATUS_OK) {
        error_wrap(err, "identity.cert: %s", id->cert);
        return err != NULL ? err->status = STATUS_IDENTITY : STATUS_IDENTITY;
    }
    return STATUS_OK;
}

static int on_client_hello(SSL *ssl, int *alert, void *arg)
{
    const unsigned char *ext;
    size_t n;

    (void)arg;
    /* Without supported_versions it is no TLS 1.3 client, which is the better thing to tell it. */
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_supported_versions, &ext, &n) != 1 ||
        SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &ext,
                                  &n) == 1)
        return SSL_CLIENT_HELLO_SUCCESS;
    ((struct tls *)SSL_get_app_data(ssl))->no_alpn = true;
    *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
    return SSL_CLIENT_HELLO_ERROR;
}

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
                   const unsigned char *offered, unsigned offered_n, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < offered_n && offered[i] < offered_n - i; i += offered[i] + 1U)
        if (offered[i] == sizeof TLS_ALPN - 1 &&
            memcmp(offered + i + 1, TLS_ALPN, sizeof TLS_ALPN - 1) == 0) {
            *out = offered + i + 1;
            *out_n = sizeof TLS_ALPN - 1;
            return SSL_TLSEXT_ERR_OK;
        }
    ((struct tls *)SSL_get_app_data(ssl))->no_alpn = true;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static bool set_rules(SSL_CTX *ctx, bool server)
{
    static const unsigned char alpn[] = {sizeof TLS_ALPN - 1, 'v', 'f', 'l', '/', '1'};

    if (SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(ctx, SUITES) != 1 || SSL_CTX_set1_groups_list(ctx, GROUPS) != 1 ||
        SSL_CTX_set_num_tickets(ctx, 0) != 1 || SSL_CTX_set_max_early_data(ctx, 0) != 1 ||
        SSL_CTX_set_recv_max_early_data(ctx, 0) != 1)
        return false;
    SSL_CTX_set_security_level(ctx, TLS_SECURITY_LEVEL);
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, tls_cert_on_verify);
    if (!server)
        return SSL_CTX_set_alpn_protos(ctx, alpn, sizeof alpn) == 0;
    SSL_CTX_set_client_hello_cb(ctx, on_client_hello, NULL);
    SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
    return true;
}

static enum status context_new(SSL_CTX **out, bool server, const struct net_identity *id,
                               struct error *err)
{
    SSL_CTX *ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    enum status s;

    if (ctx == NULL || !set_rules(ctx, server))
        s = error_set(err, STATUS_CRYPTO, "TLS context: %s", last_reason());
    else
        s = load_identity(ctx, server, id, err);
    ERR_clear_error();
    if (s == STATUS_OK)
        *out = ctx;
    else
        SSL_CTX_free(ctx);
    return s;
}

enum status net_tls_new(struct net_tls **out, bool server, const struct net_identity *id,
                        struct error *err)
{
    struct net_tls *t = mem_alloc(1, sizeof *t);
    enum status s;

    if (t == NULL)
        return error_set(err, STATUS_MEMORY, "TLS context: out of memory");
    /* libuv writes without MSG_NOSIGNAL; a peer that has gone must be an error, not the end. */
    signal(SIGPIPE, SIG_IGN);
    t->server = server;
    t->holders = 1;
    t->limits = (struct tls_limits){
        .handshake_ms = NET_HANDSHAKE_MS,
        .body_base_ms = NET_BODY_BASE_MS,
        .rate_min = NET_RATE_MIN,
        .write_stuck_ms = NET_WRITE_STUCK_MS,
        .recheck_ms = NET_RECHECK_MS,
        .linger_ms = NET_LINGER_MS,
        .rekey_records = TLS_REKEY_RECORDS,
        .yield_ms = NET_YIELD_MS,
        .pending_max = NET_PENDING_MAX,
        .pending = {NET_PENDING_SHARE, NET_PENDING_BURST_US, NET_PENDING_DEBT_US}};
    buf_init(&t->scratch.output, SIZE_MAX / 2);
    t->bio_method = tls_bio_method_new();
    if (t->bio_method == NULL)
        s = error_set(err, STATUS_MEMORY, "TLS context: out of memory");
    else
        s = context_new(&t->ctx, server, id, err);
    if (s == STATUS_OK && !tls_cert_spki(SSL_CTX_get0_certificate(t->ctx), t->spki))
        s = error_set(err, STATUS_CRYPTO, "identity.cert: its key has no digest");
    if (s != STATUS_OK) {
        net_tls_free(t);
        return s;
    }
    *out = t;
    return STATUS_OK;
}

enum status net_tls_reload(struct net_tls *t, const struct net_identity *id, struct error *err)
{
    SSL_CTX *ctx;
    uint8_t spki[NET_SPKI_BYTES];
    enum status s = context_new(&ctx, t->server, id, err);

    if (s != STATUS_OK)
        return s;
    if (!tls_cert_spki(SSL_CTX_get0_certificate(ctx), spki)) {
        SSL_CTX_free(ctx);
        return error_set(err, STATUS_CRYPTO, "identity.cert: its key has no digest");
    }
    memcpy(t->spki, spki, sizeof spki);
    SSL_CTX_free(t->ctx);
    t->ctx = ctx;
    return STATUS_OK;
}

void net_tls_free(struct net_tls *t)
{
    if (t == NULL || --t->holders > 0)
        return;
    SSL_CTX_free(t->ctx);
    BIO_meth_free(t->bio_method);
    buf_deinit(&t->scratch.output);
    OPENSSL_cleanse(t->scratch.plain, sizeof t->scratch.plain);
    OPENSSL_cleanse(t->scratch.first, sizeof t->scratch.first);
    mem_free(t);
}

void net_tls_own(const struct net_tls *t, uint8_t spki[NET_SPKI_BYTES], int64_t *expires_in_s)
{
    int days = 0, seconds = 0;

    memcpy(spki, t->spki, sizeof t->spki);
    ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(SSL_CTX_get0_certificate(t->ctx)));
    *expires_in_s = (int64_t)days * 86400 + seconds;
}

void tls_context_hold(struct net_tls *t)
{
    t->holders++;
}

struct tls_limits *tls_context_limits(struct net_tls *t)
{
    return &t->limits;
}

struct tls_scratch *tls_context_scratch(struct net_tls *t)
{
    return &t->scratch;
}
