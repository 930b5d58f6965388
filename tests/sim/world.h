/* world.h -- the inside of a simulation: who exists, and how they are made.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_WORLD_H
#define COLONNADE_TESTS_SIM_WORLD_H

#include "common/base/buf.h"
#include "common/daemon/journal.h"
#include "common/data/schema.h"
#include "tests/sim/aligning.h"
#include "tests/sim/compared.h"
#include "tests/sim/sim.h"

/* A frame on its way; `end`: no frame, but the end of the stream. */
struct flight {
    bool up, cut_after, end, tapped;
    uint64_t at_us, order, connection;
    uint32_t party;
    struct buf frame;
};

struct sim_record {
    struct journal_record r;
    float *sum, *gradient;
    uint64_t applied; /* training steps of the model that it comes after */
};

struct sim_records {
    struct sim_record *record;
    size_t n, max;
};

/* Shares of everybody's data, as in party/holdings.h. */
struct sim_shares {
    uint8_t *data;
    size_t n;
};

/* Of a party's ledger what a session asks of it. */
struct sim_ledger {
    uint64_t number, seen[SIM_PARTIES_MAX];
    bool tampered; /* it was put back, or replaced */
};

/* What survives a process: its last durable checkpoint, one that is being written, and a copy that
 * somebody made to put it back; of the server its journal, of a party its data shares, too. */
struct sim_disk {
    struct buf saved, before, writing, copy; /* before: the one that `saved` replaced */
    uint64_t durable_us;                     /* when `writing` is; 0: nothing is being written */
    struct sim_records journal, journal_copy;
    struct sim_shares shares, shares_copy;
    struct sim_ledger ledger, ledger_copy;
    bool keeps_shares; /* or else they end with the process */
    bool unpaid;       /* nothing was charged for the run that `saved` is of */
    bool full;         /* the journal and the floor take nothing more */
    uint64_t floor;    /* of generations, at the server; 0: never raised */
    struct compared compared;
};

/* The piece of work under way. */
struct sim_work {
    uint64_t us; /* when it will have ended; 0: there is none */
    const struct action *asked;
};

struct sim_party {
    struct sim *world;
    uint32_t self;
    struct config_party config;
    struct roster roster;
    struct sign_key key;
    struct program *program; /* of a test that has one (speaker.h) */
    struct table train, test, predicted;
    /* By row: it has no more to spend; NULL: each has. */
    struct {
        uint8_t *train, *test, *predicted;
    } spent;
    struct sim_list list;
    struct persons persons, persons_predicted; /* none is named but by sim_group */
    uint32_t salt;                             /* of its model's weights (packages.h) */
    struct party_session *session;
    struct wire_unpacker unpacker;
    struct driver driver;
    struct sim_work work;
    struct sim_end end;
    struct sim_disk disk;
    /* connected: as the party sees it; joined: as the server does.  They differ until the one that
     * has not heard of a cut does: at ghost_us the server, at deaf_us the party. */
    bool connected, joined;
    bool hole_up, hole_down; /* nothing gets through on this connection any more */
    uint64_t ghost_us, deaf_us;
    uint64_t connection, connect_us, timer_us, last_up_us, last_down_us;
    uint64_t up_us;   /* its process is dead until then; 0: it is not */
    uint64_t away_us; /* it leaves for so long; 0: it does not */
    struct sim_break leaves;
    uint64_t charged, uploaded;
    size_t down_max; /* of the largest frame it takes */
    uint32_t charges, fail_charge;
    struct judged *books; /* options.judged (judged.h) */
    bool playing;         /* a job that this process was offered is not over (standing.h) */
    bool full;            /* its ledger takes no further mechanism */
    bool overasked;       /* for too many ids that it does not have */
    enum status fail_status;
    uint32_t sent[WIRE_KINDS];
    struct buf frame; /* of its driver */
};

/* Is shown each frame as it lands, before the receiver reads it, and may change it. */
struct sim_tap {
    void (*landed)(struct sim *s, struct flight *f, void *owner);
    void *owner;
};

/* Is told of all that somebody lets out: what is said (by SIM_SERVER: to party `to`), before
 * anything happens to it; what a ledger is asked for; how somebody ends.  All set, or none. */
struct sim_ear {
    void (*said)(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner);
    void (*charged)(struct sim *s, uint32_t party, const struct action_charge *c, void *owner);
    void (*ended)(struct sim *s, int who, void *owner);
    void *owner;
};

struct sim {
    struct sim_options options;
    struct sim_tap tap;
    struct sim_ear ear;
    struct plan plan;
    struct roster roster;
    struct table train, test;
    float *train_target, *test_target;
    struct validate validate;
    struct sim_list list; /* the server's */
    struct table labels;  /* the training targets, as parties have them */
    struct server_session *server;
    struct wire_unpacker unpacker;
    struct driver driver;   /* the server's */
    struct actions written; /* of its work */
    struct sim_work work;
    struct sim_end server_end;
    uint32_t id_mismatches; /* limits.id_mismatches */
    struct sim_party *party;
    struct flight *flight, landing; /* the first flights_n are on their way; landing: delivered */
    size_t flights_n, flights_max;
    struct sim_rule rule[SIM_RULES_MAX];
    size_t rules_n;
    struct sim_disk disk; /* the server's */
    size_t lose;          /* of the journal's records, at the server's next death */
    bool lost;            /* some were */
    struct sim_break happen[SIM_BREAKS_MAX];
    size_t breaks_n;
    bool started, landed, leave_soon[SIM_PARTIES_MAX];
    /* By party; the last one is the server's. */
    const struct sim_break *soon[SIM_PARTIES_MAX + 1];
    uint32_t server_sent[WIRE_KINDS];
    struct buf frame; /* of the server's driver */
    struct sim_during during[SIM_DURING_MAX];
    size_t during_n;
    uint64_t works; /* pieces of work so far */
    size_t up_max;  /* of the largest frame the server takes */
    uint64_t now_us, order, server_timer_us, server_up_us, stop_us, unpack_failures;
    int stop_who;
    struct buf transcript;
    struct oracle *oracle;
    struct standing *standing; /* options.stands */
    struct schema embedding;   /* options.embeds */
    char broken[256];
};

/* As a driver does it before anything else is done about a message: what is said has to be packed
 * by SIM_SERVER or a party. */
enum status world_pack(struct sim *s, int who, const struct wire_msg *m) MUST_USE;
/* Of SIM_SERVER or a party: a process of its own begins; is there one; is it at work. */
void world_new_driver(struct sim *s, int who);
bool world_up(const struct sim *s, int who);
bool world_works(const struct sim *s, int who);
/* When it will hear messages again; 0: now. */
uint64_t world_works_until(const struct sim *s, int who);
/* To whoever is there.  No message to who is at work. */
void world_tell_server(struct sim *s, const struct event *e);
void world_tell_party(struct sim *s, uint32_t party, const struct event *e);
void world_kept(struct sim *s, int who, const struct error *result); /* a checkpoint under way */
void world_worked(struct sim *s, int who);                           /* its work has had its time */
void world_cut(struct sim *s, uint32_t party);       /* both ends hear of it at once */
void world_new_party(struct sim *s, uint32_t party); /* its process, from its disk */
void world_new_server(struct sim *s);
struct server_setup world_server_setup(struct sim *s); /* of s->plan */
void world_restore_server(struct sim *s);              /* a run of it, from its disk */
struct server_federation *world_federation(struct sim *s);

#endif
