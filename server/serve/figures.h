/* figures.h -- what there is to serve, and how it goes: answers to GET /v1/models, /v1/models/RUN
 * and /v1/stats.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_SERVE_FIGURES_H
#define COLONNADE_SERVER_SERVE_FIGURES_H

#include "server/serve/serve.h"

void figures_models(const struct serve *s, struct http_answer *out);
void figures_model(const struct serve *s, const char *run, struct http_answer *out);
void figures_stats(const struct serve *s, struct http_answer *out);

#endif
