/* sim.h -- the server and N parties in one process on a virtual clock.
 *
 * Every message is packed and unpacked as on a real wire.  Rules act on named messages: cut the
 * connection before or after delivery, delay, repeat, or alter what is said.  What happened is a
 * transcript, one line a message, so that a test's body can be the transcript it expects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_SIM_H
#define COLONNADE_TESTS_SIM_SIM_H

#include "common/base/buf.h"
#include "common/flow/driver.h"
#include "party/session.h"
#include "server/session.h"

#include <stdbool.h>

enum {
    SIM_DURING_MAX = 4,
    SIM_PARTIES_MAX = 64,
    SIM_SERVER = -1,
    SIM_ANY = -2,
    SIM_RULES_MAX = 64,
    SIM_SETS_MAX = 64,
    SIM_BREAKS_MAX = 64
};

enum sim_act {
    SIM_CUT_BEFORE, /* the connection breaks, the message is not delivered */
    SIM_CUT_AFTER,  /* delivered, then the connection breaks */
    SIM_DELAY,      /* delivered `us` later than usual, and so is all that follows on this link */
    SIM_REPEAT,     /* delivered twice */
    SIM_ALTER,      /* `alter` is called on the message before it is packed; it may come late */
    SIM_SWALLOW,    /* not delivered, the connection stays */
    SIM_HOLE,       /* nor is anything after it, on this connection in this direction */
    SIM_KILL, /* the sender's process dies instead of sending, and is started anew from what is
                 on its disk */
};

/* A connection breaks, or a process dies. */
struct sim_break {
    enum { SIM_CUT, SIM_DEATH, SIM_COPY /* of a disk, for a put_back later */ } what;
    int who; /* SIM_SERVER or a party; of a cut: the party */
    uint64_t at_us;
    uint64_t down_us;    /* a death: how long until its next process starts */
    uint64_t unheard_us; /* the other end hears of it so much later, or when it is joined again */
    bool party_unaware;  /* a cut with unheard_us: it is the party that hears later */
    bool last_words;     /* what the dead had sent still arrives */
    bool put_back;       /* a death: its disk is put back to the copy */
    size_t lose;         /* a death of the server: so many last records of its journal are lost */
    bool lose_saved, lose_shares;      /* of a party: its checkpoints are, the shares of data are */
    bool put_back_ledger, lose_ledger; /* of a party, to the copy, or it is deleted; `put_back` does
                                          not touch it */
};

/* Applies to the nth (from 1) message of this kind from this sender to (or from) this party. */
struct sim_rule {
    enum sim_act act;
    int from;  /* SIM_SERVER or a party */
    int party; /* the other end when from is SIM_SERVER; SIM_ANY */
    enum wire_kind kind;
    uint32_t nth; /* 0: every one */
    uint32_t but; /* but not each that is the so-manieth; 0: no such */
    uint64_t us;
    void (*alter)(struct wire_msg *m, void *owner);
    void *owner;
    bool then_cut;        /* ALTER: what has become another kind is delivered, then as CUT_AFTER */
    struct sim_break how; /* CUT, KILL: in what way; at_us is not read */
    uint32_t seen;
};

/* What happens in the middle of the nth piece of work of this kind that `who` does in this phase:
 * it then takes a while.  The server's in OVER is its own training, when the parties have gone. */
struct sim_during {
    int who;               /* SIM_SERVER or a party */
    enum action_kind work; /* WORK, CHARGE, RECALL, KEEP */
    enum phase phase;
    uint32_t nth; /* from 1 */
    enum { SIM_LOSS, SIM_STOP, SIM_TIMER } deed;
    uint32_t party; /* LOSS: whose connection */
    /* The simulation's own. */
    uint32_t seen;
    bool runs;
    uint64_t at_us;
};

struct sim_options {
    uint32_t parties;
    uint32_t train_rows, test_rows, columns; /* 0: 6, 3, 2 */
    uint32_t validate_rows;                  /* of the test rows; with data.validate in both sets */
    uint32_t classes;                        /* or labels: multiclass, multilabel; 0: 3 */
    const char *sets[SIM_SETS_MAX];          /* plan: "protocol.straggler=drop"; NULL-terminated */
    const char *party_sets[SIM_SETS_MAX];    /* policies of all parties */
    bool quiet;                              /* keep no transcript */
    uint64_t reconnect_us;                   /* 0: 10 ms */
    /* Steps between checkpoints; 0: nobody has a disk.  With one, the server keeps a journal. */
    uint32_t checkpoint_rounds;
    uint64_t diskless; /* parties (bits) without one all the same */
    bool motley; /* party i has i % 2 columns more, and bottoms that are polynomials have degree
                    1 + i % 3 */
    uint64_t keep_us; /* from ACTION_KEEP until the checkpoint is durable; 0: 2 ms */
    bool judged;      /* ledgers count, and refuse what passes a limit (judged.h) */
    bool servers_own; /* the last party's operator is the server's */
    bool new_keys;    /* after sim_resume parties have others */
    bool unlabelled;  /* no party has labels */
    bool embeds;      /* each party's first column is the number of one of seven levels, or 0, and
                         embedded */
    bool unseeded;    /* models and noise from the system's generator */
    bool watch;       /* every sum is compared with the true one (invariant I5) */
    size_t unpacker;  /* bytes of the largest frame; 0: 64 kB */
    struct server_watch told; /* what the server sees and says (server/train/transcript.h) */
    /* A frame takes up to so much longer than usual, as the seed says. */
    uint64_t jitter_us, jitter_seed;
    bool stands; /* processes play one job after another, of which none is there yet (standing.h) */
    uint32_t predicted; /* rows of each party's data.predict, with ids 0, 1, ... */
    uint64_t work_us; /* a piece of work takes up to so long, as the seed says; 0: no time at all */
};

struct sim;

/* Who makes and frees thousands of worlds keeps their pages, or else much of the time goes into
 * giving them back and taking them again. */
void sim_keep_pages(void);

struct sim *sim_new(const struct sim_options *o);
void sim_free(struct sim *s);
/* The same federation some time later: every process starts anew from what it saved when `old`
 * ended, the dead from their disks.  Ledgers go on, and so do the invariants: `old` watches no
 * more.
 */
struct sim *sim_resume(struct sim *old);

void sim_rule(struct sim *s, struct sim_rule r);
void sim_during(struct sim *s, struct sim_during d);
/* A party whose table has other rows or ids: called before sim_run. */
struct table *sim_party_train(struct sim *s, uint32_t party);
struct roster *sim_party_roster(struct sim *s, uint32_t party);
/* Its rows are of so many persons (people.h). */
void sim_group(struct sim *s, uint32_t party, uint32_t persons);
/* The n-th charge (from 1) of this party fails with this status. */
void sim_fail_charge(struct sim *s, uint32_t party, uint32_t nth, enum status status);
/* Its ledger takes no further mechanism. */
void sim_fill_ledger(struct sim *s, uint32_t party);
/* A party that connects only after this time. */
void sim_late(struct sim *s, uint32_t party, uint64_t us);
/* Ask a daemon to stop at this time; SIM_SERVER or a party. */
void sim_stop_at(struct sim *s, int who, uint64_t us);

/* The process of SIM_SERVER or a party dies at this time, and is started anew from its disk. */
void sim_kill_at(struct sim *s, int who, uint64_t us);
/* The same and more; at_us says when. */
void sim_break_at(struct sim *s, struct sim_break b);
/* The server's journal loses its last n records at its next death (a power cut, a state put back).
 */
void sim_lose_records(struct sim *s, size_t n);

/* Runs until everything is over or nothing is left to happen; at most `us` of virtual time. */
void sim_run(struct sim *s, uint64_t us);
/* Until the server has taken so many steps. */
void sim_run_to_step(struct sim *s, uint64_t step);

const char *sim_transcript(const struct sim *s);

struct sim_end {
    bool over;     /* the process is */
    uint32_t jobs; /* that have ended; the rest is of the last */
    enum wire_outcome outcome;
    struct error error;
};
const struct sim_end *sim_server_end(const struct sim *s);
const struct sim_end *sim_party_end(const struct sim *s, uint32_t party);
const struct server_report *sim_server_report(struct sim *s);
const struct party_report *sim_party_report(struct sim *s, uint32_t party);
/* SHA-256 in hex of the head, or of a party's bottom. */
void sim_model(const struct sim *s, int who, char out[65]);
/* Released vectors that this party's charges cover, less what was given back. */
uint64_t sim_charged(const struct sim *s, uint32_t party);
/* Vectors in the uploads that this party sent. */
uint64_t sim_uploaded(const struct sim *s, uint32_t party);
uint64_t sim_now_us(const struct sim *s);
/* Messages of this kind that SIM_SERVER (to anybody) or a party has sent. */
uint32_t sim_sent(const struct sim *s, int who, enum wire_kind kind);
uint64_t sim_unpack_failures(const struct sim *s);

/* What the server's journal was given, in order: of each record a digest of what it says. */
struct sim_step {
    enum wire_purpose purpose;
    uint64_t place, sweep;
    uint8_t digest[32]; /* of sum, gradient and trail */
};
const struct sim_step *sim_steps(const struct sim *s, size_t *n);

/* The first invariant of threats.md 5.1 that did not hold, in words; NULL: all do.  Asking takes it
 * off the simulation, which otherwise aborts at its end. */
const char *sim_broken(struct sim *s);

#endif
