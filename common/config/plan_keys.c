/* plan_keys.c -- THE TABLE of the plan.  Its order is the order of a plan's text, which is signed.
 *
 * Keys with a single choice hold nothing: they say in a file and on the wire what the program does,
 * so that a plan of a later version that means something else is refused instead of misread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_keys.h"

#include "common/config/aggregation.h"
#include "common/config/encoding.h"
#include "common/config/plan.h"
#include "common/config/plan_noise.h"
#include "common/config/task.h"

#define AT(member) offsetof(struct plan, member)

static const char *const fusions[] = {"sum", "mean", "concat", "max", NULL};
static const char *const activations[] = {"relu", "tanh", "sigmoid", "none", NULL};
static const char *const outputs[] = {"linear", "identity", NULL};
static const char *const binary_losses[] = {"softmax", "sigmoid", NULL};
static const char *const inits[] = {"glorot", "he", "torch", NULL};
static const char *const primes[] = {"auto", "2^31-1", "2^61-1", NULL};
static const char *const matches[] = {"paper", "equal_rdp", "sigma", "epsilon", NULL};
static const char *const stragglers[] = {"wait", "drop", "async", NULL};
static const char *const absents[] = {"ignore", "zero", NULL};
static const char *const code_ranges[] = {"message", "clip", NULL};
static const char *const forms[] = {"full", "factored", NULL};
static const char *const gradient_types[] = {"float32", "bfloat16", "int8", NULL};
static const char *const views[] = {"stale", "refreshed", NULL};
static const char *const orders[] = {"parallel", "sequential", NULL};
static const char *const releases[] = {"every_epoch", "once", NULL};
static const char *const schedules[] = {"constant", "inverse_sqrt", "inverse_sqrt_parties",
                                        "cosine",   "step",         NULL};
static const char *const optimizers[] = {"sgd", "momentum", "adam", "adamw", NULL};
static const char *const class_weights[] = {"none", "balanced", NULL};
#define METRICS                                                                                    \
    "loss", "accuracy", "auc", "auprc", "f1", "r2", "mae", "rmse", "auc_micro", "auprc_micro",     \
        "f1_micro", NULL
static const char *const metrics[] = {"none", METRICS};
static const char *const best_by[] = {"auto", METRICS};
const char *const plan_splits[] = {"test", "train", "validate", NULL};
const char *const plan_validates[] = {"id", "group", "order", "time", NULL};

const struct key plan_keys[PLAN_KEYS_N] = {
    {"model.embedding", KEY_U32, AT(model.embedding), .lo = 1, .hi = PLAN_WIDTH_MAX,
     .fallback = "16", .help = "P, the width of each party's embedding."},
    {"model.fusion", KEY_CHOICE, AT(model.fusion), .choices = fusions, .fallback = "sum",
     .help = "What the head sees of the parties' embeddings: their sum, their mean, or (clear "
             "only) all of them side by side, or of each coordinate the largest (max), whose "
             "gradient goes to the party that has it, of several to the first."},
    {"model.head", KEY_LAYERS, AT(model.head), .hi = PLAN_HEAD_ITEMS_MAX, .fallback = "[]",
     .help = "The head before its last, linear layer: hidden widths as [64, 64], or layers as [64, "
             "batchnorm, relu] (docs/models.md); [] is one linear layer."},
    {"model.head_activation", KEY_CHOICE, AT(model.head_activation), .choices = activations,
     .fallback = "relu",
     .help = "Activation after each hidden layer that model.head says by a "
             "number alone."},
    {"model.head_dropout", KEY_REAL, AT(model.head_dropout), .lo = 0, .hi = 0.9, .fallback = "0",
     .help = "In training each value behind a hidden layer of the head is left out with this "
             "probability, by the public schedule, and the others count 1 / (1 - p) times; "
             "evaluations and predictions have them all."},
    {"model.output", KEY_CHOICE, AT(model.output), .choices = outputs, .fallback = "linear",
     .help = "linear: the head ends in a trained layer.  identity: the fused embeddings are the "
             "outputs, and there is no head to train: with one linear layer per party, the sum is "
             "logistic regression over all of them."},
    {"model.task", KEY_CHOICE, AT(model.task), .choices = task_names, .fallback = "auto",
     .help = "What the labels are; auto decides by the training labels, and never for multilabel: "
             "several columns of 0, 1 or nothing, each with a probability of its own."},
    {"model.binary_loss", KEY_CHOICE, AT(model.binary_loss), .choices = binary_losses,
     .fallback = "softmax",
     .help = "For a binary task: softmax over two outputs, or sigmoid over one."},
    {"model.init", KEY_CHOICE, AT(model.init), .choices = inits, .fallback = "glorot",
     .help = "How weights start, in the head and in every bottom."},

    {"protocol.encoding", KEY_CHOICE, AT(protocol.encoding), .choices = encoding_names,
     .fallback = "pbm",
     .help =
         "What an embedding becomes before it leaves its party: see the encodings below.  fedvs "
         "takes fixed alone, and without a word about it."},
    {"protocol.aggregation", KEY_CHOICE, AT(protocol.aggregation), .choices = aggregation_names,
     .fallback = "masked",
     .help =
         "masked: the server sees only sums, and every party must be there.  coded: only sums too, "
         "decoded from the first segments + privacy parties that answer.  fedvs: only sums too, of "
         "polynomial bottoms, computed by every party on shares of everybody's data and weights, "
         "so the sum has the embedding of a party whose result never comes.  clear: the server "
         "sees every embedding; the measured baseline, which default policies refuse."},
    {"protocol.pbm.trials", KEY_U32, AT(protocol.pbm.trials), .lo = 1, .hi = PLAN_TRIALS_MAX,
     .fallback = "256",
     .help = "b, the number of coin flips per coordinate; also read by "
             "gaussian.match paper and equal_rdp."},
    {"protocol.pbm.beta", KEY_REAL, AT(protocol.pbm.beta), .lo = 0, .hi = PLAN_BETA_MAX,
     .lo_open = true, .fallback = "0.25",
     .help = "How far a coin's bias may be from 1/2: smaller is more private. Above 0.25 with "
             "protocol.pbm.wide alone."},
    {"protocol.pbm.wide", KEY_BOOL, AT(protocol.pbm.wide), .fallback = "false",
     .help = "Take a beta above 0.25, which PBM-VFL leaves out: few coins far from 1/2 serve "
             "embeddings that lie at the ends of the box. Claims are as exact as below."},
    {"protocol.pbm.gain", KEY_REAL, AT(protocol.pbm.gain), .lo = 1, .hi = 1e6, .fallback = "1",
     .help = "Coins are tossed for gain times an embedding, cut off at the ends of the box; "
             "gradients pass as if it were 1.  A large one sends which side of 0 each value is on, "
             "which few coins tell best.  Claims are the same."},
    {"protocol.clip", KEY_REAL, AT(protocol.clip), .lo = 1e-6, .hi = 1e6, .fallback = "1",
     .help = "C: every coordinate of an embedding lies in [-C, C]."},
    {"protocol.fixed.bits", KEY_U32, AT(protocol.fixed.bits), .lo = 2, .hi = 24, .fallback = "16",
     .help = "Bits per coordinate of the fixed encoding."},
    {"protocol.gaussian.match", KEY_CHOICE, AT(protocol.gaussian.match), .choices = matches,
     .fallback = "paper",
     .help = "Where the Gaussian noise comes from: the variance of PBM at (b, beta) as the paper "
             "states it, "
             "the variance of equal Renyi divergence, or the key of that name."},
    {"protocol.gaussian.sigma", KEY_REAL, AT(protocol.gaussian.sigma), .lo = 0, .hi = 1e9,
     .fallback = "0",
     .help = "Standard deviation of each party's noise, in units of an embedding; with match sigma "
             "only."},
    {"protocol.gaussian.epsilon", KEY_REAL, AT(protocol.gaussian.epsilon), .lo = 0, .hi = 1e6,
     .fallback = "0",
     .help =
         "Epsilon of one release at privacy.delta, by continuous noise: it sets sigma, and what "
         "is claimed is worked out for the discrete noise that is drawn; with match epsilon "
         "only."},
    {"protocol.gaussian.levels", KEY_U32, AT(protocol.gaussian.levels), .lo = PLAN_NOISE_LEVELS_MIN,
     .hi = PLAN_NOISE_LEVELS_MAX, .fallback = "16",
     .help = "L: embeddings are rounded to a grid of the step clip / L, and the noise is a whole "
             "number of steps.  sigma must be 4 steps or more; more levels than that asks for buy "
             "nothing but bytes."},
    {"protocol.bits", KEY_U32, AT(protocol.bits), .lo = 1, .hi = 8, .fallback = "2",
     .help = "b, bits per component of an embedding under scalar, lattice and e8; topk keeps the "
             "embedding x bits / 32 components (one at least) that matter most."},
    {"protocol.head_bits", KEY_U32, AT(protocol.head_bits), .lo = 0, .hi = 8, .fallback = "0",
     .help = "Bits per weight of the head as it goes down compressed, with a compressor and "
             "local_view refreshed (topk: as scalar); 0: as protocol.bits."},
    {"protocol.code_range", KEY_CHOICE, AT(protocol.code_range), .choices = code_ranges,
     .fallback = "message",
     .help =
         "What the 2^bits levels of scalar span.  message: what gives each message's own values "
         "back best; clip: [-protocol.clip, protocol.clip] in every message, whose zeros then "
         "come back as dither, right on average.  The head, which has no bound, goes down as "
         "under message."},
    {"protocol.error_feedback", KEY_BOOL, AT(protocol.error_feedback), .fallback = "false",
     .help = "A party adds to a record's embedding what compression took from it the last time."},
    {"protocol.coded.segments", KEY_U32, AT(protocol.coded.segments), .lo = 1,
     .hi = PLAN_PARTIES_MAX, .fallback = "1",
     .help =
         "K, the pieces an embedding is cut into: more of them make shares and uploads smaller, "
         "and segments + privacy parties must answer."},
    {"protocol.coded.privacy", KEY_U32, AT(protocol.coded.privacy), .lo = 1, .hi = PLAN_PARTIES_MAX,
     .fallback = "1",
     .help = "T, how many parties may put their shares together and still learn nothing of "
             "another's embedding."},
    {"protocol.fedvs.segments", KEY_U32, AT(protocol.fedvs.segments), .lo = 1,
     .hi = PLAN_PARTIES_MAX, .fallback = "1",
     .help = "K, the pieces that rows are cut into: a batch becomes batch / K coded rows, so more "
             "of them make every party's work and result smaller, and 2 (segments + privacy - 1) + "
             "1 results must come.  Divides training.batch.  A clear run with the same value walks "
             "the same batches."},
    {"protocol.fedvs.privacy", KEY_U32, AT(protocol.fedvs.privacy), .lo = 1, .hi = PLAN_PARTIES_MAX,
     .fallback = "1",
     .help = "T, how many parties may put what they hold together and still learn nothing of "
             "another's records and weights."},
    {"protocol.fedvs.prime", KEY_CHOICE, AT(protocol.fedvs.prime), .choices = primes,
     .fallback = "auto",
     .help = "The field of all shares.  auto: 2^31-1, half the bytes, when the bits and bounds "
             "below prove that no sum can pass it, otherwise 2^61-1; what neither holds is "
             "refused."},
    {"protocol.fedvs.x_bits", KEY_U32, AT(protocol.fedvs.x_bits), .lo = 1, .hi = 20,
     .fallback = "12",
     .help = "Bits after the binary point of an input and of each of its powers: they are rounded "
             "to multiples of 2^-x_bits."},
    {"protocol.fedvs.w_bits", KEY_U32, AT(protocol.fedvs.w_bits), .lo = 1, .hi = 30,
     .fallback = "20",
     .help = "Bits after the binary point of a weight, which is rounded at random to one of its "
             "two neighbours, so that the mean is right."},
    {"protocol.fedvs.x_max", KEY_REAL, AT(protocol.fedvs.x_max), .lo = 0, .hi = 32, .lo_open = true,
     .fallback = "8",
     .help = "Inputs of a polynomial bottom, after data.scale, are cut off at this size, under "
             "every aggregation, so that runs can be compared."},
    {"protocol.fedvs.w_max", KEY_REAL, AT(protocol.fedvs.w_max), .lo = 0, .hi = 1024,
     .lo_open = true, .fallback = "8",
     .help = "Weights are cut off at this size before they are shared; a run counts how many "
             "were."},
    {"protocol.straggler", KEY_CHOICE, AT(protocol.straggler), .choices = stragglers,
     .fallback = "wait",
     .help = "wait: a lost party is waited for.  drop: the round is void and a new generation goes "
             "on without it; in clear the round counts, as the sum over those present, rescaled "
             "(Ignore).  async: the server takes a step at each arrival with the latest embedding "
             "of every party (VAFL); clear only."},
    {"protocol.absent", KEY_CHOICE, AT(protocol.absent), .choices = absents, .fallback = "ignore",
     .help = "What stands for a party that straggler drop does without.  ignore: nothing; in clear "
             "the sum of the others counts M / present times, and max is the largest of theirs.  "
             "zero: zeros, and the others count once; for concat this has to be said.  Under "
             "straggler async its last embedding of a row stands for it."},
    {"protocol.deadline_ms", KEY_U32, AT(protocol.deadline_ms), .lo = 10, .hi = 3600000,
     .fallback = "5000",
     .help = "Milliseconds from the opening of a round until the missing are dropped; "
             "acts under straggler drop."},
    {"protocol.patience_ms", KEY_U32, AT(protocol.patience_ms), .lo = 100, .hi = 604800000,
     .fallback = "60000",
     .help = "Milliseconds that joining, sharing keys and waiting may take before the "
             "run ends, naming the party."},
    {"protocol.gradient.form", KEY_CHOICE, AT(protocol.gradient.form), .choices = forms,
     .fallback = "full",
     .help =
         "full: the gradient of the sum goes down row by row.  factored: as the product that it "
         "is, of the gradient behind the head's first layer and that layer's weights; the same "
         "numbers in far fewer bytes when that layer is narrow, and it shows the labels even "
         "more plainly."},
    {"protocol.gradient.type", KEY_CHOICE, AT(protocol.gradient.type), .choices = gradient_types,
     .fallback = "float32",
     .help = "The numbers of the gradient as it goes down: float32; bfloat16, rounded to 8 bits of "
             "precision; int8, rounded at random to 127 steps of each row's largest."},
    {"protocol.local_iterations", KEY_U32, AT(protocol.local_iterations), .lo = 1, .hi = 10000,
     .fallback = "1", .help = "Q, steps of bottoms and head per round."},
    {"protocol.local_view", KEY_CHOICE, AT(protocol.local_view), .choices = views,
     .fallback = "stale",
     .help = "stale: the received gradient is kept for all Q steps.  refreshed: parties that hold "
             "the labels receive the round's embeddings (their sum, unless fusion or encoding has "
             "them one by one) and the head, and compute the gradient anew at every step, with "
             "their own part as it is by then."},
    {"protocol.label_holders", KEY_U32, AT(protocol.label_holders), .lo = 0, .hi = PLAN_PARTIES_MAX,
     .fallback = "0",
     .help = "How many parties, the first of the roster, hold the labels and refresh under "
             "local_view refreshed; the others keep the received gradient.  0: all hold them."},
    {"protocol.local_order", KEY_CHOICE, AT(protocol.local_order), .choices = orders,
     .fallback = "parallel",
     .help = "parallel: all parties step at once.  sequential: one after another, in the order of "
             "the roster, each on a gradient of the same batch that knows the steps before it; "
             "every turn releases the batch again."},
    {"protocol.proximal", KEY_REAL, AT(protocol.proximal), .lo = 0, .hi = 1e6, .fallback = "0",
     .help = "mu: local steps are pulled back by mu times the way gone since the round began, in "
             "bottoms and head."},

    {"training.epochs", KEY_REAL, AT(training.epochs), .lo = 0, .hi = 100000, .lo_open = true,
     .fallback = "10", .help = "Passes over the training rows; fractions allowed."},
    {"training.from", KEY_TEXT, AT(training.from), .fallback = "",
     .help = "The name of a complete run, as the server keeps it: head and bottoms begin with its "
             "model, each side with its own part of it, optimisers anew. Everything is released "
             "and charged as in any run.  Left out: a new model."},
    {"training.from_trail", KEY_SHA256, AT(training.from_trail), .fallback = "",
     .help = "Which playing of that run it is; the server fills it in."},
    {"training.releases", KEY_CHOICE, AT(training.releases), .choices = releases,
     .fallback = "every_epoch",
     .help =
         "once: every row, of training and of test, is released once in the whole run, nothing "
         "goes down, and the head trains for all epochs on the sums that the server kept; every "
         "party's model.train has to be frozen."},
    {"training.batch", KEY_U32, AT(training.batch), .lo = 1, .hi = PLAN_WIDTH_MAX, .fallback = "50",
     .help = "Rows per round."},
    {"training.learning_rate", KEY_REAL, AT(training.learning_rate), .lo = 0, .hi = 1000,
     .lo_open = true, .fallback = "0.003", .help = "Step size of head and bottoms."},
    {"training.schedule", KEY_CHOICE, AT(training.schedule), .choices = schedules,
     .fallback = "cosine",
     .help =
         "Step size over time; inverse_sqrt divides it by the root of the local iterations, "
         "inverse_sqrt_parties by the root of these times the parties; cosine takes it down to 0 "
         "at the end along half a wave; step multiplies it by step.factor every step.epochs."},
    {"training.warmup", KEY_REAL, AT(training.warmup), .lo = 0, .hi = 100000, .fallback = "0",
     .help =
         "Epochs at the start over which the step size grows in equal parts to what the schedule "
         "says; fractions allowed."},
    {"training.step.epochs", KEY_REAL, AT(training.step.epochs), .lo = 0, .hi = 100000,
     .fallback = "0", .help = "Epochs between two steps down; needed with schedule step."},
    {"training.step.factor", KEY_REAL, AT(training.step.factor), .lo = 0, .hi = 1, .lo_open = true,
     .fallback = "0.1", .help = "What the step size is multiplied by at each of them."},
    {"training.optimizer", KEY_CHOICE, AT(training.optimizer), .choices = optimizers,
     .fallback = "adamw",
     .help = "The rule of a step; adamw is adam whose weights decay apart from it."},
    {"training.weight_decay", KEY_AUTO, AT(training.weight_decay),
     .given = AT(training.weight_decay_given) - AT(training.weight_decay), .lo = 0, .hi = 1000,
     .fallback = "auto",
     .help =
         "lambda, for all weights of head and bottoms: under adamw each step first takes the step "
         "size times lambda of them away, under the others the loss has lambda / 2 times the sum "
         "of their squares besides.  auto: 1 under adamw, else 0."},
    {"training.class_weights", KEY_CHOICE, AT(training.class_weights), .choices = class_weights,
     .fallback = "none",
     .help =
         "balanced: in training a row counts by n / (classes times the rows of its class), of "
         "the n training rows, so that each class weighs the same; of several labels 0 and 1 do "
         "so in each."},
    {"training.scale_targets", KEY_BOOL, AT(training.scale_targets), .fallback = "true",
     .help = "Regression: inside training a label is (label - mean) / deviation, of the training "
             "labels; of classes it says nothing.  Losses, scores and predictions are in the "
             "label's own unit, and the head's "
             "package has both numbers."},
    {"training.party_dropout", KEY_REAL, AT(training.party_dropout), .lo = 0, .hi = 0.9,
     .fallback = "0",
     .help = "In each training step each party is left out with this probability, by the public "
             "schedule: it uploads zeros under its usual noise and masks, and the head learns a "
             "vector to put in its place, which predictions without it then use."},
    {"training.seed", KEY_SEED, AT(training.seed),
     .given = AT(training.seed_given) - AT(training.seed), .fallback = "random",
     .help = "Seed of the public schedule of rows, and of nothing else."},
    {"training.evaluate_every", KEY_REAL, AT(training.evaluate_every), .lo = 0, .hi = 100000,
     .fallback = "1",
     .help = "Epochs between releases of the test rows; fractions allowed, 0: only at the end."},
    {"training.evaluate_train", KEY_BOOL, AT(training.evaluate_train), .fallback = "false",
     .help = "Release the training rows once more at each evaluation; charged."},
    {"training.stop.metric", KEY_CHOICE, AT(training.stop.metric), .choices = metrics,
     .fallback = "none", .help = "Stop early when this metric has reached stop.value."},
    {"training.stop.split", KEY_CHOICE, AT(training.stop.split), .choices = plan_splits,
     .fallback = "test",
     .help = "The rows whose metric counts. Whoever looks at the test rows to stop has no test "
             "left: validate needs data.validate."},
    {"training.stop.value", KEY_REAL, AT(training.stop.value), .lo = 0, .hi = 1e9, .fallback = "0",
     .help = "The value to reach: from above for loss, mae and rmse, from below for the others; "
             "needed with stop.metric."},
    {"training.patience", KEY_U32, AT(training.patience), .lo = 0, .hi = 100000, .fallback = "0",
     .help = "Evaluations in a row without a better one on the rows of data.validate that end the "
             "run; the model that every side keeps is then that of the best one, and so it is at "
             "the end of all epochs.  0: the last model is kept."},
    {"training.best_by", KEY_CHOICE, AT(training.best_by), .choices = best_by, .fallback = "auto",
     .help = "By which score an evaluation is better; auto: auc of two classes, accuracy of more, "
             "rmse of values, auprc of several labels."},

    {"data.validate", KEY_REAL, AT(data.validate), .lo = 0, .hi = 0.9, .fallback = "0",
     .help =
         "The share of the training rows that nobody trains on, chosen as data.validate_by says; "
         "they are released with the test rows at each evaluation, and charged, and are "
         "what training.patience and stop.split validate look at. Every party's data.validate "
         "has to say the same."},
    {"data.validate_by", KEY_CHOICE, AT(data.validate_by), .choices = plan_validates,
     .fallback = "id",
     .help =
         "id: each row by a hash of its id.  group: all rows of a person together, by a hash of "
         "what stands in the column that says whose they are, which every side then has and "
         "spells alike (labels.group here, data.group at a party).  order: the last rows in the "
         "order of ids, for ids "
         "that grow with time.  time: the rows with the latest times, by a column that every side "
         "has (labels.time here, data.time at a party); of equal times the last ids."},

    {"privacy.delta", KEY_AUTO, AT(privacy.delta),
     .given = AT(privacy.delta_given) - AT(privacy.delta), .lo = 0, .hi = 1e-3, .lo_open = true,
     .open = 1e-5, .fallback = "auto",
     .help = "The delta at which epsilon is stated; auto: 1e-5, or the first power of ten below "
             "one over "
             "the rows."},
    {"privacy.max_epsilon", KEY_REAL, AT(privacy.max_epsilon), .lo = 0, .hi = 1e9, .fallback = "0",
     .help = "The server refuses its own plan when one record of a party would cost more than this "
             "against the server (record_raw, under releases once record_frozen); 0: no limit on "
             "this side."},
};

static const struct key shape_keys[] = {
    {"shape.parties", KEY_U32, AT(shape.parties), .lo = 1, .hi = PLAN_PARTIES_MAX, .fallback = "1",
     .help = "Parties of the roster."},
    {"shape.train_rows", KEY_U32, AT(shape.train_rows), .lo = 1, .hi = PLAN_ROWS_MAX,
     .fallback = "1", .help = "Rows of the training labels."},
    {"shape.test_rows", KEY_U32, AT(shape.test_rows), .lo = 0, .hi = PLAN_ROWS_MAX, .fallback = "0",
     .help = "Rows of the test labels; 0: none."},
    {"shape.validate_rows", KEY_U32, AT(shape.validate_rows), .lo = 0, .hi = PLAN_ROWS_MAX,
     .fallback = "0", .help = "Of these, training rows that data.validate keeps back."},
    {"shape.outputs", KEY_U32, AT(shape.outputs), .lo = 1, .hi = PLAN_CLASSES_MAX, .fallback = "1",
     .help = "Outputs of the head."},
};

const struct key_table plan_keys_text = {
    .name = "plan",
    .parts = 2,
    .part = {{plan_keys, PLAN_KEYS_N, 0},
             {shape_keys, sizeof shape_keys / sizeof shape_keys[0], 0}},
};
