/* formula.c -- PBM-VFL, C-VFL, FedBCD, FedVS and Lagrange coding, each as its paper counts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/formula.h"

#include "common/config/aggregation.h"
#include "common/config/encoding.h"
#include "common/config/plan_head.h"
#include "common/secagg/secagg.h"

#include <math.h>

enum { FLOAT_BITS = 32 };

/* Of one share and of one upload: ceil(n / K) elements of ceil(log2 p) bits.  0 where there is no
 * such encoding, which plan_check() does not let pass. */
static double coded_bytes(const struct plan *p, uint32_t members, uint64_t n)
{
    const uint32_t k = p->protocol.coded.segments;
    struct secagg_shape shape = {
        .parties = members,
        .segments = k,
        .privacy = p->protocol.coded.privacy,
    };

    if (encode_init(&shape.encode, p, members) != STATUS_OK)
        return 0;
    return (double)(n / k + (n % k != 0)) * secagg_width(p->protocol.aggregation, &shape) / 8;
}

/* C-VFL, Algorithm 1: to each of M parties everybody's embeddings and the server's model, all
 * compressed.  Algorithm 2, FedBCD and PBM-VFL: a gradient as wide as the embedding, F bits a
 * value; so too FedBCD with its label holder, whom the others' sum costs as much. */
static double answer_bytes(const struct plan *p, uint32_t members, uint64_t n)
{
    const double bits = plan_compresses(p) ? encoding_paper_bits(p, members) : FLOAT_BITS;

    if (p->protocol.local_view == VIEW_REFRESHED && p->protocol.label_holders == 0)
        return members * ((double)members * (double)n + (double)plan_head_params(p)) * bits / 8;
    return (double)members * (double)n * FLOAT_BITS / 8;
}

/* Coded: each of M members sends M - 1 shares up, which all go down again, and its sum up.  FedVS,
 * section 5.3: M - 1 shares of d_m D_m P elements up, which all go down again, and a result of P
 * elements for each of n / (K P) coded rows up.  FedBCD-s: in a turn one party's embedding goes up
 * and one gradient down. */
void server_formula(struct server_formula *f, const struct plan *p, uint32_t members, uint32_t rows,
                    const struct fedvs_terms *terms)
{
    const struct aggregation *a = aggregation_of(p);
    const uint64_t n = (uint64_t)rows * p->model.embedding;

    f->down = answer_bytes(p, members, n);
    if (a->shares && !a->polynomial) {
        double shares = coded_bytes(p, members, n) * members * (members - 1);

        f->up = shares + coded_bytes(p, members, n) * members;
        f->down += shares;
    } else if (a->polynomial) {
        double shares = (double)(members - 1) * terms->inputs_n * terms->width;

        f->up = (shares + (double)members * (double)n / terms->segments) * terms->field->bits / 8;
        f->down += shares * terms->field->bits / 8;
    } else {
        f->up = (double)members * (double)n * encoding_paper_bits(p, members) / 8;
    }
    if (p->protocol.local_order == ORDER_SEQUENTIAL) {
        f->up /= members;
        f->down /= members;
    }
}
