/* A training's facts about its bad steps: layers, records, and its place. */
#include "train/training/bundle.h"

#include "data/source/source.h"

#include <string.h>

/* ---- layers ---- */

/* A layer's place has a copy of the file's name that no other layer has (layers/model/nodes.c), so the pointer tells
 * which layer built a node, or the forward node whose gradient it is of. */
const char *liana__training_layer_of_node(const liana__training *training, const liana__node *node)
{
    const liana_model *model = training->model;
    for (size_t i = 0; model && node->where.file && i < model->num_layers; i++) {
        if (model->layers[i].where.file == node->where.file) return model->layers[i].name;
    }
    return NULL;
}

static const char *layer_of_node(const void *user, const liana__node *node)
{
    return liana__training_layer_of_node(((const liana__bad_step *)user)->training, node);
}

/* The layer of a weight, or of a slot of the optimizer for it: "optimizer/Adam/m/dense/kernel". */
static const char *layer_of_variable(const void *user, const char *name)
{
    const liana__trainer *trainer = ((const liana__bad_step *)user)->training->trainer;
    for (size_t i = 0; i < trainer->num_weights; i++) {
        const char *weight = trainer->weights[i].name;
        const size_t length = strlen(name), own = strlen(weight);
        const bool fits = length >= own && strcmp(name + length - own, weight) == 0;
        if (fits && (length == own || name[length - own - 1] == '/')) return trainer->weights[i].owner_name;
    }
    return NULL;
}

/* ---- facts ---- */

static void note_record(const void *user, int64_t example, liana__arena *arena, liana__value *map)
{
    const liana__bad_step *step = user;
    if (!step->source) return;
    const liana_record_address address = liana__source_address(step->source, step->batch->records[example]);
    const char *file = address.file ? liana__path_shown(arena, address.file) : NULL;
    if (file) liana__value_set(arena, map, "file", liana__value_string(arena, file));
    if (address.record >= 0) liana__value_set(arena, map, "record", liana__value_int(arena, address.record));
}

static void note_facts(const void *user, liana__arena *arena, liana__value *facts, liana__value *examples)
{
    const liana__bad_step *step = user;
    liana__value *losses = liana__value_list(arena);
    liana__value_set(arena, facts, "epoch", liana__value_int(arena, step->epoch));
    liana__value_set(arena, facts, "step", liana__value_int(arena, step->step));
    liana__value_set(arena, facts, "update", liana__value_int(arena, step->update));
    liana__value_set(arena, facts, "learning_rate", liana__incident_number(arena, step->learning_rate));
    for (size_t i = 0; i < step->num_losses; i++) {
        liana__value_add(arena, losses, liana__incident_number(arena, step->losses[i]));
    }
    liana__value_set(arena, facts, "losses", losses);
    liana__value_set(arena, facts, "examples", examples);
    const char *isa = liana__isa_name(step->training->context->isa);
    liana__value_set(arena, facts, "instruction_set", liana__value_string(arena, isa));
    liana__value_set(arena, facts, "precision", liana__value_string(arena, step->training->state.precision));
}

/* ---- running it again ---- */

/* `scalars` are those of an update. */
static liana__rerun rerun_of(const liana__bad_step *step, const double *scalars)
{
    return (liana__rerun){.step = step->training->trainer->step,
                          .batch = step->batch,
                          .scalars = scalars,
                          .of_validation = step->of_validation,
                          .masked = step->masked,
                          .before = step->before,
                          .values = step->user,
                          .layer_of_node = layer_of_node,
                          .layer_of_variable = layer_of_variable,
                          .note_record = note_record,
                          .note_facts = note_facts,
                          .user = step};
}

liana_status liana__incident_collect(const liana__bad_step *step, const liana__fault *fault, liana__incident *incident,
                                     liana__error *error)
{
    const double scalars[] = {step->learning_rate, (double)step->applied};
    const liana__rerun rerun = rerun_of(step, scalars);
    return liana__rerun_find(&rerun, fault, incident, error);
}

liana_status liana__incident_of_shard(const liana__bad_step *step, const liana__leaf_batch *shards, size_t number,
                                      liana__incident *incident, liana__error *error)
{
    const liana__rerun rerun = rerun_of(step, NULL);
    return liana__rerun_shard(&rerun, shards, number, incident, error);
}
