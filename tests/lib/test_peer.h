/* test_peer.h -- a TLS peer that does not use common/net: a blocking OpenSSL client or server in a
 * thread, which can break each rule that the daemons keep.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_TEST_PEER_H
#define COLONNADE_TESTS_TEST_PEER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test_peer {
    /* What it does. */
    bool server; /* listens (test_peer_start fills in port) instead of connecting to port */
    int port;    /* on 127.0.0.1 */
    const char *cert, *key; /* NULL: no certificate */
    const char *alpn;       /* NULL: none */
    bool tls12;             /* speaks nothing newer */
    bool suspicious;        /* a server that admits no client certificate */
    bool plain;             /* no TLS: sends `bytes` as they are */
    const void *bytes;      /* sent after the handshake */
    size_t n;
    bool half_record; /* sends all but the last byte of the record */
    bool silent;      /* does not begin the handshake at all */
    bool deaf;        /* does not read until test_peer_release */
    bool hang_up;     /* closes at once instead of reading to the end */
    bool thief;       /* has the certificate (Ed25519), but not its key */
    bool generous;    /* a server that hands out sessions to be resumed, with early data */
    void *session;    /* SSL_SESSION that a client would like to resume */
    bool hasty;       /* `bytes` go with its first message too, by that session */

    /* What it saw, after test_peer_join. */
    bool connected, shaken, reset;
    int alert;           /* the fatal alert that came, or 0 */
    bool got_ticket;     /* a session that could be resumed was offered */
    void *ticket;        /* that session, of a client; test_peer_forget */
    bool resumed, early; /* its session was resumed; its early data was taken */
    size_t received;     /* bytes of application data */

    /* Inside. */
    pthread_t thread;
    int listener, gate[2];
};

void test_peer_start(struct test_peer *p);
void test_peer_release(struct test_peer *p); /* a deaf one begins to read */
void test_peer_join(struct test_peer *p);
void test_peer_forget(struct test_peer *p); /* the session it was offered */

#endif
