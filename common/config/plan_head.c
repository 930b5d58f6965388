/* plan_head.c -- one walk over the items of model.head.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_head.h"

#include "common/config/task.h"

#include <stdio.h>

/* One way through a block, or through the head itself. */
struct way {
    uint64_t width; /* values of a row at its end; 0: not known yet */
    size_t items;
};

struct walk {
    struct way now;
    uint64_t params, values; /* of all layers; behind all items, of one row */
    bool open, turned;       /* in a block; in its second way */
    struct way came;         /* what came to the block */
    struct way first;        /* the end of its first way, once turned */
    char *fault;             /* in words; NULL: nobody asks */
    size_t size;
};

uint32_t plan_head_inputs(const struct plan *p)
{
    return p->model.embedding * (p->model.fusion == FUSION_CONCAT ? p->shape.parties : 1);
}

static bool refuse(struct walk *w, const char *why)
{
    if (w->fault != NULL)
        snprintf(w->fault, w->size, "%s", why);
    return false;
}

static bool takes(struct walk *w, const char *what)
{
    if (w->fault != NULL)
        snprintf(w->fault, w->size, "it takes %s, and %llu values come to it", what,
                 (unsigned long long)w->now.width);
    return false;
}

static bool units(struct walk *w, uint32_t out)
{
    w->params += (w->now.width + 1) * out;
    w->now.width = out;
    w->now.items++;
    return true;
}

static bool norm(struct walk *w, const struct config_layer *item)
{
    const bool batch = item->word == LAYERS_BATCHNORM;
    char what[64];

    /* A group of one value is 0 whatever that is.  (0 values: not known yet.) */
    if (!batch && w->now.width > 0 &&
        (w->now.width % item->argument[0] != 0 || w->now.width == item->argument[0])) {
        snprintf(what, sizeof what, "values of which %u groups of two or more can be made",
                 item->argument[0]);
        return takes(w, what);
    }
    w->params += (batch ? 4 : 2) * w->now.width; /* batchnorm has running moments besides */
    w->now.items++;
    return true;
}

/* A way through a block ends here. */
static bool end_way(struct walk *w)
{
    if (!w->open)
        return refuse(w, "no block has begun (residual)");
    return w->now.items > 0 || refuse(w, "this way through the block has no layer");
}

static bool residual(struct walk *w)
{
    if (w->open)
        return refuse(w, "a block ends (add) before the next one begins");
    w->open = true;
    w->turned = false;
    w->now.items = 0;
    w->came = w->now;
    return true;
}

static bool shortcut(struct walk *w)
{
    if (!end_way(w))
        return false;
    if (w->turned)
        return refuse(w, "the block has two ways already");
    w->turned = true;
    w->first = w->now;
    w->now = w->came;
    return true;
}

static bool add(struct walk *w)
{
    const uint64_t other = w->turned ? w->first.width : w->came.width;
    char what[64];

    if (!end_way(w))
        return false;
    if (w->now.width != other && w->now.width > 0 && other > 0) {
        snprintf(what, sizeof what, "twice the same, of which one is %llu values",
                 (unsigned long long)other);
        return takes(w, what);
    }
    w->now.width = w->now.width > 0 ? w->now.width : other;
    w->open = false;
    return true;
}

static bool item(struct walk *w, const struct config_layer *l)
{
    switch (l->word) {
    case LAYERS_UNITS: return units(w, l->argument[LAYERS_OUT]);
    case LAYERS_GROUPNORM:
    case LAYERS_BATCHNORM: return norm(w, l);
    case LAYERS_RESIDUAL: return residual(w);
    case LAYERS_SHORTCUT: return shortcut(w);
    case LAYERS_ADD: return add(w);
    case LAYERS_FLATTEN:
    case LAYERS_RELU:
    case LAYERS_TANH:
    case LAYERS_SIGMOID: w->now.items++; return true;
    case LAYERS_CONV2D:
    case LAYERS_CONV1D:
    case LAYERS_MAXPOOL:
    case LAYERS_AVGPOOL:
    case LAYERS_GLOBALPOOL:
    case LAYERS_LSTM:
    case LAYERS_GRU:
    case LAYERS_WORDS: break;
    }
    return takes(w, "an image or a series");
}

/* All items; false at the first that does not take what comes, whose number is left in *at. */
static bool walk(struct walk *w, const struct plan *p, size_t *at)
{
    const struct config_layers *head = &p->model.head;

    w->now.width = plan_head_inputs(p);
    for (*at = 0; *at < head->n; ++*at) {
        if (!item(w, &head->item[*at]))
            return false;
        w->values += w->now.width;
    }
    return !w->open || refuse(w, "the block before it does not end (add)");
}

bool plan_head_fault(const struct plan *p, char *out, size_t size)
{
    char why[96], name[24] = "the last layer";
    struct walk w = {.fault = why, .size = sizeof why};
    size_t at;

    if (walk(&w, p, &at))
        return false;
    if (at < p->model.head.n)
        layers_name(&p->model.head.item[at], name, sizeof name);
    snprintf(out, size, "item %zu, %s: %s", at + 1, name, why);
    return true;
}

uint64_t plan_head_values(const struct plan *p)
{
    struct walk w = {.fault = NULL};
    size_t at;

    (void)walk(&w, p, &at);
    return w.values;
}

bool plan_head_lists(const struct plan *p, enum layers_word word)
{
    for (size_t i = 0; i < p->model.head.n; i++)
        if (p->model.head.item[i].word == word)
            return true;
    return false;
}

bool plan_head_mixes(const struct plan *p)
{
    return plan_head_lists(p, LAYERS_BATCHNORM);
}

uint32_t plan_head_width(const struct plan *p)
{
    const struct config_layers *head = &p->model.head;

    return head->n > 0 && head->item[0].word == LAYERS_UNITS ? head->item[0].argument[LAYERS_OUT]
                                                             : p->shape.outputs;
}

size_t plan_head_params(const struct plan *p)
{
    struct walk w = {.fault = NULL};
    size_t at;

    if (p->model.output == OUTPUT_IDENTITY)
        return 0;
    if (walk(&w, p, &at))
        (void)units(&w, task_outputs(p));
    if (p->training.party_dropout > 0) /* a stand-in for each party */
        w.params += (uint64_t)p->shape.parties * p->model.embedding;
    return w.params;
}

/* What a program computes is no list of layers, goes to nobody, and is drawn back by nobody. */
const char *plan_head_needs_layers(const struct plan *p, const char **why)
{
    const struct {
        bool broken;
        const char *key, *why;
    } rule[] = {
        {p->model.head.n > 0, "model.head", "not beside model.head_program, which is the head"},
        {p->model.output == OUTPUT_IDENTITY, "model.output",
         "identity has no head, and model.head_program is one"},
        {p->model.head_dropout > 0, "model.head_dropout",
         "is of model.head's layers: model.head_program has its own"},
        {p->protocol.local_view == VIEW_REFRESHED, "protocol.local_view",
         "refreshed sends the head to parties, and a program (model.head_program) stays here"},
        {p->protocol.proximal > 0, "protocol.proximal",
         "draws the head back, and nobody can draw a program (model.head_program)"},
        {p->protocol.gradient.form == GRADIENT_FACTORED, "protocol.gradient.form",
         "factored takes the head's first layer, and a program (model.head_program) shows none"},
        {p->training.party_dropout > 0, "training.party_dropout",
         "trains stand-ins beside the head's layers, and model.head_program has none"},
    };

    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++)
        if (rule[i].broken) {
            *why = rule[i].why;
            return rule[i].key;
        }
    return NULL;
}
