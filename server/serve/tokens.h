/* tokens.h -- who may ask this server: state/token is the operator's, and each state/token.NAME one
 * of a client NAME, that may ask for predictions and no more.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_SERVE_TOKENS_H
#define COLONNADE_SERVER_SERVE_TOKENS_H

#include "common/http/http.h"

enum { TOKENS_BYTES = 32, TOKENS_NAME_MAX = 32, TOKENS_OPERATOR = 0 };

struct tokens {
    char name[HTTP_CLIENTS_MAX]
             [TOKENS_NAME_MAX + 1];               /* of TOKENS_OPERATOR, the first: "operator" */
    char token[HTTP_CLIENTS_MAX][HTTP_TOKEN_MAX]; /* "": one that was taken away */
    size_t n;
};

/* The operator's is made where there is none, and one for a client `predict` where there is none
 * for any.  A name is of a-z, 0-9 and '-'. */
enum status tokens_load(struct tokens *t, const char *state, struct error *err) MUST_USE;
/* The files as they are now; none is made.  Who is still there keeps his number, and who is new
 * takes one that was nobody's, or one of somebody who has none any more.  On failure all is as it
 * was. */
enum status tokens_again(struct tokens *t, const char *state, struct error *err) MUST_USE;
void tokens_wipe(struct tokens *t);

#endif
