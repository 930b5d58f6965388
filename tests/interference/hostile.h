/* hostile.h -- the server's side of a pair: what it says is a script, whatever it is sent.
 *
 * It is the real server but for the places where sums become words.  The content of a release may
 * differ between neighbours, that is what it is charged for; so nothing of it may decide what the
 * server says, or else both runs would differ by the adversary's own doing.  Its head computes
 * nothing: gradients, the step of the best model, and under refreshed the shown sums and heads,
 * come from the pair's seed and from how many there were before.  The test is linked with --wrap
 * for these (Makefile).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_INTERFERENCE_HOSTILE_H
#define COLONNADE_TESTS_INTERFERENCE_HOSTILE_H

#include "common/secagg/secagg.h"
#include "server/train/head.h"
#include "server/train/trainer.h"
#include "tests/interference/pair.h"

/* A run of this pair begins: the script is at its first word. */
void hostile_begin(const struct pair *p);
/* For SIM_ALTER: what the server says becomes something else of its kind, or of another. */
void hostile_alter(struct wire_msg *m, void *owner);

enum status __real_secagg_combine(struct secagg_server *p, float *out, uint32_t width,
                                  struct error *err);
enum status __wrap_secagg_combine(struct secagg_server *p, float *out, uint32_t width,
                                  struct error *err);
void __wrap_secagg_show(const struct secagg_server *p, uint8_t *out);
double __wrap_server_head_evaluate(struct server_head *h, uint32_t rows);
double __wrap_server_head_train(struct server_head *h, const struct plan *p, uint64_t step,
                                uint32_t rows);
void __real_server_head_pack(struct server_head *h, uint32_t rows, uint32_t blocks, struct rng *r);
void __wrap_server_head_pack(struct server_head *h, uint32_t rows, uint32_t blocks, struct rng *r);
bool __real_server_head_show(struct server_head *h, uint32_t rows, const uint8_t *dither,
                             struct rng *r);
uint64_t __real_server_trainer_best(const struct server_trainer *t);
uint64_t __wrap_server_trainer_best(const struct server_trainer *t);
bool __wrap_server_head_show(struct server_head *h, uint32_t rows, const uint8_t *dither,
                             struct rng *r);

#endif
