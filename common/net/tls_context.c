/* tls_context.c -- loads an identity and sets the rules of TLS for one role (threats D3, D4).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls_context.h"

#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/crypto/sign.h"
#include "common/net/tls_cert.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#define SUITES "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
#define GROUPS "X25519:P-256"

static const char *last_reason(void)
{
    const char *words = ERR_reason_error_string(ERR_peek_last_error());

    return words != NULL ? words : "not understood";
}

static enum status check_file(const char *key, const char *path, struct error *err)
{
    if (path == NULL || path[0] == 0)
        return error_set(err, STATUS_IDENTITY, "identity.%s: missing", key);
    if (access(path, R_OK) != 0)
        return error_set(err, STATUS_IDENTITY, "identity.%s: %s: %s", key, path, strerror(errno));
    return STATUS_OK;
}

static int no_password(char *out, int room, int writing, void *arg)
{
    (void)out, (void)room, (void)writing, (void)arg;
    return -1; /* a daemon has nobody to ask */
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
        key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
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

static enum status load_ca(SSL_CTX *ctx, const struct net_identity *id, struct error *err)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    unsigned long flags = X509_V_FLAG_X509_STRICT;
    X509_LOOKUP *lookup;

    if (SSL_CTX_load_verify_locations(ctx, id->ca, NULL) != 1)
        return error_set(err, STATUS_IDENTITY, "identity.ca: %s: %s", id->ca, last_reason());
    if (id->crl != NULL && id->crl[0] != 0) {
        lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
        if (lookup == NULL || X509_load_crl_file(lookup, id->crl, X509_FILETYPE_PEM) < 1)
            return error_set(err, STATUS_IDENTITY, "identity.crl: %s: %s", id->crl, last_reason());
        flags |= X509_V_FLAG_CRL_CHECK;
    }
    X509_STORE_set_flags(store, flags);
    return STATUS_OK;
}

static enum status load_identity(SSL_CTX *ctx, bool server, const struct net_identity *id,
                                 struct error *err)
{
    STACK_OF(X509) *chain = NULL;
    enum status s;

    if ((s = check_file("cert", id->cert, err)) != STATUS_OK ||
        (s = check_file("key", id->key, err)) != STATUS_OK ||
        (s = check_file("ca", id->ca, err)) != STATUS_OK ||
        (id->crl != NULL && id->crl[0] != 0 && (s = check_file("crl", id->crl, err)) != STATUS_OK))
        return s;
    if (SSL_CTX_use_certificate_chain_file(ctx, id->cert) != 1)
        return error_set(err, STATUS_IDENTITY, "identity.cert: %s: %s", id->cert, last_reason());
    if ((s = load_key(ctx, id->key, err)) != STATUS_OK || (s = load_ca(ctx, id, err)) != STATUS_OK)
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
