/* tls_context.h -- what the tls files know of each other.  Private to them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_TLS_CONTEXT_H
#define COLONNADE_NET_TLS_CONTEXT_H

#include "common/net/record.h"
#include "common/net/tls.h"

#include <openssl/ssl.h>

#define TLS_ALPN "vfl/1"
enum { TLS_SECURITY_LEVEL = 2 };

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
    struct record_counter passed_in, passed_out;
    const uint8_t *in;
    size_t in_n;
    uint64_t rekey_at; /* records_out at which this side's key is replaced */
    int own_fault;     /* a verification error of which the peer is innocent */
    bool no_alpn, heard;
};

/* The BIO through which OpenSSL sees the buffers of a struct tls.  NULL when memory is short. */
BIO_METHOD *tls_bio_method_new(void);

#endif
