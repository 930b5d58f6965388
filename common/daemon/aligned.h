/* aligned.h -- alignments under state: how many there were, and the last one of each name.
 *
 *   alignments/asked   the server: how many have begun, and in how many something was told
 *   alignments/NAME    the rows in their order: a header, an empty line, and this side's spelling
 *                      of each id, one a line; under duplicates all, before it, how many rows of
 *                      its id come before, and a tab; of labelled rows an empty line for each that
 *                      this side does not have
 *
 * The header says how many there are, as `common N` or `labelled N`, and the digest of what all
 * sides have seen alike (align_member_transcript): two sides whose files have one digest have one
 * order.  It also says how cells became ids, by which rows of other tables are found (placed.h),
 * and has the digest of all the rest of the file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_ALIGNED_H
#define COLONNADE_DAEMON_ALIGNED_H

#include "common/daemon/idlist.h"

/* How many have begun, and in how many others may have compared something with this side's list.
 * STATUS_POLICY: the policy admits `most` of the latter, and ALIGNED_BEGUN times as many of the
 * former, which whoever breaks them off early uses up. */
struct aligned_counts {
    uint64_t begun, told;
};
enum { ALIGNED_BEGUN = 16 };
enum status aligned_judge(const struct aligned_counts *c, bool tells, uint32_t most,
                          struct error *err) MUST_USE;
/* What is in the file; a party's own are in its ledger (ledger_aligned.h), and here those of an
 * earlier version. */
enum status aligned_counts_read(const char *state, struct aligned_counts *c,
                                struct error *err) MUST_USE;

/* The server's: one more, judged so, and on the disk when this returns.  STATUS_CONFIG: there is
 * one of that name, and it is not to be replaced. */
enum status aligned_begin(const char *state, const char *name, bool replace, uint32_t most,
                          struct error *err) MUST_USE;
/* Before anything can be compared with this side's list. */
enum status aligned_tell(const char *state, uint32_t most, struct error *err) MUST_USE;
/* STATUS_CONFIG: there is one of that name. */
enum status aligned_free(const char *state, const char *name, struct error *err) MUST_USE;

struct aligned_result {
    const char *name;
    const uint8_t *transcript; /* DIGEST_BYTES */
    const uint32_t *places;    /* by row of the list; ALIGN_NOWHERE: it is in none */
    uint32_t labelled;         /* rows in all, of which this side may lack some; 0: it has all */
};
enum status aligned_keep(const char *state, const struct idlist *l, const struct aligned_result *r,
                         struct error *err) MUST_USE;

/* Read again. */
struct aligned {
    char path[CONFIG_PATH_MAX], name[CONFIG_ALIGN_NAME_MAX + 1];
    uint8_t transcript[32];
    struct config_align as; /* key, form and duplicates, and nothing else */
    uint32_t columns, n;
    bool labelled; /* this side may lack some */
    struct buf text;
    size_t *at;           /* n: where each spelling begins in `text` */
    uint32_t *size;       /* n: its bytes; 0: this side does not have that row */
    uint32_t *occurrence; /* n: rows of its id that are before */
};
/* STATUS_CONFIG: there is none of that name.  STATUS_DATA: it is not as aligned_keep has written
 * it, or has no rows. */
enum status aligned_load(struct aligned *a, const char *state, const char *name,
                         struct error *err) MUST_USE;
void aligned_deinit(struct aligned *a); /* wipes; safe on a zeroed struct */
/* How this side spells the row of that place, *n bytes; 0: it does not have it. */
static inline const char *aligned_spelling(const struct aligned *a, uint32_t place, size_t *n)
{
    *n = a->size[place];
    return (const char *)a->text.data + a->at[place];
}
/* Names of alignments under state, `most` at most, in their order; how many. */
typedef char aligned_name[CONFIG_ALIGN_NAME_MAX + 1];
size_t aligned_names(aligned_name *names, size_t most, const char *state);

#endif
