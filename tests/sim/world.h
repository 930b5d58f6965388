/* world.h -- the inside of a simulation: who exists, and how they are made.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_WORLD_H
#define COLONNADE_TESTS_SIM_WORLD_H

#include "common/base/buf.h"
#include "common/daemon/journal.h"
#include "tests/sim/sim.h"

struct flight {
    bool used, up, cut_after;
    uint64_t at_us, order, connection;
    uint32_t party;
    struct buf frame;
};

/* What survives a process: its last durable checkpoint, and one that is being written. */
struct sim_disk {
    struct buf saved, writing;
    uint64_t durable_us; /* when `writing` is; 0: nothing is being written */
};

struct sim_record {
    struct journal_record r;
    float *sum, *gradient;
};

struct sim_party {
    struct config_party config;
    struct roster roster;
    struct sign_key key;
    struct table train, test;
    struct party_session *session;
    struct wire_unpacker unpacker;
    struct actions actions;
    struct sim_end end;
    struct sim_disk disk;
    bool connected, joined;
    uint64_t connection, connect_us, timer_us, last_up_us, last_down_us;
    uint64_t charged, uploaded;
    /* The same by the size of the set that the mechanism was charged for. */
    uint64_t charged_among[SIM_PARTIES_MAX + 1], uploaded_among[SIM_PARTIES_MAX + 1];
    uint32_t charges, fail_charge;
    enum status fail_status;
    uint64_t last_generation, last_round; /* of its uploads: they only grow */
};

struct sim {
    struct sim_options options;
    struct plan plan;
    struct roster roster;
    struct table train, test;
    float *train_target, *test_target;
    struct server_session *server;
    struct wire_unpacker unpacker;
    struct actions actions;
    struct sim_end server_end;
    struct sim_party *party;
    struct flight *flight;
    struct sim_rule rule[SIM_RULES_MAX];
    size_t rules_n;
    struct sim_disk disk; /* the server's */
    struct sim_record *record;
    size_t records_n, records_max, lose;
    struct {
        int who;
        uint64_t us;
    } kill[SIM_KILLS_MAX];
    size_t kills_n;
    bool started, kill_server_soon, cut_soon[SIM_PARTIES_MAX], leave_soon[SIM_PARTIES_MAX],
        kill_soon[SIM_PARTIES_MAX];
    uint64_t now_us, order, server_timer_us, stop_us, unpack_failures;
    int stop_who;
    struct buf transcript;
};

void world_tell_server(struct sim *s, const struct event *e);
void world_tell_party(struct sim *s, uint32_t party, const struct event *e);
void world_cut(struct sim *s, uint32_t party);
void world_new_party(struct sim *s, uint32_t party); /* its process, from its disk */
void world_new_server(struct sim *s);

/* life.c */
void life_keep(struct sim_disk *d, const struct sim *s, const struct wire_bytes *kept);
void life_durable(struct sim *s, int who); /* the checkpoint that was being written now is */
void life_kill(struct sim *s, int who);
struct server_store life_store(struct sim *s);
void life_replay(struct sim *s); /* the journal into a new server */
void life_free(struct sim *s);
/* A release is in the ledger before it is sent, under the mechanism of its own set.
 * Invariant I2: within a generation rounds only grow, so no round gets two uploads of one party. */
void world_check_upload(struct sim *s, uint32_t party, const struct wire_upload *u);

#endif
