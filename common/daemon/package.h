/* package.h -- a model with all that using it takes: what a run leaves behind on each side.
 *
 * A safetensors file whose metadata says what the weights are for (docs/models.md has the format).
 * The bottom's package and the head's are of one run when their plans' digests are the same, and,
 * under straggler wait, their trails.  A package is read only as it was written: metadata in
 * another order or form, or with a key more, is refused.  Weights alone, of PyTorch too, are
 * model.load's business (common/nn/safetensors.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_PACKAGE_H
#define COLONNADE_DAEMON_PACKAGE_H

#include "common/base/buf.h"
#include "common/config/plan.h"
#include "common/crypto/digest.h"
#include "common/data/scale.h"
#include "common/data/schema.h"
#include "common/metrics/score.h"
#include "common/nn/net.h"
#include "common/privacy/account.h"

#include <stdbool.h>

enum {
    PACKAGE_RUN_MAX = 40,             /* characters of a run's name: a-z, 0-9 and '-' */
    PACKAGE_WIDTH_MAX = NN_WIDTH_MAX, /* of a layer: M P under concat */
    PACKAGE_TEXT_MAX = 60 << 20,      /* of the metadata: 65536 columns, thrice */
    PACKAGE_RUN_TEXT_MAX = 1 << 20,   /* of it, what is not of columns or classes: of the run */
    PACKAGE_SCORE_MAX = 1024,
};
#define PACKAGE_FORMAT "colonnade-model/1"

enum package_role { PACKAGE_BOTTOM, PACKAGE_HEAD };

struct package {
    enum package_role role;
    char run[PACKAGE_RUN_MAX + 1];
    struct plan plan; /* of the run, resolved */
    uint8_t plan_sha256[DIGEST_BYTES];
    uint8_t trail[DIGEST_BYTES]; /* common/flow/trail.h, or the number of the playing */
    double epochs;               /* that it has trained for */
    uint64_t steps;
    struct nn_spec spec; /* the net's; rows_max and optimizer are its user's */
    double reach;        /* aggregation fedvs: fedvs_reach() of the run; 0: not known, or another */
    /* Of a bottom: what an embedding of its can depend on, and under dp the steps' noise. */
    enum account_bottom made;
    double noise;
    /* Of a bottom: what a table's columns become, then its inputs in order, then their scale.
     * schema.n 0, names NULL: the file had no names (IDX).  scale.cols 0: they are taken as they
     * are. */
    struct schema schema;
    size_t cols;
    char *names; /* cols x TABLE_NAME_MAX */
    struct scale scale;
    /* Of a head: what each class, or label, is called, a line for each; NULL: by its number. */
    char *classes;
    /* Of a head under training.scale_targets: predictions are spread z + center; else 0, 1. */
    float center, spread;
    float temperature; /* of a head: its logits are divided by it for predictions; else 1 */
    char score[PACKAGE_SCORE_MAX]; /* of a head: lines `test.auc=0.9`, as package_score has them */
    struct buf file;               /* what it was read from, weights and all */
};

/* schema, names, scale, classes and file are the package's own. */
void package_init(struct package *p);
void package_deinit(struct package *p); /* safe on a zeroed one */

void package_score(char out[PACKAGE_SCORE_MAX], const struct score *train,
                   const struct score *validate, const struct score *test);
/* Is there room in a bottom's package for what it says of its columns (schema, names and scale),
 * whatever a run adds?  Asked before the run, since it hangs on records.  STATUS_DATA: there is
 * not. A head's always has: as many classes as a plan may have, of the longest names. */
enum status package_room(const struct package *p, struct error *err) MUST_USE;
/* Plan, role, run and the rest are filled in; spec and plan_sha256 are taken from `n` and the plan.
 * Replaces what is in out. */
enum status package_print(struct package *p, const struct nn_net *n, struct buf *out,
                          struct error *err) MUST_USE;
/* p is initialised; STATUS_DATA with the reason.  Nothing is allocated that the file is not as long
 * as.  The bytes are copied. */
enum status package_parse(struct package *p, const uint8_t *bytes, size_t n,
                          struct error *err) MUST_USE;
/* The same of a file that this user alone can have written; the path is in the text. */
enum status package_load(struct package *p, const char *path, struct error *err) MUST_USE;

/* Of which run the package in this file says that it is: p->run and p->trail, out of its first
 * bytes.  Whether the rest is whole package_load finds out.  STATUS_DATA: it does not say. */
enum status package_peek(struct package *p, const char *path, struct error *err) MUST_USE;

/* Does it say of itself that it is one? */
bool package_is(const uint8_t *bytes, size_t n);
/* Does a package with this trail say of which playing it is?  STATUS_CONFIG: it is too old to. */
enum status package_tells(const uint8_t trail[DIGEST_BYTES], const char *run,
                          struct error *err) MUST_USE;
/* A table whose columns are what the schema knows becomes the bottom's inputs: features, scaled.
 * The counts are schema_apply's.  STATUS_DATA: they are not those that it was trained on. */
enum status package_prepare(const struct package *p, struct table *t, size_t *unseen,
                            size_t *filled, struct error *err) MUST_USE;
/* How many classes, or labels, a plan's scores are of; 0 under regression. */
uint32_t package_classes(const struct plan *plan);
/* What class k is called: its number where it has no name.  n bytes of room. */
void package_class(const struct package *p, uint32_t k, char *out, size_t n);
/* A bottom's columns are those of the table, by name and in their order; s, which has made them,
 * embeds the same levels. */
enum status package_columns(const struct package *p, const struct schema *s, const struct table *t,
                            struct error *err) MUST_USE;

/* May a run of this plan begin with it?  STATUS_CONFIG names the key that says otherwise. */
enum status package_continues(const struct package *p, const struct plan *plan,
                              struct error *err) MUST_USE;

/* Its weights into a net of its layers.  STATUS_CONFIG: that has others, or other activations;
 * STATUS_DATA: others' weights. */
enum status package_weights(const struct package *p, struct nn_net *n, struct error *err) MUST_USE;

#endif
