/* aligning.c -- lists of ids in a simulation.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/aligning.h"

#include "common/base/check.h"
#include "common/base/le.h"

#include <stdio.h>
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
    l->begun += what != ALIGNMENT_TOLD;
    l->counted += what == ALIGNMENT_TOLD;
    CHECK(l->counted <= l->begun);
    return STATUS_OK;
}

static enum status rows(void *owner, uint32_t pass, const uint8_t **out, struct error *err)
{
    struct sim_list *l = owner;
    enum status s = STATUS_OK;

    if (l->table.ids.n > 0)
        s = roll_pass(&l->table.roll, pass, err);
    *out = l->table.ids.n > 0 ? l->table.roll.rows : l->rows;
    return s;
}

static enum status take(void *owner, uint32_t pass, uint32_t common, const uint32_t *places,
                        struct error *err)
{
    struct sim_list *l = owner;

    if (l->table.ids.n > 0)
        return roll_take(&l->table.roll, pass, common, places, err);
    memcpy(l->places, places, l->n * sizeof *places);
    return STATUS_OK;
}

enum status aligning_keep(struct sim_list *l, const uint8_t *transcript)
{
    struct error err = {0};

    memcpy(l->transcript, transcript, sizeof l->transcript);
    l->kept++;
    return l->table.ids.n > 0 ? roll_keep(&l->table.roll, l->table.state, transcript, &err)
                              : STATUS_OK;
}

static enum status keep(void *owner, const uint8_t transcript[WIRE_DIGEST_BYTES], struct error *err)
{
    (void)err;
    return aligning_keep(owner, transcript);
}

static enum status open(void *owner, const struct alignment *about, uint32_t *n, struct error *err)
{
    struct sim_list *l = owner;
    enum status s = STATUS_OK;

    *n = l->n;
    if (l->table.ids.n > 0) {
        roll_close(&l->table.roll);
        s = roll_open(&l->table.roll, &l->table.ids, l->table.state, about, false, err);
        *n = l->table.roll.listed;
    } else if (about->keys_n != 1 || about->key[0].columns != 1) {
        s = error_set(err, STATUS_CONFIG, "align.key: 1 columns make an id, by one key");
    }
    *n = l->lies ? l->says : *n;
    return s;
}

struct party_ids_listed aligning_party(struct sim_list *l)
{
    return (struct party_ids_listed){
        .any = l->n > 0, .list = {l, rows, take, count}, .open = open, .keep = keep};
}

/* As server/prepare.c has it. */
static void list_table(struct sim_list *l, struct alignment *about)
{
    struct sim_table *t = &l->table;
    struct aligned old = {.n = 0};
    struct error err = {0};
    struct alignment own;

    strcpy(about->name, t->name);
    strcpy(about->extends, t->extends);
    about->keys_n = t->ids.keys_n;
    for (uint32_t k = 0; k < t->ids.keys_n; k++) {
        strcpy(about->key[k].name, t->ids.key[k].name);
        about->key[k].columns = t->ids.key[k].form.columns;
    }
    about->trim = t->ids.as.trim;
    about->fold = t->ids.as.fold;
    about->unicode = t->ids.as.unicode;
    if (t->extends[0] != 0) {
        CHECK(aligned_load(&old, t->state, t->extends, &err) == STATUS_OK);
        memcpy(about->extended, old.transcript, sizeof about->extended);
    }
    own = *about;
    if (t->mixes && t->extends[0] != 0)
        own.rows = old.labelled ? CONFIG_ROWS_LABELLED : CONFIG_ROWS_COMMON;
    aligned_deinit(&old);
    roll_close(&t->roll);
    CHECK(roll_open(&t->roll, &t->ids, t->state, &own, true, &err) == STATUS_OK);
    about->ids = t->roll.listed;
}

struct server_aligned aligning_server(struct sim_list *l, struct alignment *about, uint32_t chunk,
                                      bool labelled)
{
    *about = (struct alignment){.name = "common",
                                .ids = l->n,
                                .keys_n = 1,
                                .key = {{"id", 1}},
                                .result_min = l->result_min,
                                .trim = true,
                                .rows = labelled ? CONFIG_ROWS_LABELLED : CONFIG_ROWS_COMMON,
                                .chunk = chunk,
                                .patience_ms = 2000};
    if (l->table.ids.n > 0)
        list_table(l, about);
    return (struct server_aligned){.about = about,
                                   .ids_max = ALIGN_IDS_MAX,
                                   .all_max = UINT32_MAX,
                                   .list = {l, rows, take, count}};
}

void aligning_table(struct sim_list *l, const struct config_align *c, const char *state)
{
    struct error err = {0};

    aligning_free(l);
    *l = (struct sim_list){.times_max = 1000000};
    if (idlist_read(&l->table.ids, c, &err) != STATUS_OK) {
        fprintf(stderr, "sim: %s\n", err.text);
        CHECK(!"a table that can be read");
    }
    l->n = l->table.ids.n;
    snprintf(l->table.state, sizeof l->table.state, "%s", state);
    strcpy(l->table.name, "common");
}

void aligning_free(struct sim_list *l)
{
    roll_close(&l->table.roll);
    idlist_deinit(&l->table.ids);
}
