/* misbehave.h -- scripted misbehaviours: one frame of a run is another one, and what comes of it.
 *
 * A script is a small run of three parties.  Undisturbed it is recorded: what lands at p2, and what
 * of p2 lands at the server, in which phase of the receiver, and the models at the end; that is the
 * negative twin of all that follows.  A misbehaviour is the same run but for one landing, where an
 * act may change the frame or put another one before it: by the server when the frame goes down, by
 * p2 when it goes up.  Its ending is named, and looked at from all sides: who ended with which
 * code, whom the words name, that p2 sends no data any more once the server has lied to it, that no
 * invariant of the simulation broke; and, where it was refused under `wait`, that the same
 * federation, started again without the lie, comes to the models of the undisturbed run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_MISBEHAVE_H
#define COLONNADE_TESTS_SIM_MISBEHAVE_H

#include "common/flow/agree.h"
#include "common/flow/phase.h"
#include "tests/sim/world.h"

enum { MIS_PARTIES = 3, MIS_VICTIM = 1, MIS_RULES_MAX = 3, MIS_LANDINGS_MAX = 160 };

/* A frame as it lands. */
struct mis_landing {
    bool up;
    enum phase phase; /* of the receiver */
    enum wire_kind kind;
    enum wire_purpose purpose;
    uint64_t generation, round; /* 0 where a message has none */
    bool opens, closes;
    struct buf frame;
};

struct mis_script {
    const char *name;
    struct sim_options options;
    struct sim_rule rule[MIS_RULES_MAX]; /* part of the run: a cut, a death */
    size_t rules_n;
    struct mis_landing at[MIS_LANDINGS_MAX];
    size_t n;
    char model[MIS_PARTIES + 1][65]; /* the head's, then the bottoms' */
};

/* How a run ends. */
enum mis_end {
    MIS_REFUSED,  /* as a breach of the protocol: exit 3 for whoever saw it or did it */
    MIS_DATA,     /* as a configuration or data that cannot be: exit 2 */
    MIS_POLICY,   /* by p2's policy: exit 5 */
    MIS_VOID,     /* a sum came out as noise and was not used */
    MIS_UNOPENED, /* a share did not open: exit 3 for who saw it, its dealer named */
    MIS_PATIENCE, /* the server waited for p2 in vain, or p2 for the server: exit 4 */
    MIS_CLOSED,   /* the connection was closed; p2 came back, and the run is the undisturbed one */
    MIS_TOLD,     /* p2 ended with an outcome that the server, which had ended, did not have */
    MIS_SPOKEN,   /* the server took what landed for a refusal by p2, which had uttered none */
    MIS_SAME,     /* the run is the undisturbed one */
    MIS_OTHER,    /* completed with other models */
    MIS_WRONG     /* anything else */
};

struct mis {
    const struct mis_script *script;
    struct sim *sim;
    /* What to do, and where. */
    size_t at;
    void (*act)(struct mis *m, struct flight *f);
    void (*also)(struct mis *m, struct flight *f); /* NULL, or at a later landing */
    size_t also_at;
    void *owner;
    uint32_t answers;  /* data messages that p2 still owes to what is no lie */
    bool alone;        /* p2 has to see it by itself: the server takes its side in the lie */
    const char *names; /* stands in the server's last words; NULL: any */
    bool taken;        /* what p2 was told stays in its state: it cannot go on from there */
    bool mute;         /* p2 sends no more than that, and spends nothing more where it is none */
    bool unwatched;    /* sums may be wrong: what is uploaded is, or what is shown of it in clear */
    /* What has landed so far: every party's frames, the last of each kind and direction. */
    struct buf last[MIS_PARTIES][2][WIRE_KINDS];
    struct buf frame[MIS_LANDINGS_MAX]; /* p2's, as they came */
    size_t landed;
    bool skipped;        /* the act found nothing to do: the run does not count */
    bool done, up, late; /* late: the server had said that all is over */
    uint32_t said;       /* data messages that p2 had sent by then */
    uint64_t charged;    /* and what it had charged */
    char name[128];
    char words[640]; /* of a MIS_WRONG: why; else the error of whoever ended the run */
};

/* The undisturbed run, which has to complete. */
void mis_record(struct mis_script *c);
void mis_forget(struct mis_script *c);

/* One misbehaviour from its beginning to its end; frees everything. */
enum mis_end mis_run(struct mis *m);
const char *mis_end_name(enum mis_end e);

/* How a set of misbehaviours ended: every one that did not end as it may is printed. */
struct mis_tally {
    const struct mis_script *script;
    const char *what;
    size_t asked, run, refused, harmless, wrong;
};
#define MIS(end) (1u << MIS_##end)
/* Runs m; its ending must be among `may` (MIS(REFUSED) | ...).  Ends that leave the run as it was
 * count as harmless, others as refused. */
void mis_expect(struct mis_tally *t, struct mis *m, unsigned may);
/* Prints the line and fails the test when one was wrong or fewer than `least` were refused. */
void mis_close(const struct mis_tally *t, size_t least);

/* A well-formed message of this kind, of this generation, for any party of a script. */
void mis_template(struct wire_msg *m, enum wire_kind kind, uint64_t generation);
/* Points into memory that the next call uses again. */
struct wire_msg mis_unpack(const struct buf *frame);
void mis_pack(struct buf *out, const struct wire_msg *m);
/* h with other elements, signed by whoever has this key; it points into `made` and `elements`. */
void mis_say_elements(struct wire_hello *h, const struct sign_key *key, const uint8_t *elements,
                      struct agree_hello *made);
void mis_copy(struct buf *to, const struct buf *from);

#endif
