/* config.h -- YAML to structs by one table that holds key, type, range, default and help.
 *
 * A mistake is one line, `file:line: key: reason` (STATUS_CONFIG).  Unknown keys, repeated keys,
 * wrong types and values out of range are mistakes.  --set key.path=value goes through the same
 * table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_CONFIG_H
#define COLONNADE_CONFIG_CONFIG_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/config/layers.h"
#include "common/config/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A checkpoint further back than the server remembers (limits.h) would be worth nothing. */
enum { CONFIG_CHECKPOINT_ROUNDS_MAX = 8192 };
/* Powers of a polynomial bottom. */
enum { CONFIG_DEGREE_MAX = 8 };
/* Lists of ids that are not the own one. */
enum { CONFIG_ID_MISMATCHES_MAX = 256 };

enum { CONFIG_COLUMN_MAX = 128 };
/* Of `state`, so that no name of a file in it is ever cut to CONFIG_PATH_MAX. */
enum { CONFIG_STATE_MAX = 384 };
enum { CONFIG_PATH_MAX = 512, CONFIG_NAME_MAX = 64, CONFIG_LIST_MAX = 16 };

struct config_identity {
    char cert[CONFIG_PATH_MAX], key[CONFIG_PATH_MAX], ca[CONFIG_PATH_MAX], crl[CONFIG_PATH_MAX];
};

struct config_names {
    size_t n;
    char name[CONFIG_LIST_MAX][CONFIG_NAME_MAX];
};

/* A program and its arguments, as execvp takes them. */
struct config_command {
    size_t n; /* 0: none */
    char arg[CONFIG_LIST_MAX][CONFIG_PATH_MAX];
};

/* One that computes a part of the model (common/program/program.h), and what it may have: address
 * space, and time for one answer. */
struct config_program {
    struct config_command command;
    uint32_t memory_mib, timeout_ms;
};

/* DELAY_FEDVS: FedVS's delay pattern (Li, Yao, Liu 2023, section 6) times delay_s, by place in the
 * roster: of N parties the first N - N/2 wait exponential times of mean 0.1 delay_s seconds, the
 * i-th of the other N/2 (i from 1) of mean (2 + 4 i/N) delay_s.  Where that is before the uploads
 * of fedvs, each waits before its model shares, too: (ln N)^2 / batch of its mean. */
enum config_delay_kind { DELAY_NONE, DELAY_CONST, DELAY_EXP, DELAY_FEDVS };
/* BEFORE_SHARE: of codes under coded, of keys and data under fedvs.  BEFORE_MODEL_SHARE: of
 * weights, fedvs only.  BEFORE_RESULT: an upload, as fedvs calls it.  BEFORE_FIRST: the party's
 * first message of a round: share under coded, of the model under fedvs, otherwise upload. */
enum config_message {
    BEFORE_UPLOAD,
    BEFORE_SHARE,
    BEFORE_HELLO,
    BEFORE_CONFIRM,
    BEFORE_FIRST,
    BEFORE_MODEL_SHARE,
    BEFORE_RESULT,
    BEFORE_ANY
};

/* For experiments: waits and link shapes a daemon imposes on itself. */
struct config_inject {
    enum config_delay_kind delay;
    double delay_s; /* the constant, the mean, or the factor of DELAY_FEDVS */
    enum config_message before;
    uint32_t crash_at_round; /* 0: never */
    double link_delay_ms, link_jitter_ms, link_rate_mbit;
};

/* Predictions on request. */
struct config_serve {
    uint32_t rows, waiting, deadline_ms, idle_ms;
    uint64_t client_rows_day; /* that one client has parties asked for; 0: any */
};

enum { CONFIG_ALIGN_NAME_MAX = 40, CONFIG_ALIGN_COLUMNS_MAX = 16 };
/* What is done to a cell before it counts as an id. */
enum config_unicode { CONFIG_UNICODE_NFC, CONFIG_UNICODE_NFKC, CONFIG_UNICODE_NONE };
/* Of an id that is there twice. */
enum config_duplicates { CONFIG_DUPLICATES_REFUSE, CONFIG_DUPLICATES_FIRST, CONFIG_DUPLICATES_ALL };

/* Which rows an alignment ends with: those of all sides, or all of the server's. */
enum config_rows { CONFIG_ROWS_COMMON, CONFIG_ROWS_LABELLED, CONFIG_ROWS_N };

/* The ids that this side aligns with the others', and what it lets them learn. */
struct config_align {
    char table[CONFIG_PATH_MAX]; /* "": none; takes part in no alignment */
    char key[CONFIG_COLUMN_MAX]; /* the columns that make an id, commas between; "": id */
    bool trim, fold;
    enum config_unicode unicode;
    enum config_duplicates duplicates;
    uint32_t patience_ms;           /* server: for one step */
    enum config_rows rows;          /* server: where a job does not say */
    bool rows_taken[CONFIG_ROWS_N]; /* party: kinds that it takes part in */
    uint32_t ids_max, all_max, times_max, result_min;
};

struct config_server {
    char listen[CONFIG_PATH_MAX];
    struct config_identity identity;
    char roster[CONFIG_PATH_MAX];
    char state[CONFIG_PATH_MAX], state_key[CONFIG_PATH_MAX];
    uint32_t checkpoint_rounds; /* with a state_key only */
    bool stand;                 /* one job after another, from a queue under state */
    char labels_train[CONFIG_PATH_MAX], labels_test[CONFIG_PATH_MAX];
    /* Which rows of them: names of alignments; "": all, by their ids. */
    char labels_alignment[CONFIG_ALIGN_NAME_MAX + 1],
        labels_alignment_test[CONFIG_ALIGN_NAME_MAX + 1];
    char labels_positive[CONFIG_COLUMN_MAX]; /* the text of class 1; "": classes by their texts */
    char labels_group[CONFIG_COLUMN_MAX];    /* whose rows they are; "": nobody says */
    char labels_time[CONFIG_COLUMN_MAX];     /* when they were */
    struct config_names labels_columns;      /* of several labels; n 0: all there are */
    char load[CONFIG_PATH_MAX];              /* first weights of the head; "": drawn */
    struct config_program head;              /* that computes the head */
    struct config_names insecure_peers;
    uint32_t connections_per_address;   /* unauthenticated, threats E4 */
    uint32_t id_mismatches;             /* other lists of ids of one party, at most */
    uint64_t epoch;                     /* of the data, for kept answers */
    uint32_t predict_min_parties;       /* 0: everybody */
    char predict_by[CONFIG_COLUMN_MAX]; /* for whom, where a job does not say */
    uint32_t predict_wait_ms;           /* for everybody, before fewer answer */
    char http[CONFIG_COLUMN_MAX]; /* HOST:PORT of requests; "": the socket under state alone */
    struct config_serve serve;
    struct config_align align;
    struct plan plan;
    struct config_inject inject;
};

enum config_output_activation { OUTPUT_ACTIVATION_TANH, OUTPUT_ACTIVATION_NONE };
/* What a bottom does with its records (docs/privacy.md). */
enum config_train { TRAIN_RAW, TRAIN_FROZEN, TRAIN_DP };

/* As enum account_adversary. */
enum config_adversary {
    ADVERSARY_SERVER,
    ADVERSARY_SERVER_1,
    ADVERSARY_SERVER_T,
    ADVERSARY_ALL_BUT_ONE,
    ADVERSARY_PARTY
};
/* As enum account_adjacency. */
enum config_adjacency {
    ADJACENCY_RECORD_FROZEN,
    ADJACENCY_RECORD_DP,
    ADJACENCY_RECORD_RAW,
    ADJACENCY_COLUMNS,
    ADJACENCY_SAMPLE,
    ADJACENCY_PERSON_FROZEN,
    ADJACENCY_PERSON_DP,
    ADJACENCY_PERSON_RAW
};
/* What a limit on epsilon is for: one record or person, by whichever of the six holds, and the
 * others. */
enum config_limited { LIMITED_RECORD, LIMITED_COLUMNS, LIMITED_SAMPLE };
enum { CONFIG_ADVERSARIES = 5, CONFIG_ADJACENCIES = 8, CONFIG_LIMITED = 3 };

/* What this party accepts, whatever a plan says. */
struct config_policy {
    uint32_t min_parties, min_m_eff;
    enum config_adversary epsilon_adversary;
    enum config_adjacency epsilon_adjacency;
    double epsilon_value;                                   /* 0: no limit */
    double epsilon_max[CONFIG_ADVERSARIES][CONFIG_LIMITED]; /* 0: no limit */
    uint64_t releases_record, releases_total;               /* 0: no limit */
    uint32_t shares_mib;                                    /* 0: no limit */
    uint32_t unknown_ids;                /* that predictions may ask for, over all jobs */
    uint32_t unknown_ids_day;            /* of these a day takes off; 0: none */
    uint32_t predict_rows;               /* of one job of predictions, at most; 0: any */
    uint32_t contribute_rows;            /* of one job of contributions, at most; 0: none */
    uint32_t contribute_columns;         /* the first ones, that one may mix up */
    uint64_t predict_rows_day;           /* of all of a day; 0: any */
    struct config_names predict_models;  /* runs, or plan:DIGITS; none: any */
    struct config_names predict_by;      /* for whom; none: anybody */
    uint32_t id_mismatches;              /* other lists of ids of one other end, at most */
    bool encoding[PLAN_ENCODINGS];       /* by enum plan_encoding */
    bool aggregation[PLAN_AGGREGATIONS]; /* by enum plan_aggregation */
    double gradient_clip;                /* per-sample l2 norm; 0: none */
    double max_learning_rate;
    char roster_sha256[65]; /* "" : not pinned */
};

struct config_party {
    char server[CONFIG_PATH_MAX]; /* host:port */
    struct config_names insecure_peers;
    struct config_identity identity;
    char roster[CONFIG_PATH_MAX];
    char state[CONFIG_PATH_MAX], state_key[CONFIG_PATH_MAX];
    uint32_t checkpoint_rounds; /* with a state_key only */
    bool stand;                 /* one job after another, as the server offers them */
    char data_train[CONFIG_PATH_MAX], data_test[CONFIG_PATH_MAX];
    char data_alignment[CONFIG_ALIGN_NAME_MAX + 1], data_alignment_test[CONFIG_ALIGN_NAME_MAX + 1];
    char data_predict[CONFIG_PATH_MAX]; /* "": none; takes part in no prediction */
    char data_mapped[CONFIG_PATH_MAX];  /* where features lie in files (values.h); "": memory */
    char labels_train[CONFIG_PATH_MAX]; /* "": none; for a plan with local_view refreshed */
    char labels_positive[CONFIG_COLUMN_MAX];
    char table[CONFIG_COLUMN_MAX]; /* of a database; "": the only one */
    char schema[CONFIG_PATH_MAX];  /* what columns are; "": found out */
    char scale[CONFIG_PATH_MAX];   /* "fit", "none" or a path */
    bool scale_given;              /* the path's content was made without these records */
    double validate;               /* share of the training rows to choose by: the plan's */
    enum plan_validate_by validate_by;
    char group[CONFIG_COLUMN_MAX]; /* whose rows they are; "": each is its own */
    char time[CONFIG_COLUMN_MAX];  /* when they were; "": nobody says */
    struct plan_widths shape;      /* of a row: [C, H, W] or [T, C]; empty: its values are flat */
    uint32_t augment_crop;         /* of images in training: moved by so many pixels at most */
    bool augment_flip;             /* and mirrored, every other one */
    enum layers_preset preset;     /* which layers has been filled in from */
    struct config_layers layers;   /* empty for a polynomial bottom */
    enum plan_activation activation;
    enum config_output_activation output_activation; /* behind the last layer, which has layers */
    double dropout;                                  /* of each hidden unit in a step of training */
    uint32_t degree;                                 /* of a polynomial bottom; 0: a layered one */
    struct config_program program; /* that computes the bottom, which has none of the above */
    enum config_train train;
    double clip, noise;         /* G, and sigma: standard deviations of noise in units of G; dp */
    char load[CONFIG_PATH_MAX]; /* first weights; "": drawn */
    struct config_policy policy;
    struct config_align align;
    struct config_inject inject;
};

/* The table's defaults alone: texts of required keys are empty.  For tests and tools. */
void config_server_defaults(struct config_server *c);
void config_party_defaults(struct config_party *c);

/* Defaults, then the file (NULL: none), then the n assignments "key.path=value", in this order;
 * then protocol.encoding, which is fixed under fedvs unless given; required keys and plan_check, or
 * the party's choice of a bottom.  Relative paths become absolute: those of the file from the
 * file's directory, those of assignments from the working directory.  STATUS_CONFIG (or MEMORY). */
enum status config_load_server(struct config_server *c, const char *file, const char *const *sets,
                               size_t n, struct error *err) MUST_USE;
enum status config_load_party(struct config_party *c, const char *file, const char *const *sets,
                              size_t n, struct error *err) MUST_USE;

/* A server's configuration with a job's own plan: keys of the plan alone, as YAML, over those of
 * the file and of the assignments.  The text is somebody else's: config_check_job says of it alone
 * whether it names other keys, or values out of range. */
struct config_job {
    const char *file, *const *sets;
    size_t sets_n;
    const char *plan;
    size_t plan_n;
};
enum status config_check_job(const char *text, size_t n, struct error *err) MUST_USE;
enum status config_load_server_job(struct config_server *c, const struct config_job *job,
                                   struct error *err) MUST_USE;

/* The resolved configuration as YAML that config_load_* reads back to the same struct. */
enum status config_print_server(const struct config_server *c, struct buf *out) MUST_USE;
enum status config_print_party(const struct config_party *c, struct buf *out) MUST_USE;

/* The keys of the plan that a file gives, as YAML for a server's file.  STATUS_CONFIG when it gives
 * another key, or a plan that a server would refuse as it stands. */
enum status config_print_plan_file(const char *file, struct buf *out, struct error *err) MUST_USE;

/* The reference table of all keys (key, type, range, default, help) in Markdown, for docs. */
enum status config_reference(struct buf *out) MUST_USE;

#endif
