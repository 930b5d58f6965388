/* message.h -- protobuf messages to checked structs and back; no socket.
 *
 * Unpacking runs under a memory quota (threats E2) out of a block made once: it allocates nothing.
 * What it returns points into that block and lives until the next unpack.  Lengths of digests, keys
 * and signatures, member counts, text lengths and encodings are checked here, so that a session
 * core sees only messages of the right shape; what they *mean* in a phase is the core's business.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_WIRE_MESSAGE_H
#define COLONNADE_WIRE_MESSAGE_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/wire/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_DIGEST_BYTES = 32, WIRE_KEY_BYTES = 32, WIRE_SIGNATURE_BYTES = 64 };
/* Of comparing ids (common/flow/ids.h): one element, one proof; and one for either neighbour. */
enum {
    WIRE_ELEMENT_BYTES = 32,
    WIRE_ELEMENTS_BYTES = 64,
    WIRE_PROOF_BYTES = 32,
    WIRE_PROOFS_BYTES = 64
};

enum wire_kind {
    WIRE_NONE,
    WIRE_JOIN,
    WIRE_OFFER,
    WIRE_BEHIND,
    WIRE_REPLAY,
    WIRE_HELLO,
    WIRE_HELLOS,
    WIRE_CONFIRM,
    WIRE_CONFIRMS,
    WIRE_BROADCAST,
    WIRE_UPLOAD,
    WIRE_SHARE,
    WIRE_RELAY,
    WIRE_KEPT,
    WIRE_BATCH,
    WIRE_FINISH,
    WIRE_REFUSE,
    WIRE_KINDS
};

enum wire_purpose {
    PURPOSE_TRAIN,
    PURPOSE_EVALUATE_TEST,
    PURPOSE_EVALUATE_TRAIN,
    PURPOSE_DEAL_KEYS, /* rounds of shares and relays alone: no upload */
    PURPOSE_DEAL_DATA
};
enum wire_outcome {
    OUTCOME_COMPLETED,
    OUTCOME_TARGET,
    OUTCOME_BUDGET,
    OUTCOME_STOPPED,
    OUTCOME_FAILED
};
enum wire_phase { WIRE_PHASE_SETUP, WIRE_PHASE_TRAIN, WIRE_PHASE_EVALUATE };

/* Bytes that belong to somebody else. */
struct wire_bytes {
    const uint8_t *data;
    size_t n;
};

struct wire_join {
    uint32_t version;
    const uint8_t *roster_digest; /* WIRE_DIGEST_BYTES */
    uint64_t applied, kept;       /* training steps: in memory; in the last durable checkpoint */
    const uint8_t *trail;         /* WIRE_DIGEST_BYTES; zeros: no gradient applied */
    bool resumes;                 /* brings a model of this run */
    uint64_t generation;          /* the last one it was offered */
    bool keeps;                   /* writes checkpoints */
    uint32_t min_parties;         /* smallest set it takes part in */
    uint64_t kept_before;         /* training steps in the checkpoint before the last */
    bool between_jobs;            /* says nothing of a job, until one is offered */
};

struct wire_job {
    char kind[WIRE_JOB_KIND_MAX + 1]; /* a-z, at least one */
    struct wire_bytes text;           /* canonical; never empty */
};

struct wire_offer {
    uint64_t generation, step;
    struct wire_job job;
    struct wire_bytes members;
    const uint8_t *element; /* WIRE_ELEMENT_BYTES */
    const uint8_t *playing; /* WIRE_DIGEST_BYTES */
    uint64_t best;          /* as in a broadcast */
};

struct wire_behind {
    uint64_t generation, applied;
};

struct wire_replay {
    uint64_t generation, step;
    struct wire_bytes gradient; /* float32 little-endian, of step, step + 1, ... */
};

struct wire_hello {
    struct wire_bytes body;
    const uint8_t *public_key; /* WIRE_KEY_BYTES */
    const uint8_t *signature;  /* WIRE_SIGNATURE_BYTES */
    /* The fields of body. */
    const uint8_t *plan_digest, *nonce, *kex_public; /* 32 bytes each */
    uint64_t generation;
    char name[WIRE_NAME_MAX + 1];
    uint32_t train_rows, test_rows;
    /* fedvs; 0 and empty elsewhere. */
    uint32_t features, degree; /* of the polynomial bottom */
    struct wire_bytes dealing; /* WIRE_DIGEST_BYTES or none: the name of its sharing of its rows */
    struct wire_bytes holds;   /* WIRE_DIGEST_BYTES or none: all dealings that it has shares of */
    uint64_t held;             /* chunks of those shares */
    uint64_t ledger;         /* rounds that its ledger has paid for, less those still to be sent */
    const uint8_t *elements; /* WIRE_ELEMENTS_BYTES: for the one before, the one after */
};

struct wire_hellos {
    uint64_t generation;
    size_t n;
    const struct wire_hello *hello;
};

struct wire_confirm {
    const uint8_t *sid;            /* WIRE_DIGEST_BYTES */
    const uint8_t *proofs, *marks; /* WIRE_PROOFS_BYTES: for the one before, the one after */
    const uint8_t *signature;      /* WIRE_SIGNATURE_BYTES */
    uint64_t generation;
    struct wire_bytes seen; /* WIRE_SEEN_BYTES for each member, little-endian, in member order */
};

struct wire_confirms {
    uint64_t generation;
    size_t n;
    const struct wire_confirm *confirm;
    const uint8_t *proof; /* WIRE_PROOF_BYTES: the server's, for the first member */
};

struct wire_broadcast {
    uint64_t generation;
    bool closes, opens;
    uint64_t close_step;
    struct wire_bytes gradient; /* float32 little-endian */
    enum wire_purpose purpose;
    uint64_t round, place, sweep;
    struct wire_bytes absent; /* member indices, strictly ascending; only with closes */
    bool last;                /* nothing is opened ever after */
    struct wire_bytes ids;    /* of the round's rows, a line end behind each; only with opens */
    uint64_t best;            /* steps at the best evaluation so far; 0: none */
};

struct wire_upload {
    uint64_t generation, round;
    enum wire_purpose purpose;
    struct wire_bytes payload, check;
};

/* A Share or a Relay: one ciphertext and one tag for (of) each other member, in member order.  The
 * parts of a share are of one size.  Those of a relay may differ, as the members that sealed them
 * do.  Only parts that deal keys may be empty. */
struct wire_shares {
    uint64_t generation, round;
    enum wire_purpose purpose;
    struct wire_bytes sealed, tags; /* WIRE_TAG_BYTES each; sealed in as many parts */
};

struct wire_kept {
    uint64_t step;
    bool final; /* the last broadcast has come */
};

/* One step of an alignment. */
struct wire_batch {
    uint64_t generation;
    uint32_t step;
    struct wire_bytes entries;
    struct wire_bytes tag;     /* WIRE_TAG_BYTES each; of entries one, or of acknowledgements */
    struct wire_bytes tallies; /* WIRE_TALLY_BYTES each */
    uint32_t common;
};

struct wire_finish {
    enum wire_outcome outcome;
    enum status_kind kind;
    char text[WIRE_TEXT_MAX + 1];
};

struct wire_refuse {
    enum status_kind kind;
    char text[WIRE_TEXT_MAX + 1];
    uint32_t accused;    /* roster index + 1 of a member that it cannot go on with, ... */
    uint64_t generation; /* ... and in which generation; 0: neither this nor the next */
    bool larger;         /* its set is too small for the sender, who waits for a larger one */
};

struct wire_msg {
    enum wire_kind kind;
    union {
        struct wire_join join;
        struct wire_offer offer;
        struct wire_behind behind;
        struct wire_replay replay;
        struct wire_hello hello;
        struct wire_hellos hellos;
        struct wire_confirm confirm;
        struct wire_confirms confirms;
        struct wire_broadcast broadcast;
        struct wire_upload upload;
        struct wire_shares share, relay;
        struct wire_kept kept;
        struct wire_batch batch;
        struct wire_finish finish;
        struct wire_refuse refuse;
    };
};

const char *wire_kind_name(enum wire_kind k);       /* "join", ...: as in summary.json */
const char *wire_outcome_name(enum wire_outcome o); /* summary.json's status */

/* Embedding, share or gradient content of a message (design: payload),
 * and the phase it counts in. */
size_t wire_payload_bytes(const struct wire_msg *m);
enum wire_phase wire_phase_of(const struct wire_msg *m);

/* Memory for unpacking frames of up to frame_max bytes. */
struct wire_unpacker {
    uint8_t *block;
    size_t size, used;
    struct wire_hello *hellos;     /* WIRE_MEMBERS_MAX; made when first needed */
    struct wire_confirm *confirms; /* WIRE_MEMBERS_MAX */
};
enum status wire_unpacker_init(struct wire_unpacker *u, size_t frame_max) MUST_USE;
enum status wire_unpacker_grow(struct wire_unpacker *u,
                               size_t frame_max) MUST_USE; /* never shrinks */
void wire_unpacker_deinit(struct wire_unpacker *u);        /* safe on a zeroed struct */

/* One Frame of n bytes.  STATUS_PROTOCOL or STATUS_LIMIT with the reason. */
enum status wire_unpack(struct wire_msg *m, struct wire_unpacker *u, const uint8_t *bytes, size_t n,
                        struct error *err) MUST_USE;

/* Replaces the content of out by the packed Frame; grows out at most once per new size. */
enum status wire_pack(struct buf *out, const struct wire_msg *m) MUST_USE;

/* Packs the signed part of a hello: every field but body, public_key and signature is read. */
enum status wire_pack_hello_body(struct buf *out, const struct wire_hello *h) MUST_USE;

/* Largest frame a member may send when its largest upload carries `payload` and `check` bytes
 * (shares not counted); room for a Share or Relay with so many bytes of ciphertexts and of tags;
 * and the largest frame a server may send under this plan, share_frame being the room for its
 * largest Relay, 0 where shares are not relayed. */
size_t wire_up_max(size_t payload, size_t check);
size_t wire_share_max(size_t sealed, size_t tags);
size_t wire_down_max(const struct plan *p, size_t share_frame);

#endif
