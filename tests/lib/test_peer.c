/* test_peer.c -- the peer that breaks rules.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/test_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

enum { PATIENCE_S = 20, EARLY_MAX = 1024 };

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "test_peer: %s failed\n", #condition);                                 \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
}

static int open_socket(struct test_peer *p)
{
    struct sockaddr_in to = loopback(p->port);
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd;

    if (p->server) {
        fd = accept(p->listener, NULL, NULL);
        MUST(fd >= 0);
    } else {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        MUST(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    }
    MUST(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    p->connected = true;
    return fd;
}

static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
                       const unsigned char *offered, unsigned offered_n, void *arg)
{
    const struct test_peer *p = arg;

    (void)ssl, (void)offered, (void)offered_n;
    if (p->alpn == NULL)
        return SSL_TLSEXT_ERR_NOACK;
    *out = (const unsigned char *)p->alpn;
    *out_n = (unsigned char)strlen(p->alpn);
    return SSL_TLSEXT_ERR_OK;
}

static void note_alert(const SSL *ssl, int where, int what)
{
    struct test_peer *p = SSL_get_app_data(ssl);

    if ((where & SSL_CB_ALERT) && (where & SSL_CB_READ) && (what >> 8) == SSL3_AL_FATAL)
        p->alert = what & 0xff;
}

static int note_session(SSL *ssl, SSL_SESSION *session)
{
    struct test_peer *p = SSL_get_app_data(ssl);

    p->got_ticket = SSL_SESSION_is_resumable(session);
    if (p->server || p->ticket != NULL || !p->got_ticket)
        return 0;
    p->ticket = SSL_SESSION_dup(session); /* the library spoils it when the server hangs up */
    MUST(p->ticket != NULL);
    return 0;
}

/* The certificate's public key, and a private one that is another's. */
static EVP_PKEY *stolen_key(SSL_CTX *ctx)
{
    uint8_t own[32], other[32] = {1};
    size_t n = sizeof own;
    OSSL_PARAM p[] = {OSSL_PARAM_octet_string("pub", own, sizeof own),
                      OSSL_PARAM_octet_string("priv", other, sizeof other), OSSL_PARAM_END};
    EVP_PKEY_CTX *make = EVP_PKEY_CTX_new_from_name(NULL, "ED25519", NULL);
    EVP_PKEY *key = NULL;

    MUST(EVP_PKEY_get_raw_public_key(X509_get0_pubkey(SSL_CTX_get0_certificate(ctx)), own, &n) ==
         1);
    MUST(make != NULL && EVP_PKEY_fromdata_init(make) == 1);
    MUST(EVP_PKEY_fromdata(make, &key, EVP_PKEY_KEYPAIR, p) == 1);
    EVP_PKEY_CTX_free(make);
    return key;
}

static SSL_CTX *make_context(struct test_peer *p)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    unsigned char alpn[32];
    size_t n = p->alpn != NULL ? strlen(p->alpn) : 0;

    MUST(ctx != NULL);
    if (p->tls12)
        SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_security_level(ctx, 0); /* what it has it shows */
    SSL_CTX_set_verify(
        ctx, p->suspicious ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_NONE,
        NULL);
    SSL_CTX_set_info_callback(ctx, note_alert);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_BOTH);
    SSL_CTX_sess_set_new_cb(ctx, note_session);
    if (p->cert != NULL) {
        MUST(SSL_CTX_use_certificate_chain_file(ctx, p->cert) == 1);
        if (p->thief) {
            EVP_PKEY *key = stolen_key(ctx);
            MUST(SSL_CTX_use_PrivateKey(ctx, key) == 1);
            EVP_PKEY_free(key);
        } else {
            MUST(SSL_CTX_use_PrivateKey_file(ctx, p->key, SSL_FILETYPE_PEM) == 1);
        }
    }
    if (p->generous)
        MUST(SSL_CTX_set_max_early_data(ctx, EARLY_MAX) == 1);
    if (p->server) {
        SSL_CTX_set_alpn_select_cb(ctx, choose_alpn, p);
    } else if (n > 0) {
        alpn[0] = (unsigned char)n;
        memcpy(alpn + 1, p->alpn, n);
        MUST(SSL_CTX_set_alpn_protos(ctx, alpn, (unsigned)n + 1) == 0);
    }
    return ctx;
}

static void send_half_record(const struct test_peer *p, SSL *ssl, int fd)
{
    BIO *record = BIO_new(BIO_s_mem());
    char *bytes;
    long n;

    MUST(record != NULL);
    SSL_set0_wbio(ssl, record);
    MUST(SSL_write(ssl, p->bytes, (int)p->n) == (int)p->n);
    n = BIO_get_mem_data(record, &bytes);
    MUST(send(fd, bytes, (size_t)n - 1, MSG_NOSIGNAL) == n - 1);
}

static void read_to_end(struct test_peer *p, SSL *ssl)
{
    static const size_t room = 65536;
    char *bytes = malloc(room);
    size_t n;

    MUST(bytes != NULL);
    while (SSL_read_ex(ssl, bytes, room, &n) == 1)
        p->received += n;
    p->reset = errno == ECONNRESET;
    free(bytes);
}

/* What it has to say goes with its first message, before anybody has looked at a certificate. */
static void begin_early(struct test_peer *p, SSL *ssl)
{
    size_t n;

    SSL_set_connect_state(ssl); /* the method is that of both roles */
    MUST(SSL_write_early_data(ssl, p->bytes, p->n, &n) == 1);
}

static void talk_tls(struct test_peer *p, int fd)
{
    SSL_CTX *ctx = make_context(p);
    SSL *ssl = SSL_new(ctx);
    char go;

    MUST(ssl != NULL && SSL_set_fd(ssl, fd) == 1);
    SSL_set_app_data(ssl, p);
    MUST(p->session == NULL || SSL_set_session(ssl, p->session) == 1);
    if (p->hasty)
        begin_early(p, ssl);
    p->shaken = (p->server ? SSL_accept(ssl) : SSL_connect(ssl)) == 1;
    if (p->shaken && p->half_record)
        send_half_record(p, ssl, fd);
    else if (p->shaken && p->n > 0)
        (void)SSL_write(ssl, p->bytes, (int)p->n);
    if (p->deaf)
        MUST(read(p->gate[0], &go, 1) == 1);
    if (p->shaken && !p->hang_up)
        read_to_end(p, ssl);
    p->resumed = SSL_session_reused(ssl) == 1;
    p->early = SSL_get_early_data_status(ssl) == SSL_EARLY_DATA_ACCEPTED;
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

static void talk_plain(struct test_peer *p, int fd)
{
    char bytes[4096];
    ssize_t n;

    if (p->n > 0)
        (void)send(fd, p->bytes, p->n, MSG_NOSIGNAL);
    while (!p->hang_up && (n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        p->received += (size_t)n;
}

static void *run(void *arg)
{
    struct test_peer *p = arg;
    int fd = open_socket(p);

    if (p->plain || p->silent)
        talk_plain(p, fd);
    else
        talk_tls(p, fd);
    close(fd);
    ERR_clear_error();
    return NULL;
}

void test_peer_start(struct test_peer *p)
{
    struct sockaddr_in at = loopback(0);
    socklen_t n = sizeof at;

    MUST(pipe(p->gate) == 0);
    p->listener = -1;
    if (p->server) {
        p->listener = socket(AF_INET, SOCK_STREAM, 0);
        MUST(p->listener >= 0 && bind(p->listener, (struct sockaddr *)&at, sizeof at) == 0);
        MUST(listen(p->listener, 1) == 0);
        MUST(getsockname(p->listener, (struct sockaddr *)&at, &n) == 0);
        p->port = ntohs(at.sin_port);
    }
    MUST(pthread_create(&p->thread, NULL, run, p) == 0);
}

void test_peer_release(struct test_peer *p)
{
    MUST(write(p->gate[1], "", 1) == 1);
}

void test_peer_forget(struct test_peer *p)
{
    SSL_SESSION_free(p->ticket);
    p->ticket = NULL;
}

void test_peer_join(struct test_peer *p)
{
    MUST(pthread_join(p->thread, NULL) == 0);
    close(p->gate[0]);
    close(p->gate[1]);
    if (p->listener >= 0)
        close(p->listener);
}
