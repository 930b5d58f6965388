/* shapley.h -- what each of n players adds, from the values of sets of them.
 *
 * Shapley 1953: the mean, over all orders of the players, of what the value rises by when a player
 * comes in.  The parts add up to the value of all minus that of nobody.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_SHAPLEY_H
#define COLONNADE_METRICS_SHAPLEY_H

#include <stdint.h>

enum { SHAPLEY_WHOLE_MAX = 16 };

/* Exactly, of all sets: value[S], player i being in S where bit i is set; n at most
 * SHAPLEY_WHOLE_MAX. */
void shapley_whole(double *out, const double *value, uint32_t n);

/* From some orders, as an estimate: rises has for each order n numbers, what the value rises by
 * when player i comes in.  An order and the one behind it are each other's reverse, so that what is
 * drawn are these pairs; error, or NULL, gets the standard error of their mean, NAN of one pair. */
void shapley_sampled(double *out, double *error, const double *rises, uint32_t n, uint32_t orders);

#endif
