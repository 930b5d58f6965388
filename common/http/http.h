/* http.h -- requests of this machine's operators and programs: HTTP/1.1 under a libuv loop, over a
 * socket with a name in the file system, or over a port of loopback.
 *
 * Each request has to carry the token of a client that is known; who may open the first kind of
 * socket is the file system's business besides (mode 0600, in a folder of one user).  A page in a
 * browser of this host may reach the second: what has an Origin, or is not asked of this host by
 * its own name, is refused.  libmicrohttpd reads HTTP; here are its bounds: how many connections,
 * how long each request takes in all, how much memory one without a token takes and one with it.
 * A request is answered at once, or later, and then waits without a thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_HTTP_HTTP_H
#define COLONNADE_HTTP_HTTP_H

#include "common/base/buf.h"
#include "common/base/status.h"

#include <stdbool.h>
#include <uv.h>

enum {
    HTTP_CONNECTIONS_MAX = 16,        /* over a socket with a name */
    HTTP_PORT_CONNECTIONS_MAX = 1024, /* over a port, or what open files there may be */
    HTTP_HEAD_MAX = 16384,            /* bytes of a connection without a token */
    HTTP_BODY_MAX = 24 << 20,         /* of a request with one, and ... */
    HTTP_PORT_BODY_MAX = 1 << 17,     /* ... over a port */
    HTTP_ANSWER_MAX = 32 << 20,
    HTTP_IDLE_S = 10,     /* without a byte */
    HTTP_DEADLINE_S = 60, /* from the first byte of a request to the last of its answer */
    HTTP_FULL_S = 1,      /* without a whole request that has a token, while all places are taken */
    HTTP_TOKEN_MAX = 128,
    HTTP_CLIENTS_MAX = 64
};

struct http_later;

struct http_request {
    const char *method, *path; /* as they were sent: nobody's word is good */
    const uint8_t *body;
    size_t n;
    size_t client;            /* whose token it carries: a number of the setup's list */
    struct http_later *later; /* for http_reply */
};

struct http_answer {
    unsigned status;
    const char *type; /* of the body */
    unsigned retry_s; /* Retry-After; 0: none */
    struct buf body;
};

struct http_setup {
    const char *path;    /* of the socket; one that is there already is replaced; NULL: a port */
    const char *address; /* HOST:PORT of loopback, by number or as localhost; port 0: any */
    const char (*tokens)[HTTP_TOKEN_MAX]; /* of the clients: Authorization: Bearer TOKEN */
    size_t tokens_n;                      /* HTTP_CLIENTS_MAX at most */
    /* False: http_reply answers r->later, once, before http_close. */
    bool (*answer)(void *owner, const struct http_request *r, struct http_answer *out);
    void *owner;
    uint64_t (*clock_us)(void); /* NULL: the machine's; tests give one that jumps */
};

struct http;

/* Listens; all of the setup but what it points to by `owner` is copied. */
enum status http_open(struct http **out, uv_loop_t *uv, const struct http_setup *setup,
                      struct error *err) MUST_USE;
/* Other tokens, from the next request on; an empty one is nobody's. */
void http_set_tokens(struct http *h, const char (*tokens)[HTTP_TOKEN_MAX], size_t n);
/* The port that it has; 0: a socket with a name. */
unsigned http_port(const struct http *h);
/* What is answered stays the caller's. */
void http_reply(struct http_later *l, const struct http_answer *a);
/* It is freed when the loop has run on; NULL is fine. */
void http_close(struct http *h);

#endif
