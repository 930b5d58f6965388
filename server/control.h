/* control.h -- what operators of this machine ask a server that stands: jobs in, out and away, as
 * JSON over HTTP (common/http).  docs/standing.md has the requests.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_CONTROL_H
#define COLONNADE_SERVER_CONTROL_H

#include "common/http/http.h"
#include "server/stand.h"

enum { CONTROL_TOKEN_BYTES = 32 };

/* What follows for the loop, which the requests do not know. */
struct control {
    struct stand *stand;
    void (*submitted)(void *owner); /* a job waits */
    void (*cancelled)(void *owner); /* the one that is played is to end */
    void *owner;
};

/* The token of state/token, which is made where there is none. */
enum status control_token(char out[HTTP_TOKEN_MAX], const char *state, struct error *err) MUST_USE;

/* As in struct http_setup. */
void control_answer(void *control, const struct http_request *r, struct http_answer *out);

#endif
