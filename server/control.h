/* control.h -- what operators of this machine ask a server that stands: jobs in, out and away, as
 * JSON over HTTP (common/http), with the operator's token; and predictions (serve/serve.h).
 * docs/standing.md has the requests.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_CONTROL_H
#define COLONNADE_SERVER_CONTROL_H

#include "common/http/http.h"
#include "server/stand.h"

/* What follows for the loop, which the requests do not know. */
struct control {
    struct stand *stand;
    void (*submitted)(void *owner); /* a job waits */
    void (*cancelled)(void *owner); /* the one that is played is to end */
    void *owner;
};

/* As in struct http_setup. */
bool control_answer(void *control, const struct http_request *r, struct http_answer *out);

#endif
