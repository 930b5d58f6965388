/* config_keys.c -- THE TABLES of server and party files.  The plan's rows are in plan_keys.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/config_keys.h"

#include "common/config/aggregation.h"
#include "common/config/config.h"
#include "common/config/encoding.h"
#include "common/config/plan_keys.h"

#define IDENTITY(member) offsetof(struct config_identity, member)
#define INJECT(member) offsetof(struct config_inject, member)
#define ALIGN(member) offsetof(struct config_align, member)
#define SERVER(member) offsetof(struct config_server, member)
#define PARTY(member) offsetof(struct config_party, member)
#define ROWS(keys) (keys), sizeof(keys) / sizeof((keys)[0])

/* Counts up to here are exact in a double. */
#define COUNT_MAX 9007199254740992.0

static const char *const activations[] = {"relu", "tanh", "sigmoid", "none", NULL};
static const char *const output_activations[] = {"tanh", "none", NULL};
static const char *const trains[] = {"raw", "frozen", "dp", NULL};
static const char *const scales[] = {"fit", "none", "dp", NULL};
static const char *const adversaries[] = {"server",      "server+1", "server+t",
                                          "all_but_one", "party",    NULL};
static const char *const adjacencies[] = {"record_frozen", "record_dp",  "record_raw",
                                          "columns",       "sample",     "person_frozen",
                                          "person_dp",     "person_raw", NULL};
_Static_assert(sizeof adjacencies / sizeof *adjacencies == CONFIG_ADJACENCIES + 1,
               "each adjacency has a name");
static const char *const befores[] = {"upload",      "share",  "hello", "confirm", "first",
                                      "model_share", "result", "any",   NULL};

static const struct key identity_keys[] = {
    {"identity.cert", KEY_PATH, IDENTITY(cert), .help = "This daemon's certificate chain (PEM)."},
    {"identity.key", KEY_PATH, IDENTITY(key),
     .help = "Its Ed25519 private key (PEM), readable by its owner alone."},
    {"identity.ca", KEY_PATH, IDENTITY(ca), .help = "The CA that signed every certificate (PEM)."},
    {"identity.crl", KEY_PATH, IDENTITY(crl), .fallback = "",
     .help = "The CA's revocation list (PEM); left out: none is looked at."},
};

static const char *const unicodes[] = {"nfc", "nfkc", "none", NULL};
static const char *const duplicates[] = {"refuse", "first", "all", NULL};
static const char *const aligned_rows[] = {"common", "labelled", NULL};

/* Of either side: the server lists ids, too, and is a member like any other. */
static const struct key align_keys[] = {
    {"align.table", KEY_SOURCE, ALIGN(table), .fallback = "",
     .help = "A table with the ids that a job of alignment compares with the others' (docs/"
             "aligning.md), in any order and spelling; left out: this side takes part in none."},
    {"align.key", KEY_TEXT, ALIGN(key), .fallback = "",
     .help =
         "The column of that table that is the id, or several, with commas between, that make one "
         "in this order; left out: id. Or several keys that are tried in order, 8 at most, each "
         "with a name of 1 to 16 of a-z, 0-9 and '-': \"national: number; person: family "
         "name,birthday\". The names are everybody's, the order the server's, the columns each "
         "side's own; and a party's tables have a column of ids, which rows are called by."},
    {"align.trim", KEY_BOOL, ALIGN(trim), .fallback = "true",
     .help = "Spaces around a cell do not count. Trim, fold and unicode have to be the same on "
             "all sides."},
    {"align.fold", KEY_BOOL, ALIGN(fold), .fallback = "false",
     .help = "Capital and small letters are the same (Unicode's full case folding)."},
    {"align.unicode", KEY_CHOICE, ALIGN(unicode), .choices = unicodes, .fallback = "nfc",
     .help = "The Unicode form in which cells are compared; none: bytes."},
    {"align.duplicates", KEY_CHOICE, ALIGN(duplicates), .choices = duplicates, .fallback = "refuse",
     .help = "An id that is there twice: refuse the table, take the first row alone, or all: the "
             "second of one side is aligned with the second of the others."},
};

static const struct key policy_align_keys[] = {
    {"policy.align.max_ids", KEY_U32, ALIGN(ids_max), .lo = 1, .hi = 1u << 24,
     .fallback = "1000000",
     .help = "Ids that another side may list in one alignment: each is a guess that it may try."},
    {"policy.align.max_ids_of_all", KEY_U32, ALIGN(all_max), .lo = 1, .hi = 4294967295u,
     .fallback = "4000000",
     .help = "Ids that all other sides together may list in one alignment: two that work together "
             "may try as many on this side's list."},
    {"policy.align.max_alignments", KEY_U32, ALIGN(times_max), .lo = 0, .hi = 1u << 30,
     .fallback = "16",
     .help = "Alignments in which something may have been compared with this side's list, over "
             "all time; 16 times as many may have begun."},
    {"policy.align.min_result", KEY_U32, ALIGN(result_min), .lo = 0, .hi = 1u << 24,
     .fallback = "10",
     .help = "Fewest rows in common that this side goes on with, and fewest of which the server "
             "tells how many they are: its own number must not be less. That there are fewer is "
             "told."},
};

static const struct key policy_align_party_keys[] = {
    {"policy.align.rows", KEY_SET, ALIGN(rows_taken), .choices = aligned_rows,
     .fallback = "[common]",
     .help =
         "Kinds of alignments that this side takes part in: of the rows that all sides have, or "
         "of all that the server has labels of, which this party is then told of its own."},
};

static const struct key align_server_keys[] = {
    {"align.rows", KEY_CHOICE, ALIGN(rows), .choices = aligned_rows, .fallback = "common",
     .help =
         "The rows of an alignment that does not say itself: common: those that all sides have; "
         "labelled: all of align.table here, a party without a row standing in with its absent "
         "constant.  Each party learns which of its own rows are among them, and nobody whose "
         "else they are."},
    {"align.patience_ms", KEY_U32, ALIGN(patience_ms), .lo = 1000, .hi = 604800000,
     .fallback = "120000",
     .help = "Milliseconds that one step of an alignment waits for a side: raising 16384 points "
             "takes it a second or less."},
};

static const struct key inject_keys[] = {
    {"inject.delay", KEY_DELAY, 0, .lo = 0, .hi = 3600, .fallback = "none",
     .help =
         "Seconds to wait before a message: none, const:S (or just S), exp:MEAN, drawn afresh each "
         "time, or fedvs:SCALE, drawn by this party's place in the roster: mean 0.1 SCALE in the "
         "first half, (2 + 4 i/N) SCALE for the i-th of the second half of N parties; before "
         "uploads under fedvs also (ln N)^2 / batch of that before each model_share."},
    {"inject.before", KEY_CHOICE, INJECT(before), .choices = befores, .fallback = "upload",
     .help = "The message that inject.delay holds up. Under fedvs share deals keys and data, "
             "model_share deals weights in each round, and result is another name for upload. "
             "first: the first one of a round, share under coded, model_share under fedvs, "
             "otherwise upload."},
};

static const struct key inject_both_keys[] = {
    {"inject.crash_at_round", KEY_U32, INJECT(crash_at_round), .lo = 0, .hi = 4294967295.0,
     .fallback = "0",
     .help =
         "End the process as kill -9 would: a party before its upload of this round, the server "
         "before it opens this training round; 0: never."},
    {"inject.link.delay_ms", KEY_REAL, INJECT(link_delay_ms), .lo = 0, .hi = 60000, .fallback = "0",
     .help = "Milliseconds added to everything sent."},
    {"inject.link.jitter_ms", KEY_REAL, INJECT(link_jitter_ms), .lo = 0, .hi = 60000,
     .fallback = "0", .help = "Milliseconds by which that delay varies."},
    {"inject.link.rate_mbit", KEY_REAL, INJECT(link_rate_mbit), .lo = 0, .hi = 1000000,
     .fallback = "0", .help = "Megabits per second the link lets through; 0: as many as it can."},
};

static const struct key server_address_keys[] = {
    {"listen", KEY_ADDRESS, SERVER(listen), .lo = 0,
     .help = "Address and port to listen on; port 0 takes a free one."},
};

static const struct key server_keys[] = {
    {"roster", KEY_PATH, SERVER(roster), .help = "The roster: who may take part."},
    {"state", KEY_PATH, SERVER(state),
     .help = "Directory of everything the server keeps and writes."},
    {"state_key", KEY_PATH, SERVER(state_key), .fallback = "",
     .help = "The key that seals what is kept under state, readable by its owner alone."},
    {"checkpoint_rounds", KEY_U32, SERVER(checkpoint_rounds), .lo = 1,
     .hi = CONFIG_CHECKPOINT_ROUNDS_MAX, .fallback = "256",
     .help = "Training rounds between two checkpoints under state; with state_key only."},
    {"stand", KEY_BOOL, SERVER(stand), .fallback = "false",
     .help = "Stay, and play the jobs of a queue under state one after another (`vfl job`), each "
             "with its own plan; this file's is what a job's plan leaves out. Needs state_key."},
    {"labels.train", KEY_SOURCE, SERVER(labels_train), .help = "Labels of the training rows."},
    {"labels.test", KEY_SOURCE, SERVER(labels_test), .fallback = "",
     .help = "Labels of the test rows; left out: nothing is tested."},
    {"labels.alignment", KEY_ALIGNMENT, SERVER(labels_alignment), .fallback = "",
     .help = "An alignment that this side has taken part in (state/alignments/NAME): the training "
             "rows are those of labels.train that are in it, in its order, and their places there "
             "are what is compared with the others'; left out: all rows, by their ids."},
    {"labels.alignment_test", KEY_ALIGNMENT, SERVER(labels_alignment_test), .fallback = "",
     .help = "Another one, of the rows of labels.test: needed where labels.alignment is given and "
             "there is a labels.test."},
    {"labels.positive", KEY_TEXT, SERVER(labels_positive), .fallback = "",
     .help =
         "The label that is class 1, all others being class 0; left out: labels that are numbers "
         "are classes themselves, and texts are classes in their order.  The log shows the map."},
    {"labels.columns", KEY_NAMES, SERVER(labels_columns), .fallback = "[]",
     .help =
         "Under model.task multilabel, the columns that are labels, in the order of the scores; "
         "[]: all but id, labels.group and labels.time."},
    {"labels.group", KEY_COLUMN, SERVER(labels_group), .fallback = "",
     .help =
         "The column, in both label files, that says whose a row is, for data.validate_by group; "
         "it is no label.  Left out: there is none."},
    {"labels.time", KEY_COLUMN, SERVER(labels_time), .fallback = "",
     .help = "The column, in both label files, that says when a row was, a number or a time "
             "(YYYY-MM-DD HH:MM:SS), for data.validate_by time; it is no label.  Left out: there "
             "is none."},
    {"insecure_peers", KEY_NAMES, SERVER(insecure_peers), .fallback = "[]",
     .help = "Addresses besides loopback with which --insecure-seed is allowed; 192.0.2. is all "
             "that begins with it."},
    {"limits.connections_per_address", KEY_U32, SERVER(connections_per_address), .lo = 1,
     .hi = 65536, .fallback = "4",
     .help = "Connections one address may hold that have not shown who they are."},
    {"limits.id_mismatches", KEY_U32, SERVER(id_mismatches), .lo = 1,
     .hi = CONFIG_ID_MISMATCHES_MAX, .fallback = "64",
     .help =
         "Lists of ids with which one party may come without showing that they are the server's: "
         "each lets it try one guess, the same one again tells it nothing. With yet another one it "
         "is refused until --ids-forget."},
    {"predict.epoch", KEY_U64, SERVER(epoch), .lo = 0, .hi = COUNT_MAX, .fallback = "0",
     .help = "Which state of everybody's data kept answers are of: another number when data has "
             "changed, and rows are asked for again."},
    {"predict.by", KEY_TEXT, SERVER(predict_by), .fallback = "operator",
     .help = "For whom predictions are asked for where a job does not say: a name that every party "
             "is told, logs and may refuse (policy.predict.by)."},
    {"predict.min_parties", KEY_U32, SERVER(predict_min_parties), .lo = 0, .hi = PLAN_PARTIES_MAX,
     .fallback = "0",
     .help = "Predictions are made without parties that stay away, when so many are there, each of "
             "whose policy takes part among so few; 0: never. Without noise and hidden, never."},
    {"predict.wait_ms", KEY_U32, SERVER(predict_wait_ms), .lo = 1, .hi = 604800000,
     .fallback = "10000",
     .help = "Milliseconds that a job of predictions waits for the whole roster before it goes on "
             "with predict.min_parties or more; at most half of the plan's protocol.patience_ms."},
    {"http", KEY_TEXT, SERVER(http), .fallback = "",
     .help = "Address and port of loopback at which a server that stands answers requests for "
             "predictions; port 0 takes a free one, which is written to state/http. Left out: "
             "they come over state/control alone."},
    {"serve.rows", KEY_U32, SERVER(serve.rows), .lo = 1, .hi = 1u << 24, .fallback = "1048576",
     .help = "Rows that one open job of predictions asks for at most, which is what parties price "
             "it by (policy.predict.max_rows); then another one is opened."},
    {"serve.waiting", KEY_U32, SERVER(serve.waiting), .lo = 1, .hi = 1u << 20, .fallback = "16384",
     .help = "Rows of requests that may wait; what comes beyond is told to come again (429)."},
    {"serve.deadline_ms", KEY_U32, SERVER(serve.deadline_ms), .lo = 1, .hi = 3600000,
     .fallback = "10000",
     .help = "Milliseconds in which a request is answered, with what there is by then; it may ask "
             "for fewer."},
    {"serve.idle_ms", KEY_U32, SERVER(serve.idle_ms), .lo = 1, .hi = 604800000, .fallback = "30000",
     .help = "Milliseconds without a request after which an open job ends; at most half of the "
             "plan's protocol.patience_ms."},
    {"serve.client_rows_per_day", KEY_U64, SERVER(serve.client_rows_day), .lo = 0, .hi = COUNT_MAX,
     .fallback = "0",
     .help = "Rows that parties are asked for on behalf of one client in 24 hours, so that none "
             "uses up what their policies have for all (policy.predict.max_unknown, "
             "max_rows_per_day); kept answers are none, nor is what the operator's token asks "
             "for; 0: any number."},
    {"model.load", KEY_PATH, SERVER(load), .fallback = "",
     .help = "First weights of the head: a model package, or safetensors as --export or PyTorch "
             "write them; left out: drawn as model.init says."},
    {"model.head_program", KEY_COMMAND, SERVER(head.command), .fallback = "[]",
     .help = "The head is computed by this program, as [\"python3\", \"my_head.py\"], in a process "
             "of its own without network (docs/programs.md): from sums of embeddings to outputs, "
             "of which the server takes the loss.  model.head is [] then, and protocol.local_view "
             "stale.  A word that names a file beside this one is that file, the first one only "
             "with a /.  []: none."},
    {"model.head_program_memory_mib", KEY_U32, SERVER(head.memory_mib), .lo = 64, .hi = 1048576,
     .fallback = "16384", .help = "Address space that this program may have, in MiB."},
    {"model.head_program_timeout_ms", KEY_U32, SERVER(head.timeout_ms), .lo = 10, .hi = 3600000,
     .fallback = "30000",
     .help = "Longest time that this program may take for one answer; for all of one piece of "
             "work it is half of protocol.patience_ms.  Then it is ended, and the head's outputs "
             "are zeros to the end of the job."},
};

const struct key_table config_keys_server = {
    .name = "server",
    .parts = 8,
    .part = {{ROWS(server_address_keys), 0},
             {ROWS(identity_keys), SERVER(identity)},
             {ROWS(server_keys), 0},
             {plan_keys, PLAN_KEYS_N, SERVER(plan)},
             {ROWS(align_keys), SERVER(align)},
             {ROWS(align_server_keys), SERVER(align)},
             {ROWS(policy_align_keys), SERVER(align)},
             {ROWS(inject_both_keys), SERVER(inject)}},
};

static const struct key party_address_keys[] = {
    {"server", KEY_ADDRESS, PARTY(server), .lo = 1,
     .help = "Address and port of the server; what is checked is the name in its certificate."},
    {"insecure_peers", KEY_NAMES, PARTY(insecure_peers), .fallback = "[]",
     .help =
         "Addresses besides loopback where the server may be under --insecure-seed; 192.0.2. is "
         "all that begins with it."},
};

/* The limits of policy.max_epsilon against one adversary. */
#define LIMIT(key, adversary, limited, words)                                                      \
    {                                                                                              \
        "policy.max_epsilon." key, KEY_REAL, PARTY(policy.epsilon_max[adversary][limited]),        \
            .lo = 0, .hi = 1e9, .fallback = "0", .help = words                                     \
    }
#define LIMITS(key, adversary, who)                                                                \
    LIMIT(key ".record", adversary, LIMITED_RECORD,                                                \
          "Largest epsilon against " who " for one record, by whichever record_* holds; 0: no "    \
          "limit."),                                                                               \
        LIMIT(key ".columns", adversary, LIMITED_COLUMNS, "The same for all columns here."),       \
        LIMIT(key ".sample", adversary, LIMITED_SAMPLE,                                            \
              "The same for all parties' data of one record.")

static const struct key party_keys[] = {
    {"roster", KEY_PATH, PARTY(roster), .help = "The roster: who may take part."},
    {"state", KEY_PATH, PARTY(state),
     .help = "Directory of everything the party keeps and writes, its ledger first of all."},
    {"state_key", KEY_PATH, PARTY(state_key), .fallback = "",
     .help = "The key that seals what is kept under state, readable by its owner alone."},
    {"checkpoint_rounds", KEY_U32, PARTY(checkpoint_rounds), .lo = 1,
     .hi = CONFIG_CHECKPOINT_ROUNDS_MAX, .fallback = "256",
     .help = "Training rounds between two checkpoints under state; with state_key only."},
    {"stand", KEY_BOOL, PARTY(stand), .fallback = "false",
     .help = "Stay connected, and take the server's jobs one after another, of training and of "
             "predictions; a job that fails or is refused ends nothing but itself. Needs "
             "state_key."},
    {"data.train", KEY_SOURCE, PARTY(data_train),
     .help = "Columns of the training rows: a file, or postgres:SERVICE/TABLE, "
             "odbc:DSN/TABLE (docs/tables.md)."},
    {"data.test", KEY_SOURCE, PARTY(data_test), .fallback = "",
     .help = "Columns of the test rows; left out: none."},
    {"data.alignment", KEY_ALIGNMENT, PARTY(data_alignment), .fallback = "",
     .help = "An alignment that this party has taken part in (state/alignments/NAME): the training "
             "rows are those of data.train (and data.labels.train) that are in it, in its order, "
             "and their places there are what is compared with the others'; the ledger charges "
             "ids, as ever.  Left out: all rows, by their ids."},
    {"data.alignment_test", KEY_ALIGNMENT, PARTY(data_alignment_test), .fallback = "",
     .help = "Another one, of the rows of data.test: needed where data.alignment is given and "
             "there is a data.test."},
    {"data.validate", KEY_REAL, PARTY(validate), .lo = 0, .hi = 0.9, .fallback = "0",
     .help = "The share of the training rows that is not trained on, as the server's plan has it."},
    {"data.validate_by", KEY_CHOICE, PARTY(validate_by), .choices = plan_validates,
     .fallback = "id",
     .help = "By what these rows are chosen, as the server's plan has it; group: by data.group, "
             "or time: by data.time, which then tells others what ids tell them: whether all sides "
             "have the same."},
    {"data.predict", KEY_SOURCE, PARTY(data_predict), .fallback = "",
     .help = "The same columns of the rows that may be predicted (vfl-party --predict); left out: "
             "this party takes part in no prediction."},
    {"data.mapped", KEY_PATH, PARTY(data_mapped), .fallback = "",
     .help = "A folder, on a disk with room for four bytes a feature, where features lie in files "
             "without names that are mapped, so that they may be more than memory; left out: they "
             "lie in memory. Nobody else is told which."},
    {"data.labels.train", KEY_SOURCE, PARTY(labels_train), .fallback = "",
     .help = "Labels of the training rows, for plans whose protocol.local_view is refreshed and "
             "that count this party among the label holders; left out: it holds none. A label that "
             "is no class of the plan's counts as 0, and the log says how many there were."},
    {"data.labels.positive", KEY_TEXT, PARTY(labels_positive), .fallback = "",
     .help = "As labels.positive at the server, whose classes they have to be."},
    {"data.table", KEY_TEXT, PARTY(table), .fallback = "",
     .help = "The table or view to be read where data.train and data.test are databases and do not "
             "name it; left out: the only one of a file of SQLite."},
    {"data.schema", KEY_PATH, PARTY(schema), .fallback = "",
     .help =
         "What each column is and how it becomes features, as vfl prepare writes it for a person "
         "to change; left out: found out from the training rows."},
    {"data.scale", KEY_SCALE, PARTY(scale), .choices = scales, .fallback = "fit",
     .help = "Standardise columns by the training rows (fit), by what data.schema's statistics: dp "
             "draws of them (dp), not at all (none), or by a file of name,mean,sd. What is beyond "
             "1e12 in size after that is cut off there."},
    {"data.scale_given", KEY_BOOL, PARTY(scale_given), .fallback = "false",
     .help = "The file of data.scale was made without these records: of other data, or of what "
             "everybody may know.  Without that word a file counts like fit, every release shows "
             "every record.  Refused where the file says just what fit would."},
    {"data.group", KEY_COLUMN, PARTY(group), .fallback = "",
     .help = "The column, in the training and the test table, that says whose a row is: a person "
             "with many rows.  It is no feature, its values are compared as bytes, and the ledger, "
             "its limits and its claims (person_*) count by them; left out: each row is its own. "
             "To be set before the first run."},
    {"data.time", KEY_COLUMN, PARTY(time), .fallback = "",
     .help = "The column, in the training and the test table, that says when a row was, a number "
             "or a time (YYYY-MM-DD HH:MM:SS), for data.validate_by time.  It is no feature; left "
             "out: there is none."},
    {"data.shape", KEY_WIDTHS, PARTY(shape), .lo = 1, .hi = PLAN_WIDTH_MAX, .fallback = "[]",
     .items = "3, 2 or no",
     .help = "What a row of this party's columns is to model.layers: [C, H, W], an image whose "
             "channels stand one after the other, each row by row; [T, C], a series of T steps of "
             "C values; []: values without an order."},
    {"data.augment.crop", KEY_U32, PARTY(augment_crop), .lo = 0, .hi = 256, .fallback = "0",
     .help = "In training each image is moved by up to so many pixels, up or down and left or "
             "right, by chance; what comes in at the edge is zero.  The draws are this party's "
             "own, anew in each step.  Evaluations and predictions see images as they are."},
    {"data.augment.flip", KEY_BOOL, PARTY(augment_flip), .fallback = "false",
     .help = "In training every other image, by chance, is mirrored, left to right."},
    {"model.preset", KEY_CHOICE, PARTY(preset), .choices = layers_presets, .fallback = "none",
     .help = "Layers by a name (docs/models.md lists them) instead of model.layers. cnn: two "
             "convolutions, each followed by a pool, and a hidden layer; lstm: one of 64 units; "
             "resnet18: eight residual blocks, for pictures of 32 x 32, with group normalisation; "
             "resnet18_batchnorm: with batch normalisation."},
    {"model.layers", KEY_LAYERS, PARTY(layers), .hi = LAYERS_ITEMS_MAX, .fallback = "[64]",
     .help = "This party's bottom, before its last layer, which is linear to model.embedding "
             "values: hidden widths as [64, 64], or layers as [{conv2d: {out: 16, kernel: 3, "
             "padding: 1}}, relu, {maxpool: 2}, flatten, 64] (docs/models.md lists them); [] is "
             "the last layer alone."},
    {"model.activation", KEY_CHOICE, PARTY(activation), .choices = activations, .fallback = "relu",
     .help = "Activation after each hidden layer."},
    {"model.output_activation", KEY_CHOICE, PARTY(output_activation), .choices = output_activations,
     .fallback = "tanh",
     .help = "tanh: the embedding is protocol.clip times tanh of the last layer's values. none: "
             "it is these values, cut off at protocol.clip; the log says how many were."},
    {"model.dropout", KEY_REAL, PARTY(dropout), .lo = 0, .hi = 0.9, .fallback = "0",
     .help = "In training each value behind a hidden layer of the bottom is left out with this "
             "probability, and the others count 1 / (1 - p) times; the draws are this party's "
             "own.  Evaluations and predictions have them all."},
    {"model.polynomial.degree", KEY_U32, PARTY(degree), .lo = 0, .hi = CONFIG_DEGREE_MAX,
     .fallback = "0",
     .help = "The bottom is the polynomial x W1 + x^2 W2 + ... of this degree, powers by element, "
             "without bias; it has no layers and no activation, its inputs are cut off at "
             "protocol.fedvs.x_max and, but for fedvs, what it gives at protocol.clip.  fedvs "
             "takes no other bottom, and a party under it tells the others its degree and its "
             "number of columns.  0: a layered bottom."},
    {"model.program", KEY_COMMAND, PARTY(program.command), .fallback = "[]",
     .help =
         "The bottom is computed by this program, as [\"python3\", \"my_bottom.py\"], in a process "
         "of its own without network (docs/programs.md).  It sees bare records, so model.train "
         "is raw, and there are no model.layers.  A word that names a file beside this one is "
         "that file, the first one only with a /.  []: none."},
    {"model.program_memory_mib", KEY_U32, PARTY(program.memory_mib), .lo = 64, .hi = 1048576,
     .fallback = "16384", .help = "Address space that the program may have, in MiB."},
    {"model.program_timeout_ms", KEY_U32, PARTY(program.timeout_ms), .lo = 10, .hi = 3600000,
     .fallback = "30000",
     .help = "Longest time that the program may take for one answer; for all of one piece of work "
             "it is half the plan's protocol.patience_ms, or deadline_ms.  Then it is ended, and "
             "the embeddings are zeros to the end of the job."},
    {"model.train", KEY_CHOICE, PARTY(train), .choices = trains, .fallback = "raw",
     .help =
         "raw: the bottom trains on the bare records, and a claim for one of them counts every "
         "release. frozen: it keeps its first weights. dp: each local step clips every sample's "
         "gradient and adds Gaussian noise. Under frozen and dp a claim for a record counts its "
         "own releases (and under dp its local steps), if data.scale is none, dp or given."},
    {"model.clip", KEY_REAL, PARTY(clip), .lo = 0, .hi = 1e6, .lo_open = true, .fallback = "1",
     .help = "G: the largest l2 norm of one sample's gradient of all weights of this bottom; dp."},
    {"model.noise", KEY_REAL, PARTY(noise), .lo = 0, .hi = 1e6, .fallback = "0",
     .help =
         "sigma: the sum of a batch's gradients gets discrete Gaussian noise of standard deviation "
         "sigma G in every weight and every local step; dp only, which needs it above 0, and times "
         "the square root of the number of weights at most 32768."},
    {"model.load", KEY_PATH, PARTY(load), .fallback = "",
     .help = "First weights of the bottom, which must not come from these records: a model package "
             "for the same columns, or safetensors as --export or PyTorch write them; left out: "
             "drawn as model.init says."},
    {"policy.min_parties", KEY_U32, PARTY(policy.min_parties), .lo = 1, .hi = PLAN_PARTIES_MAX,
     .fallback = "3", .help = "Fewest parties with which this one takes part."},
    {"policy.min_m_eff", KEY_U32, PARTY(policy.min_m_eff), .lo = 1, .hi = PLAN_PARTIES_MAX,
     .fallback = "2",
     .help = "Fewest parties among whom a value hides from the server and the largest "
             "operator together."},
    {"policy.max_epsilon.adversary", KEY_CHOICE, PARTY(policy.epsilon_adversary),
     .choices = adversaries, .fallback = "server",
     .help = "Against whom max_epsilon.value counts."},
    {"policy.max_epsilon.adjacency", KEY_CHOICE, PARTY(policy.epsilon_adjacency),
     .choices = adjacencies, .fallback = "record_raw",
     .help = "For whose change it counts. record_*, person_*: one record, or one person "
             "under data.group, by whichever of the six holds for what was released."},
    {"policy.max_epsilon.value", KEY_REAL, PARTY(policy.epsilon_value), .lo = 0, .hi = 1e9,
     .fallback = "0", .help = "Epsilon that may not be passed; 0: no limit."},
    LIMITS("server", ADVERSARY_SERVER, "the server"),
    LIMITS("server_1", ADVERSARY_SERVER_1, "server+1"),
    LIMITS("server_t", ADVERSARY_SERVER_T, "server+t (server+1 where T is 1)"),
    LIMITS("all_but_one", ADVERSARY_ALL_BUT_ONE, "all_but_one"),
    LIMITS("party", ADVERSARY_PARTY, "a curious party"),
    {"policy.max_releases.record", KEY_U64, PARTY(policy.releases_record), .lo = 0, .hi = COUNT_MAX,
     .fallback = "0", .help = "Releases one record may take part in, over all runs; 0: no limit."},
    {"policy.max_releases.total", KEY_U64, PARTY(policy.releases_total), .lo = 0, .hi = COUNT_MAX,
     .fallback = "0",
     .help = "Released vectors of all records together, over all runs; 0: no limit."},
    {"policy.max_shares_mib", KEY_U32, PARTY(policy.shares_mib), .lo = 0, .hi = 1u << 30,
     .fallback = "16384",
     .help =
         "Disk that shares of everybody's data may take here under fedvs, in MiB; 0: no limit."},
    {"policy.max_id_mismatches", KEY_U32, PARTY(policy.id_mismatches), .lo = 1,
     .hi = CONFIG_ID_MISMATCHES_MAX, .fallback = "64",
     .help = "Lists of ids with which another party, or the server, may come without showing that "
             "they are this party's: each lets it try one guess, the same one again tells it "
             "nothing. With yet another one it is refused until --ids-forget."},
    {"policy.predict.models", KEY_NAMES, PARTY(policy.predict_models), .fallback = "[]",
     .help =
         "Models that this party predicts by: names of runs as `vfl models list` has them here, "
         "or plan:DIGITS for every run of the plan whose SHA-256 begins so; []: any."},
    {"policy.predict.by", KEY_NAMES, PARTY(policy.predict_by), .fallback = "[]",
     .help = "For whom it answers, by the server's word (predict.by); []: anybody."},
    {"policy.predict.max_rows_per_day", KEY_U64, PARTY(policy.predict_rows_day), .lo = 0,
     .hi = COUNT_MAX, .fallback = "0",
     .help = "Rows that predictions of all jobs may ask for in a day of UTC, those that are asked "
             "for again too (the ledger counts them); 0: no limit."},
    {"policy.predict.max_rows", KEY_U32, PARTY(policy.predict_rows), .lo = 0, .hi = 1u << 24,
     .fallback = "0", .help = "Rows that one job of predictions may ask for; 0: no limit."},
    {"policy.predict.max_unknown", KEY_U32, PARTY(policy.unknown_ids), .lo = 0, .hi = 1u << 30,
     .fallback = "1000",
     .help = "Ids that predictions may ask for and data.predict does not have, over all jobs: each "
             "answer tells that this party has no such row (the ledger counts them)."},
    {"policy.predict.unknown_per_day", KEY_U32, PARTY(policy.unknown_ids_day), .lo = 0,
     .hi = 1u << 30, .fallback = "100",
     .help = "How many of those counted for max_unknown each day of UTC takes off; 0: none, until "
             "--asked-forget."},
    {"policy.contribute.max_rows", KEY_U32, PARTY(policy.contribute_rows), .lo = 0, .hi = 1u << 24,
     .fallback = "0",
     .help = "Rows that one job of contributions may ask for, each many times over; 0: this party "
             "takes part in none."},
    {"policy.contribute.columns", KEY_U32, PARTY(policy.contribute_columns), .lo = 0, .hi = 1024,
     .fallback = "0",
     .help = "The first so many columns of the table may be mixed up among the rows of a job of "
             "contributions, to see what each adds; they are asked for by number, and the server "
             "learns no name."},
    {"policy.encodings", KEY_SET, PARTY(policy.encoding), .choices = encoding_names,
     .fallback = "[pbm, fixed, gaussian]", .help = "Encodings a plan may ask for."},
    {"policy.aggregations", KEY_SET, PARTY(policy.aggregation), .choices = aggregation_names,
     .fallback = "[masked, coded, fedvs]", .help = "Aggregations a plan may ask for."},
    {"policy.gradient_clip", KEY_REAL, PARTY(policy.gradient_clip), .lo = 0, .hi = 1e9,
     .fallback = "0",
     .help = "Each row of a received gradient is shortened to this l2 norm; 0: not at all."},
    {"policy.max_learning_rate", KEY_REAL, PARTY(policy.max_learning_rate), .lo = 0, .hi = 1000,
     .lo_open = true, .fallback = "1",
     .help = "Largest training.learning_rate a plan may ask for."},
    {"policy.roster_sha256", KEY_SHA256, PARTY(policy.roster_sha256), .fallback = "",
     .help = "Digest of the roster (vfl pki digest), compared with the others out of band; left "
             "out: only a server on loopback is accepted."},
};

const struct key_table config_keys_party = {
    .name = "party",
    .parts = 8,
    .part = {{ROWS(party_address_keys), 0},
             {ROWS(identity_keys), PARTY(identity)},
             {ROWS(party_keys), 0},
             {ROWS(policy_align_keys), PARTY(align)},
             {ROWS(policy_align_party_keys), PARTY(align)},
             {ROWS(align_keys), PARTY(align)},
             {ROWS(inject_keys), PARTY(inject)},
             {ROWS(inject_both_keys), PARTY(inject)}},
};
