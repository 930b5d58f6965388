/* report_json.h -- small steps from figures to JSON, for report*.c alone.
 *
 * Every function takes a NULL object as a failed allocation and remembers it in `bad`, so that a
 * whole document is built without a check at each line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_REPORT_JSON_H
#define COLONNADE_METRICS_REPORT_JSON_H

#include "common/metrics/score.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct report_json {
    bool bad; /* an allocation failed; the document must not be written */
};

json_t *report_json_object(struct report_json *j, json_t *parent, const char *key);
json_t *report_json_array(struct report_json *j, json_t *parent, const char *key);
void report_json_append(struct report_json *j, json_t *array, json_t *value);
void report_json_count(struct report_json *j, json_t *parent, const char *key, uint64_t value);
/* Left out when 0. */
void report_json_some(struct report_json *j, json_t *parent, const char *key, uint64_t value);
/* Left out when not finite. */
void report_json_real(struct report_json *j, json_t *parent, const char *key, double value);
void report_json_flag(struct report_json *j, json_t *parent, const char *key, bool value);
/* Left out when NULL or empty; bytes that are no UTF-8 become '?'. */
void report_json_text(struct report_json *j, json_t *parent, const char *key, const char *value);
/* {"loss", "accuracy", ...}: what the score has; left out when it has nothing. */
void report_json_score(struct report_json *j, json_t *parent, const char *key,
                       const struct score *score);

/* The text, to be freed by report_json_free; NULL when memory is short or j->bad. */
char *report_json_dump(struct report_json *j, const json_t *root, bool lines);
void report_json_free(char *text);

#endif
