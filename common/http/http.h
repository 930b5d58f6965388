/* http.h -- requests of this machine's operators: HTTP/1.1 over a socket with a name in the file
 * system, under a libuv loop.
 *
 * Who may open the socket is the file system's business (mode 0600, in a folder of one user), and
 * each request has to carry a token besides.  libmicrohttpd reads HTTP; here are its bounds: how
 * many connections, how long each lasts in all, how much memory one without the token takes and
 * one with it.  A request is answered at once, and its connection closed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_HTTP_HTTP_H
#define COLONNADE_HTTP_HTTP_H

#include "common/base/buf.h"
#include "common/base/status.h"

#include <uv.h>

enum {
    HTTP_CONNECTIONS_MAX = 16,
    HTTP_HEAD_MAX = 16384,    /* bytes of a connection without the token */
    HTTP_BODY_MAX = 24 << 20, /* of a request with it */
    HTTP_ANSWER_MAX = 32 << 20,
    HTTP_IDLE_S = 10,     /* without a byte */
    HTTP_DEADLINE_S = 60, /* from the first byte to the last */
    HTTP_TOKEN_MAX = 128
};

struct http_request {
    const char *method, *path; /* as they were sent: nobody's word is good */
    const uint8_t *body;
    size_t n;
};

struct http_answer {
    unsigned status;
    const char *type; /* of the body */
    struct buf body;
};

struct http_setup {
    const char *path;  /* of the socket; one that is there already is replaced */
    const char *token; /* that each request has to carry: Authorization: Bearer TOKEN */
    void (*answer)(void *owner, const struct http_request *r, struct http_answer *out);
    void *owner;
    uint64_t (*clock_us)(void); /* NULL: the machine's; tests give one that jumps */
};

struct http;

/* Listens; path and token are copied. */
enum status http_open(struct http **out, uv_loop_t *uv, const struct http_setup *setup,
                      struct error *err) MUST_USE;
/* It is freed when the loop has run on; NULL is fine. */
void http_close(struct http *h);

#endif
