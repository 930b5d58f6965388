/* tls.h -- TLS 1.3 as a filter between bytes of the socket and bytes of frames.  Private to
 * common/net.
 *
 * tls.c, tls_context.c and tls_cert.c are the only files of this room that know OpenSSL.  They
 * never touch a socket: ciphertext that came is fed in, ciphertext to be sent is appended to a
 * buffer of the caller's choice.  Also here: what a certificate must be (threats D3, D4) and
 * whether it still is (D5).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_TLS_H
#define COLONNADE_NET_TLS_H

#include "common/base/buf.h"
#include "common/net/budget.h"
#include "common/net/net.h"

enum {
    TLS_RECORD_MAX = 16384,      /* plaintext of one record */
    TLS_REKEY_RECORDS = 1 << 23, /* AES-GCM's limit is about 2^24.5 records of a key (threats D8) */
    TLS_INPUT_BYTES = 65536,
};

/* Every wait and count of the connections of one context; tests make them short. */
struct tls_limits {
    uint64_t handshake_ms, body_base_ms, rate_min, write_stuck_ms, recheck_ms, linger_ms;
    uint64_t rekey_records;
    uint64_t yield_ms;
    unsigned pending_max;
    struct budget_terms pending; /* the loop's time for them */
};

/* Room that all connections of a context share, since they live on one loop thread and use it only
 * within a callback. */
struct tls_scratch {
    uint8_t input[TLS_INPUT_BYTES];
    uint8_t plain[TLS_RECORD_MAX]; /* being decrypted */
    uint8_t first[TLS_RECORD_MAX]; /* header and beginning of a frame being sent */
    struct buf output;
};

struct net_tls; /* counted: connections and listeners hold it too */

void tls_context_hold(struct net_tls *t);
struct tls_limits *tls_context_limits(struct net_tls *t);
struct tls_scratch *tls_context_scratch(struct net_tls *t);

struct tls; /* one connection's state */

enum tls_result {
    TLS_DONE,
    TLS_WANT,   /* needs more bytes from the socket */
    TLS_CLOSED, /* the peer said goodbye */
    TLS_FAILED, /* *err says what; an alert may have been put into the output */
};

/* peer_name: what the certificate must carry (client), or NULL (server).  NULL when memory is
 * short. */
struct tls *tls_open(struct net_tls *context, const char *peer_name, struct net_traffic *traffic);
void tls_close(struct tls *s); /* NULL is fine */

/* Where ciphertext goes until the next call of this. */
void tls_set_output(struct tls *s, struct buf *out);
/* `bytes` are read in place by the calls that follow; the earlier input must have been consumed. */
void tls_feed(struct tls *s, const uint8_t *bytes, size_t n);
/* Copies input not yet consumed, so that the buffer it lies in may be used again. */
enum status tls_keep_input(struct tls *s) MUST_USE;
/* Whether there is input that no call has looked at. */
bool tls_has_input(const struct tls *s);
/* Whether part of a record has come and the rest has not. */
bool tls_partial(const struct tls *s);

enum tls_result tls_handshake(struct tls *s, struct error *err);
/* One record's worth; room >= TLS_RECORD_MAX, so that nothing decrypted stays inside. */
enum tls_result tls_read(struct tls *s, size_t *n, uint8_t *plain, size_t room, struct error *err);
enum status tls_write(struct tls *s, const uint8_t *plain, size_t n, struct error *err) MUST_USE;
void tls_goodbye(struct tls *s); /* close_notify */

bool tls_peer_spki(const struct tls *s, uint8_t spki[NET_SPKI_BYTES]); /* false: no memory */
bool tls_peer_has_name(const struct tls *s, const char *name);
/* The peer's certificate against its context's present CA and CRL and the clock. */
enum status tls_recheck(const struct tls *s, struct error *err) MUST_USE;

#endif
