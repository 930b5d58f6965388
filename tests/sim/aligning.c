/* aligning.c -- lists of ids in a simulation.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/aligning.h"

#include "common/base/check.h"
#include "common/base/le.h"

#include <string.h>

void aligning_list(struct sim_list *l, const uint64_t *id, uint32_t n)
{
    CHECK(n <= ALIGNING_MAX);
    *l = (struct sim_list){.n = n, .times_max = 1000000, .result_min = 1};
    for (uint32_t i = 0; i < n; i++) {
        l->id[i] = id[i];
        le_put(l->rows + (size_t)i * ALIGN_ROW_BYTES, id[i], 8);
    }
}

static enum status count(void *owner, const struct alignment *about, enum alignment_count what,
                         struct error *err)
{
    struct sim_list *l = owner;

    (void)about;
    if (l->full || (l->full_later && what == ALIGNMENT_TOLD))
        return error_set(err, STATUS_IO, "the disk is full");
    if (l->counted >= l->times_max)
        return error_set(err, STATUS_POLICY, "policy.align.max_alignments");
    l->begun += what == ALIGNMENT_BEGUN;
    l->counted += what == ALIGNMENT_TOLD;
    CHECK(l->counted <= l->begun);
    return STATUS_OK;
}

enum status aligning_keep(struct sim_list *l, const uint8_t *transcript, const uint32_t *places)
{
    memcpy(l->transcript, transcript, sizeof l->transcript);
    memcpy(l->places, places, l->n * sizeof *places);
    l->kept++;
    return STATUS_OK;
}

static enum status keep(void *owner, const struct alignment *about,
                        const uint8_t transcript[WIRE_DIGEST_BYTES], const uint32_t *places,
                        struct error *err)
{
    (void)about;
    (void)err;
    return aligning_keep(owner, transcript, places);
}

struct party_ids_listed aligning_party(struct sim_list *l)
{
    return (struct party_ids_listed){
        l->n > 0 ? l->rows : NULL, l->lies ? l->says : l->n, 1, l, count, keep};
}

struct server_aligned aligning_server(struct sim_list *l, struct alignment *about, uint32_t chunk,
                                      bool labelled)
{
    *about = (struct alignment){.name = "common",
                                .ids = l->n,
                                .columns = 1,
                                .result_min = l->result_min,
                                .trim = true,
                                .rows = labelled ? CONFIG_ROWS_LABELLED : CONFIG_ROWS_COMMON,
                                .chunk = chunk,
                                .patience_ms = 2000};
    return (struct server_aligned){.about = about,
                                   .rows = l->rows,
                                   .ids_max = ALIGN_IDS_MAX,
                                   .all_max = UINT32_MAX,
                                   .owner = l,
                                   .count = count};
}
