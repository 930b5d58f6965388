/* deal.h -- shares of the data, which go before the rounds of fedvs: what is dealt, and where
 * shares of everybody's lie.
 *
 * Written by deal.c alone; resume.c keeps the secret.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_DEAL_H
#define COLONNADE_PARTY_TRAIN_DEAL_H

#include "common/crypto/digest.h"
#include "common/crypto/rng.h"
#include "common/flow/dealing.h"
#include "party/train/course.h"
#include "party/train/round.h"

struct party_deal {
    bool on; /* the plan has data dealt: otherwise nothing below does anything */
    uint8_t secret[RNG_KEY_BYTES];   /* kept in checkpoints */
    uint8_t key[RNG_KEY_BYTES];      /* of it, the plan, the roster and the data: draws the masks */
    uint8_t name[WIRE_DIGEST_BYTES]; /* of the key, for the others */
    struct dealing chunks;           /* of this generation's terms */
    uint64_t held, furthest; /* chunks of everybody's shares that are here; and the most ever */
    uint8_t holds[WIRE_DIGEST_BYTES]; /* of which sharings they are */
    bool keys_due;                    /* the generation's subset keys are not here yet */
    struct party_holdings holdings;   /* the setup's */
    bool whole;                       /* all of it is there; asked when the memory may be gone */
    uint8_t *memory; /* a header; shares of the training split, of the test split */
    size_t bytes;
    float *x; /* a chunk of own data */
    size_t x_floats;
    struct rng masks;
    struct digest digest; /* scratch */
};

/* Once a plan is known. */
enum status party_deal_init(struct party_deal *d, const struct party_course *c,
                            const struct party_setup *setup, struct error *err) MUST_USE;
void party_deal_restore(struct party_deal *d, const struct party_course *c,
                        const struct party_setup *setup, const uint8_t secret[RNG_KEY_BYTES]);
void party_deal_deinit(struct party_deal *d);

/* Into a hello: this party's shape, what it deals, what it holds. */
void party_deal_say(const struct party_deal *d, const struct party_setup *setup,
                    struct wire_hello *h);
/* All hellos are good: the generation's terms, into the shape, and where dealing goes on. */
enum status party_deal_begin(struct party_deal *d, struct secagg_shape *shape, const struct plan *p,
                             const struct party_setup *setup, const struct party_set *set,
                             struct error *err) MUST_USE;
/* A broadcast asks for one: what it is of, into the task. */
enum status party_deal_plan(const struct party_deal *d, struct party_task *task,
                            const struct wire_broadcast *b, struct error *err) MUST_USE;
/* Everything is dealt: rounds may be opened. */
bool party_dealt(const struct party_deal *d);
/* What is mapped is shares of all data, with which a later process may go on. */
bool party_deal_whole(const struct party_deal *d);
/* Shares of everybody's data of the split that the task is on; NULL while they are dealt. */
const void *party_deal_shares(const struct party_deal *d, const struct party_task *t,
                              const struct secagg_shape *s);

/* Parts of the work: own shares out, into round->upload, others' in.  r: of round->task. */
enum status party_deal_work(struct party_deal *d, struct party_round *round,
                            const struct party_setup *setup, const struct secagg_round *r,
                            struct error *err) MUST_USE;
enum status party_deal_take(struct party_deal *d, struct party_round *round,
                            const struct party_sealed *got, const struct secagg_round *r,
                            uint32_t *faulty, struct error *err) MUST_USE;

#endif
