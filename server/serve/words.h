/* words.h -- requests for predictions and their answers as JSON (docs/serving.md).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_SERVE_WORDS_H
#define COLONNADE_SERVER_SERVE_WORDS_H

#include "common/flow/roster.h"
#include "common/http/http.h"
#include "server/serve/waiting.h"

#include <jansson.h>

/* body, which it takes, is the answer; NULL: there was no memory for it. */
void words_answer(struct http_answer *out, unsigned status, json_t *body);
void words_refuse(struct http_answer *out, unsigned status, const char *why);

/* {"ids": ["...", ...], "deadline_ms": N}: 1 to WAITING_CALL_ROWS_MAX ids, which may be none, and
 * at most deadline_max; 0 and left out: just that.  STATUS_DATA: err says what it is not. */
struct words_asked {
    struct waiting_call *call; /* rows filled in */
    uint32_t deadline_ms;
};
enum status words_read(struct words_asked *out, const uint8_t *body, size_t n,
                       uint32_t deadline_max, struct error *err) MUST_USE;

/* The status that HTTP knows it by: 200 where a row has scores. */
unsigned words_status(const struct waiting_call *c);
/* {"model": RUN, "scores": [{"id", "scores", "without"?} or {"id", "error"}, ...]}, in the order of
 * the ids. */
enum status words_print(struct buf *out, const struct waiting_call *c,
                        const struct roster *roster) MUST_USE;

#endif
