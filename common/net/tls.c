/* tls.c -- the contexts, the handshake and the records; what a certificate must be.
 *
 * OpenSSL reads and writes through a BIO of our own: no copy into a memory BIO, no system call, and
 * the room's shared buffers instead of two per connection.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/net/alert.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define ALPN "vfl/1"
#define SUITES "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
#define GROUPS "X25519:P-256"
enum { SECURITY_LEVEL = 2, KEY_FILE_MAX = 65536 };

struct net_tls {
    bool server;
    unsigned holders;
    SSL_CTX *ctx;
    BIO_METHOD *bio_method;
    uint8_t spki[NET_SPKI_BYTES];
    struct tls_limits limits;
    struct tls_scratch scratch;
};

struct tls {
    struct net_tls *context;
    SSL *ssl;
    struct net_traffic *traffic;
    struct buf *out;
    struct buf kept; /* input that had to outlive its callback */
    const uint8_t *in;
    size_t in_n;
    uint64_t rekey_at; /* records_out at which this side's key is replaced */
    int own_fault;     /* a verification error of which the peer is innocent */
    bool no_alpn, heard;
};

/* --- the BIO ------------------------------------------------------------------------------------
 */

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
    *n = len;
    return 1;
}

static long bio_ctrl(BIO *b, int command, long number, void *pointer)
{
    (void)b, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method_new(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "frames");

    if (m == NULL)
        return NULL;
    BIO_meth_set_read_ex(m, bio_read);
    BIO_meth_set_write_ex(m, bio_write);
    BIO_meth_set_ctrl(m, bio_ctrl);
    return m;
}

/* --- certificates -------------------------------------------------------------------------------
 */

/* An absent extendedKeyUsage means "any" to OpenSSL; here it means none.  The chain's own purpose
 * check then decides between clientAuth and serverAuth. */
static int leaf_error(X509 *leaf)
{
    if (X509_get_extended_key_usage(leaf) == UINT32_MAX)
        return X509_V_ERR_INVALID_PURPOSE;
    if (EVP_PKEY_get_base_id(X509_get0_pubkey(leaf)) != EVP_PKEY_ED25519)
        return X509_V_ERR_EE_KEY_TOO_SMALL;
    return X509_V_OK;
}

static bool is_own_crl_fault(int error)
{
    return error == X509_V_ERR_CRL_HAS_EXPIRED || error == X509_V_ERR_CRL_NOT_YET_VALID ||
           error == X509_V_ERR_UNABLE_TO_GET_CRL || error == X509_V_ERR_CRL_SIGNATURE_FAILURE ||
           error == X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER;
}

static int on_verify(int ok, X509_STORE_CTX *x)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(x, SSL_get_ex_data_X509_STORE_CTX_idx());
    int error = X509_STORE_CTX_get_error(x);

    if (ok && X509_STORE_CTX_get_error_depth(x) == 0) {
        error = leaf_error(X509_STORE_CTX_get_current_cert(x));
        if (error != X509_V_OK) {
            X509_STORE_CTX_set_error(x, error);
            return 0;
        }
    }
    if (!ok && ssl != NULL && is_own_crl_fault(error)) {
        /* The peer is told "internal error", not that its certificate were bad. */
        struct tls *s = SSL_get_app_data(ssl);
        s->own_fault = error;
        X509_STORE_CTX_set_error(x, X509_V_ERR_UNSPECIFIED);
    }
    return ok;
}

static const char *verify_words(int error)
{
    switch (error) {
    case X509_V_ERR_EE_KEY_TOO_SMALL: return "its key is not Ed25519";
    case X509_V_ERR_INVALID_PURPOSE: return "its extendedKeyUsage does not allow this role";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return "it was not issued by this side's CA";
    case X509_V_ERR_HOSTNAME_MISMATCH: return "it does not carry the expected name";
    default: return X509_verify_cert_error_string(error);
    }
}

static enum status verify_failed(int error, struct error *err)
{
    if (is_own_crl_fault(error))
        return error_set(err, STATUS_IDENTITY, "identity.crl of this side: %s",
                         X509_verify_cert_error_string(error));
    return error_set(err, STATUS_AUTH, "certificate not accepted: %s", verify_words(error));
}

static enum status verify_leaf(SSL_CTX *ctx, X509 *leaf, STACK_OF(X509) * chain,
                               bool leaf_is_server, struct error *err)
{
    X509_STORE_CTX *x = X509_STORE_CTX_new();
    enum status s = STATUS_OK;

    if (x == NULL || !X509_STORE_CTX_init(x, SSL_CTX_get_cert_store(ctx), leaf, chain)) {
        X509_STORE_CTX_free(x);
        return error_set(err, STATUS_MEMORY, "certificate check: out of memory");
    }
    X509_STORE_CTX_set_default(x, leaf_is_server ? "ssl_server" : "ssl_client");
    X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(x), SECURITY_LEVEL);
    X509_STORE_CTX_set_verify_cb(x, on_verify);
    if (X509_verify_cert(x) != 1)
        s = verify_failed(X509_STORE_CTX_get_error(x), err);
    X509_STORE_CTX_free(x);
    ERR_clear_error();
    return s;
}

static bool spki_of(X509 *cert, uint8_t spki[NET_SPKI_BYTES])
{
    unsigned char *der = NULL;
    int n = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), &der);
    bool ok = n > 0 && EVP_Digest(der, (size_t)n, spki, NULL, EVP_sha256(), NULL) == 1;

    OPENSSL_free(der);
    return ok;
}

/* --- contexts -----------------------------------------------------------------------------------
 */

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

    if (file_check_private(path, err) != STATUS_OK) {
        error_wrap(err, "identity.key");
        return err != NULL ? err->status = STATUS_IDENTITY : STATUS_IDENTITY;
    }
    buf_init(&text, KEY_FILE_MAX);
    s = file_read(path, &text, err);
    if (s == STATUS_OK) {
        bio = BIO_new_mem_buf(text.data, (int)text.len);
        key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
        if (key == NULL || SSL_CTX_use_PrivateKey(ctx, key) != 1)
            s = error_set(err, STATUS_IDENTITY, "identity.key: %s: %s", path, last_reason());
        else if (SSL_CTX_check_private_key(ctx) != 1)
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
    s = verify_leaf(ctx, SSL_CTX_get0_certificate(ctx), chain, server, err);
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
        if (offered[i] == sizeof ALPN - 1 && memcmp(offered + i + 1, ALPN, sizeof ALPN - 1) == 0) {
            *out = offered + i + 1;
            *out_n = sizeof ALPN - 1;
            return SSL_TLSEXT_ERR_OK;
        }
    ((struct tls *)SSL_get_app_data(ssl))->no_alpn = true;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void on_record(int out, int version, int type, const void *bytes, size_t n, SSL *ssl,
                      void *arg)
{
    struct tls *s = SSL_get_app_data(ssl);

    (void)version, (void)bytes, (void)n, (void)arg;
    if (type != SSL3_RT_HEADER)
        return;
    if (out)
        s->traffic->records_out++;
    else
        s->traffic->records_in++;
}

static bool set_rules(SSL_CTX *ctx, bool server)
{
    static const unsigned char alpn[] = {sizeof ALPN - 1, 'v', 'f', 'l', '/', '1'};

    if (SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(ctx, SUITES) != 1 || SSL_CTX_set1_groups_list(ctx, GROUPS) != 1 ||
        SSL_CTX_set_num_tickets(ctx, 0) != 1 || SSL_CTX_set_max_early_data(ctx, 0) != 1 ||
        SSL_CTX_set_recv_max_early_data(ctx, 0) != 1)
        return false;
    SSL_CTX_set_security_level(ctx, SECURITY_LEVEL);
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, on_verify);
    SSL_CTX_set_msg_callback(ctx, on_record);
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
    t->limits = (struct tls_limits){.handshake_ms = NET_HANDSHAKE_MS,
                                    .body_base_ms = NET_BODY_BASE_MS,
                                    .rate_min = NET_RATE_MIN,
                                    .write_stuck_ms = NET_WRITE_STUCK_MS,
                                    .linger_ms = NET_LINGER_MS,
                                    .rekey_records = TLS_REKEY_RECORDS,
                                    .pending_max = NET_PENDING_MAX};
    buf_init(&t->scratch.output, SIZE_MAX / 2);
    t->bio_method = bio_method_new();
    if (t->bio_method == NULL)
        s = error_set(err, STATUS_MEMORY, "TLS context: out of memory");
    else
        s = context_new(&t->ctx, server, id, err);
    if (s == STATUS_OK && !spki_of(SSL_CTX_get0_certificate(t->ctx), t->spki))
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
    if (!spki_of(SSL_CTX_get0_certificate(ctx), spki)) {
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

/* --- one connection -----------------------------------------------------------------------------
 */

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

bool tls_partial(const struct tls *s)
{
    return SSL_has_pending(s->ssl) == 1;
}

static bool is_alpn_agreed(const struct tls *s)
{
    const unsigned char *name;
    unsigned n;

    SSL_get0_alpn_selected(s->ssl, &name, &n);
    return n == sizeof ALPN - 1 && memcmp(name, ALPN, n) == 0;
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
        return verify_failed(s->own_fault, err);
    if (s->no_alpn)
        return error_set(err, STATUS_PROTOCOL, "peer does not speak vfl/1 (ALPN)");
    if (reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256 && !s->heard)
        return alert_explain(reason - SSL_AD_REASON_OFFSET, s->context->server, err);
    switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return verify_failed((int)SSL_get_verify_result(s->ssl), err);
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

enum tls_result tls_handshake(struct tls *s, struct error *err)
{
    int rc;

    ERR_clear_error();
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
    ERR_clear_error();
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

    ERR_clear_error();
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

    return leaf != NULL && spki_of(leaf, spki);
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
    return verify_leaf(s->context->ctx, leaf, SSL_get_peer_cert_chain(s->ssl), !s->context->server,
                       err);
}
