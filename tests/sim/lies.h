/* lies.h -- what a member, a server or the network can do to an alignment: changes for deviate.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_LIES_H
#define COLONNADE_TESTS_SIM_LIES_H

#include "tests/sim/deviate.h"

typedef void lie_of_bytes(struct deviation *d, uint8_t *bytes, size_t n);
typedef void lie_of_message(struct deviation *d, struct wire_msg *m);

/* Of the first point: no point, or none in its canonical form. */
lie_of_bytes lie_identity, lie_top_bit, lie_modulus, lie_beyond, lie_negative, lie_off_curve;
/* Of a list: another point, one twice, another order, another key for all, changes that cancel. */
lie_of_bytes lie_other, lie_twice, lie_order, lie_key, lie_cancel;
/* What was given in the stage, or in the step, before. */
lie_of_bytes lie_stage_before, lie_chunk_before;
/* Of a tally: a bit of the byte `number`, another key's, that of the stage or generation before,
 * that of another member, nothing. */
lie_of_bytes lie_bit, lie_other_key, lie_tally_before, lie_tally_of_another, lie_zeros;
/* Of places: the first two that are common change places; one is out of range, twice, left out, or
 * there where there is none. */
lie_of_bytes lie_places_swapped, lie_place_beyond, lie_place_twice, lie_place_missing,
    lie_place_too_many;
/* Of prefixes: the first is in no list, twice, or behind the second. */
lie_of_bytes lie_prefix_of_none, lie_prefix_twice, lie_prefix_order;

/* Of a batch: number bytes more or fewer of entries, tag or tallies; step and common `number` more;
 * a bit of entries, tag or tallies; what another party is given; what this one was given `number`
 * steps ago, or in the generation before. */
lie_of_message lie_size, lie_tag_size, lie_tallies_size, lie_step, lie_generation, lie_common,
    lie_entries_bit, lie_tag_bit, lie_tallies_bit, lie_recipient, lie_replay, lie_generation_before,
    lie_entries_order;
/* Another kind of message in its place. */
lie_of_message lie_upload, lie_kept, lie_finish;
/* Of an offer: `text` in the job's text becomes `with`; fewer members; another kind of job. */
lie_of_message lie_text, lie_members, lie_kind;
/* Of hellos: a bit of the first one's body. */
lie_of_message lie_hello_bit;

#endif
