/* ledger.h -- what a party's own records have spent, by record, across runs (SQLite, WAL,
 * synchronous=FULL).
 *
 * Reserved in blocks before the uploads that spend them; after a crash the unsent rest counts as
 * spent.  One namespace per party: a changed file inherits what its ids have spent.  One process
 * holds the file at a time.  Functions may be called from any thread, but never two at once on one
 * ledger.
 *
 * A block is one entry of a log: a stretch of the public schedule over a data set, or a list of
 * records.  Counts are kept in memory and worked out from the log when it is opened; so a commit is
 * a few rows whatever the block releases, and now and then all that is known is written anew as
 * counts, so that opening stays quick.  What is in the file is told by ledger_records.h.
 *
 * Every record of the log is under a MAC that covers the one before, and the last one under the
 * head's.  Whoever cannot read the key can change nothing unnoticed.  Who has the key can, and who
 * puts a whole older file back is not seen here: an entry takes as many numbers as it pays for
 * rounds, numbers only grow, and a peer that has seen a higher one than the ledger has knows.  So
 * the ledger also keeps the highest numbers that this party has seen of its peers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_H
#define COLONNADE_PRIVACY_LEDGER_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/privacy/account.h"
#include "common/privacy/ledger_bind.h"
#include "common/privacy/ledger_law.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ledger_purpose {
    LEDGER_TRAIN,
    LEDGER_EVALUATE,
    LEDGER_PREDICT,
    LEDGER_CONTRIBUTE,
    LEDGER_ALIGN,
    LEDGER_STATISTICS /* of no round: nothing is sent for it, and it takes no number */
};
enum { LEDGER_PURPOSES = 6, LEDGER_DIGEST_BYTES = 32, LEDGER_KEY_BYTES = 32 };
#define LEDGER_NUMBER_MAX ((UINT64_C(1) << 62) - 1)

struct ledger;

/* Opens or creates `path` (":memory:" in tests) under a key (ledger_key.h), which the caller wipes.
 * STATUS_IO when it cannot, is in use, damaged, was changed by somebody else or under another key,
 * is not this user's alone, no ledger, or holds nothing though there was one (ledger_file_mark());
 * the text says which. */
enum status ledger_open(struct ledger **out, const char *path, const uint8_t key[LEDGER_KEY_BYTES],
                        struct error *err) MUST_USE;
void ledger_close(struct ledger *l); /* NULL is fine */

/* Says which mechanism the following reservations (and returns) are by; releases and participations
 * are ignored, parameters without a meaning for its kind too.  STATUS_BUDGET when it would be
 * number ACCOUNT_MECHANISMS_MAX + 1. */
enum status ledger_use(struct ledger *l, const struct account_entry *mechanism,
                       struct error *err) MUST_USE;

/* Whether ledger_use would take it: it has an account, or there is room for another one. */
bool ledger_takes(const struct ledger *l, const struct account_entry *mechanism);
/* Accounts that there are, of ACCOUNT_MECHANISMS_MAX; from LEDGER_NEARLY_FULL on people are told.
 */
size_t ledger_mechanisms(const struct ledger *l);
enum { LEDGER_NEARLY_FULL = ACCOUNT_MECHANISMS_MAX / 4 * 3 };

/* What questions have asked of this party so far, by the last of their entries. */
struct ledger_asked {
    uint64_t unknown; /* ids that are nobody's here */
    uint64_t day;     /* days since 1970, UTC */
    uint64_t rows;    /* on that day */
};

/* Rounds that are paid for at once, and what they release: n vectors, either of a stretch of the
 * public schedule over a data set, or of slots that are listed. */
struct ledger_block {
    /* LEDGER_DIGEST_BYTES: of the plan, and of this party's data, which is kept under a key. */
    const uint8_t *plan, *data;
    int64_t at_s; /* since 1970, UTC */
    enum ledger_purpose purpose;
    uint32_t rounds; /* at least 1, and never less than are sent for it; STATISTICS: 0 */
    size_t n;        /* at most 2^28 */
    bool scheduled;
    struct ledger_stretch stretch; /* scheduled: exactly n rows of `set` (CHECK) */
    uint32_t set;
    uint64_t place;        /* listed: of the first round */
    const uint32_t *slots; /* listed: one release each; a slot may occur several times */
    /* Of questions: what they come to with this one, durable with it; and in how many places the
     * slots are written, n or more.  What the disk has to do is the same for the same places,
     * whichever slots there are and however few. */
    const struct ledger_asked *asked;
    size_t places;
};

/* What a block must stay within, once it is counted. */
struct ledger_limits {
    uint64_t record_max; /* releases of one record over all purposes and mechanisms; 0: no limit */
    uint64_t total_max;  /* of all; 0: no limit */
    /* Or NULL: sees the ledger with the block in it (ledger_entries()), and says whether it stays.
     */
    enum status (*judge)(void *owner, struct error *err);
    /* Of ledger_spare, or NULL: may one record have come to this?  Of entries as ledger_entries()
     * has them, its own counts in place of the most of any. */
    bool (*judge_one)(void *owner, const struct account_entry *entries, size_t n);
    void *owner;
};

/* Charges a block and commits durably.  STATUS_BUDGET when a limit (NULL: none) would be passed, or
 * what the judge says.  On any failure nothing is charged. */
enum status ledger_reserve(struct ledger *l, const struct ledger_block *b,
                           const struct ledger_limits *limits, struct error *err) MUST_USE;
/* Was anything ever charged for this purpose of a plan with data? */
enum status ledger_is_paid(struct ledger *l, const struct ledger_block *b, bool *paid,
                           struct error *err) MUST_USE;
/* Gives back reservations that were never sent (orderly end of a generation); more than was
 * reserved is a programmer's mistake.  On failure they stay charged, and so they do when their
 * mechanism was summed up since (ledger_past.h). */
enum status ledger_return(struct ledger *l, const struct ledger_block *b,
                          struct error *err) MUST_USE;

/* The number of the last entry: at least the rounds that this party has ever sent something in.  0
 * when there is none. */
uint64_t ledger_sequence(const struct ledger *l);

/* The highest number of a peer's ledger (by the SHA-256 of its public key) that was ever told here,
 * 0 when none was. */
uint64_t ledger_seen(const struct ledger *l, const uint8_t key[LEDGER_DIGEST_BYTES]);
/* Tells one.  It is durable with the next commit, at the latest with ledger_keep's, which does
 * nothing when nothing is new.  STATUS_MEMORY, or STATUS_BUDGET when it would be one of more peers
 * than LEDGER_PEERS_MAX (ledger_peers.h). */
enum status ledger_see(struct ledger *l, const uint8_t key[LEDGER_DIGEST_BYTES], uint64_t number,
                       struct error *err) MUST_USE;
enum status ledger_keep(struct ledger *l, struct error *err) MUST_USE;
/* Forgets how far a peer's ledger had come, durably. */
enum status ledger_forget(struct ledger *l, const uint8_t key[LEDGER_DIGEST_BYTES],
                          struct error *err) MUST_USE;

struct ledger_asked ledger_asked(const struct ledger *l);
/* Something else, durably: what was counted elsewhere, or an operator's word. */
enum status ledger_set_asked(struct ledger *l, const struct ledger_asked *a,
                             struct error *err) MUST_USE;

struct ledger_totals {
    uint64_t releases[LEDGER_PURPOSES]; /* vectors, by purpose */
    uint64_t participations_max;        /* of one record over all purposes and mechanisms */
    uint64_t records;
};
const char *ledger_purpose_name(enum ledger_purpose purpose);
void ledger_totals(const struct ledger *l, struct ledger_totals *out);
/* How many records have been released how often: bin i counts those of i width to (i + 1) width - 1
 * releases.  n: up to the last bin that is not empty. */
enum { LEDGER_BINS = 13 };
struct ledger_histogram {
    uint64_t width;
    size_t n;
    uint64_t records[LEDGER_BINS];
};
void ledger_histogram(const struct ledger *l, struct ledger_histogram *out);
/* What one record has spent, over all purposes and mechanisms. */
uint32_t ledger_spent(const struct ledger *l, uint32_t slot);
/* One entry per mechanism that has released something, with releases, participations_max
 * and trained_max filled in.  Each maximum is its own mechanism's, so their composition is an upper
 * bound: the records that hold them may differ. */
size_t ledger_entries(const struct ledger *l, struct account_entry out[ACCOUNT_MECHANISMS_MAX]);
/* The delta for claims over that many records: 1e-5, or the largest power of ten below one over
 * them when that is less, since a delta of one in them promises nothing (threats B13). */
double ledger_delta(uint64_t records);

#endif
