/* Runs updates and evaluations on a device. */
#include "train/core/trainer.h"

#include "data/loader/cut.h"
#include "train/core/program.h"

#include <stdio.h>
#include <stdlib.h>

/* A shard program and what each worker binds to it. */
typedef struct shard_program {
    int64_t size; /* examples */
    bool needed;  /* by the running batch */
    liana__program program;
    liana__buffer *(*inputs)[LIANA__MAX_SHARD_INPUTS]; /* by worker; NULL for what the program does not have */
    liana__buffer **outputs;                           /* by worker: what the model gives; evaluation only */
} shard_program;

/* The sizes that are compiled: of full batches, and of partial ones (two of each at most), and of shards that miss
 * examples. Where each epoch ends in another size, older ones make room for newer ones; only a batch that needs more
 * sizes at once has more. */
enum { MAX_PROGRAMS = 16 };

typedef struct program_set {
    shard_program *items;
    size_t count;
    size_t capacity;
    size_t next_evicted;
    liana__strategy_instance *strategy;
} program_set;

/* The examples of a shard in the batch. */
typedef struct shard_range {
    int64_t begin;
    int64_t size;
} shard_range;

struct liana__trainer {
    liana__device *device;
    liana__trainer_options options;
    liana__variables *variables;
    int64_t microbatch;
    int64_t num_classes;
    size_t example_size; /* bytes of one image */
    program_set training;
    program_set evaluation;
    liana__average *averages; /* by weight */
    int32_t *no_labels;       /* zeros for a shard: predictions come without labels, and nobody reads their sums */
    /* The update: buffers of the last three inputs are the trainer's own, the others the strategy's. */
    liana__program update;
    liana__buffer **update_inputs;
    size_t num_sums;
    liana__buffer *scalars[3];
    /* The running batch, for the shards. */
    const liana__trainer_batch *batch;
    shard_range *shards; /* that have examples */
    int64_t num_shards;
    bool is_training;
    float *outputs;
};

enum { UPDATE_COUNT, UPDATE_RATE, UPDATE_ITERATION };

static const liana__strategy *const strategy = &liana__strategy_one_device;

/* Builders leave their message in the context. */
static liana_status take_context_error(liana__trainer *trainer, liana_status status, liana__error *error)
{
    if (status != LIANA_OK && error && error != &trainer->device->context->error) {
        *error = trainer->device->context->error;
    }
    return status;
}

/* ---- setting up ---- */

static void free_shard_program(liana__trainer *trainer, shard_program *program)
{
    const liana__backend *backend = trainer->device->backend;
    for (int worker = 0; worker < trainer->device->num_workers; worker++) {
        for (int i = 0; program->inputs && i < LIANA__MAX_SHARD_INPUTS; i++) {
            if (program->inputs[worker][i]) backend->buffer_destroy(program->inputs[worker][i]);
        }
        if (program->outputs && program->outputs[worker]) backend->buffer_destroy(program->outputs[worker]);
    }
    free(program->inputs);
    free(program->outputs);
    liana__program_free(&program->program);
}

static void free_program_set(liana__trainer *trainer, program_set *set)
{
    for (size_t i = 0; i < set->count; i++) free_shard_program(trainer, &set->items[i]);
    free(set->items);
    if (set->strategy) strategy->destroy(set->strategy);
}

void liana__trainer_destroy(liana__trainer *trainer)
{
    if (!trainer) return;
    free_program_set(trainer, &trainer->training);
    free_program_set(trainer, &trainer->evaluation);
    liana__program_free(&trainer->update);
    for (int i = 0; i < 3; i++) {
        if (trainer->scalars[i]) trainer->device->backend->buffer_destroy(trainer->scalars[i]);
    }
    free(trainer->update_inputs);
    free(trainer->averages);
    free(trainer->no_labels);
    free(trainer->shards);
    free(trainer);
}

static liana_status make_bindings(liana__trainer *trainer, shard_program *program, liana__error *error)
{
    const liana__backend *backend = trainer->device->backend;
    const liana_graph *graph = program->program.graph;
    size_t workers = (size_t)trainer->device->num_workers;
    program->inputs = calloc(workers, sizeof *program->inputs);
    program->outputs = calloc(workers, sizeof *program->outputs);
    if (!program->inputs || !program->outputs) return liana__fail_memory(error, "a shard program");
    for (size_t worker = 0; worker < workers; worker++) {
        for (size_t i = 0; i < graph->num_inputs; i++) {
            const liana__node *node = graph->inputs[i];
            LIANA_TRY(
                backend->buffer_create(trainer->device, node->dtype, &node->shape, &program->inputs[worker][i], error));
        }
    }
    int index = liana__graph_find_output(graph, "output");
    for (size_t worker = 0; index >= 0 && worker < workers; worker++) {
        const liana__node *node = graph->outputs[index].node;
        LIANA_TRY(backend->buffer_create(trainer->device, node->dtype, &node->shape, &program->outputs[worker], error));
    }
    return LIANA_OK;
}

static shard_program *find_program(const program_set *set, int64_t size)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->items[i].size == size) return &set->items[i];
    }
    return NULL;
}

/* Where another program goes: behind the others or, if all places are taken, in that of an old one. Those of full
 * batches stay, and so do those of the batch that needs the new one. NULL: out of memory. */
static shard_program *place_for(liana__trainer *trainer, program_set *set)
{
    for (size_t tries = 2; set->count >= MAX_PROGRAMS && tries < set->count; tries++) {
        shard_program *old = &set->items[2 + set->next_evicted++ % (set->count - 2)];
        if (old->needed) continue;
        free_shard_program(trainer, old);
        return old;
    }
    if (!liana__grow(&set->items, set->count, &set->capacity, sizeof *set->items)) return NULL;
    return &set->items[set->count++];
}

/* The tensors that a shard's sums consist of: all outputs but the model's own. */
static liana_status make_strategy(liana__trainer *trainer, program_set *set, const liana_graph *graph,
                                  liana__error *error)
{
    bool is_training = set == &trainer->training;
    size_t count = is_training ? graph->num_outputs : 1;
    liana_dtype *dtypes = calloc(count, sizeof *dtypes);
    liana_shape *shapes = calloc(count, sizeof *shapes);
    liana_status status = dtypes && shapes ? LIANA_OK : liana__fail_memory(error, "the strategy");
    for (size_t i = 0; status == LIANA_OK && i < count; i++) {
        dtypes[i] = graph->outputs[i].node->dtype;
        shapes[i] = graph->outputs[i].node->shape;
    }
    if (status == LIANA_OK) {
        size_t max_shards = (size_t)liana__cut_batch(trainer->options.batch_size, trainer->microbatch).count;
        liana__sum_types types = {count, dtypes, shapes, .run_adds = is_training};
        status = strategy->create(trainer->device, &types, max_shards, &set->strategy, error);
    }
    free(dtypes);
    free(shapes);
    return status;
}

static liana_status add_program(liana__trainer *trainer, program_set *set, int64_t size, liana__error *error)
{
    shard_program *known = find_program(set, size);
    if (known) {
        known->needed = true;
        return LIANA_OK;
    }
    bool is_training = set == &trainer->training;
    liana_context *context = trainer->device->context;
    liana_graph *graph;
    liana_status status = is_training
                              ? liana__build_training_shard(context, &trainer->options, size, trainer->averages, &graph)
                              : liana__build_evaluation_shard(context, &trainer->options, size, &graph);
    LIANA_TRY(take_context_error(trainer, status, error));
    char name[64];
    snprintf(name, sizeof name, "%s-shard-%lld", is_training ? "training" : "evaluation", (long long)size);
    shard_program made = {.size = size, .needed = true};
    /* Before the program: how much memory is left for that is then known. */
    status = set->strategy ? LIANA_OK : make_strategy(trainer, set, graph, error);
    if (status != LIANA_OK) {
        liana_graph_destroy(graph);
        return status;
    }
    LIANA_TRY(liana__program_compile(trainer->device, graph, name, trainer->variables, &made.program, error));
    shard_program *program = place_for(trainer, set);
    if (!program) {
        liana__program_free(&made.program);
        return liana__fail_memory(error, "a shard program");
    }
    *program = made;
    return make_bindings(trainer, program, error);
}

/* The programs of those shards that all workers compute together. */
static liana_status make_ready_together(liana__trainer *trainer, program_set *set, const liana__cut *pieces,
                                        liana__error *error)
{
    const liana__backend *backend = trainer->device->backend;
    size_t count = (size_t)pieces->count;
    for (size_t shard = count - strategy->num_together(trainer->device, count); shard < count; shard++) {
        const shard_program *program = find_program(set, liana__cut_size(pieces, (int64_t)shard));
        LIANA_TRY(backend->make_ready_together(program->program.executable, error));
    }
    return LIANA_OK;
}

static void need_nothing(program_set *set)
{
    for (size_t i = 0; i < set->count; i++) set->items[i].needed = false;
}

static liana_status prepare_set(liana__trainer *trainer, program_set *set, int64_t count, liana__error *error)
{
    need_nothing(set);
    liana__cut pieces = liana__cut_batch(count, trainer->microbatch);
    if (pieces.larger) LIANA_TRY(add_program(trainer, set, pieces.size + 1, error));
    if (pieces.larger < pieces.count) LIANA_TRY(add_program(trainer, set, pieces.size, error));
    return make_ready_together(trainer, set, &pieces, error);
}

static liana_status make_update(liana__trainer *trainer, liana__error *error)
{
    const liana_graph *shard_graph = trainer->training.items[0].program.graph;
    liana_graph *graph;
    liana_status status =
        liana__build_update(trainer->device->context, &trainer->options, shard_graph, trainer->averages, &graph);
    LIANA_TRY(take_context_error(trainer, status, error));
    LIANA_TRY(liana__program_compile(trainer->device, graph, "update", trainer->variables, &trainer->update, error));
    LIANA_TRY(trainer->device->backend->make_ready_together(trainer->update.executable, error));
    trainer->num_sums = shard_graph->num_outputs - 1;
    trainer->update_inputs = calloc(graph->num_inputs + 1, sizeof *trainer->update_inputs);
    if (!trainer->update_inputs) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < 3; i++) {
        LIANA_TRY(trainer->device->backend->buffer_create(trainer->device, LIANA_F32, &LIANA_SCALAR,
                                                          &trainer->scalars[i], error));
        trainer->update_inputs[trainer->num_sums + i] = trainer->scalars[i];
    }
    return LIANA_OK;
}

liana_status liana__trainer_prepare(liana__trainer *trainer, int64_t count, bool training, liana__error *error)
{
    if (!training) return prepare_set(trainer, &trainer->evaluation, count, error);
    LIANA_TRY(prepare_set(trainer, &trainer->training, count, error));
    return trainer->update.executable ? LIANA_OK : make_update(trainer, error);
}

static liana_status add_variables(liana__trainer *trainer, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    const liana_model *model = options->model;
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        float *values = malloc(liana__byte_size(LIANA_F32, &weight->shape));
        if (!values) return liana__fail_memory(error, weight->name);
        liana__model_initialize(model, options->seed, i, values);
        liana_status status =
            liana__variables_add(trainer->variables, weight->name, LIANA_F32, &weight->shape, values, error);
        free(values);
        LIANA_TRY(status);
    }
    if (!options->optimizer) return LIANA_OK;
    size_t num_slots = liana__optimizer_num_slots(options->optimizer, options->optimizer_options);
    for (size_t slot = 0; slot < num_slots; slot++) {
        for (size_t i = 0; i < model->num_weights; i++) {
            if (!liana__weight_trainable(model, i)) continue;
            char name[512];
            liana__slot_name(options, slot, model->weights[i].name, name, sizeof name);
            LIANA_TRY(liana__variables_add(trainer->variables, name, LIANA_F32, &model->weights[i].shape, NULL, error));
        }
    }
    return LIANA_OK;
}

static liana_status check_model(const liana__trainer_options *options, liana__error *error)
{
    LIANA_TRY(liana__model_check(options->model, error));
    liana_shape input = liana__model_input_shape(options->model), output = liana__model_output_shape(options->model);
    if (input.rank != 4) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the model's input is %s, expected images: [batch, height, width, channels]",
                           liana__shape_print(&input).text);
    }
    if (output.rank != 2) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the model's output is %s, expected [batch, classes]; end it in a pooling or Flatten layer "
                           "and a Dense layer",
                           liana__shape_print(&output).text);
    }
    if (!options->optimizer) return LIANA_OK;
    if (options->loss->of_probabilities) LIANA_TRY(liana__model_check_probabilities(options->model, error));
    bool learns = false;
    for (size_t i = 0; i < options->model->num_weights; i++) learns |= liana__weight_trainable(options->model, i);
    if (learns) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the model has no weight that training could change; check "
                       "'trainable' and 'trainable_from'");
}

static liana_status set_up(liana__trainer *trainer, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    LIANA_TRY(check_model(options, error));
    liana_shape input = liana__model_input_shape(options->model), output = liana__model_output_shape(options->model);
    trainer->example_size = (size_t)(input.dims[1] * input.dims[2] * input.dims[3]);
    trainer->num_classes = output.dims[1];
    trainer->microbatch =
        options->microbatch ? options->microbatch : liana__default_microbatch(options->model, options->batch_size);
    if (trainer->microbatch > options->batch_size) trainer->microbatch = options->batch_size;
    trainer->averages = calloc(options->model->num_weights + 1, sizeof *trainer->averages);
    trainer->no_labels = calloc((size_t)trainer->microbatch, sizeof *trainer->no_labels);
    trainer->shards =
        calloc((size_t)liana__cut_batch(options->batch_size, trainer->microbatch).count, sizeof *trainer->shards);
    if (!trainer->averages || !trainer->no_labels || !trainer->shards) return liana__fail_memory(error, "the trainer");
    LIANA_TRY(add_variables(trainer, error));
    if (!options->optimizer) return LIANA_OK;
    return liana__trainer_prepare(trainer, options->batch_size, true, error);
}

liana_status liana__trainer_create(liana__device *device, const liana__trainer_options *options,
                                   liana__variables *variables, liana__trainer **out, liana__error *error)
{
    *out = NULL;
    liana__trainer *trainer = calloc(1, sizeof *trainer);
    if (!trainer) return liana__fail_memory(error, "the trainer");
    trainer->device = device;
    trainer->options = *options;
    trainer->variables = variables;
    device->memory_limit = options->memory_limit;
    liana_status status = set_up(trainer, error);
    if (status != LIANA_OK) {
        liana__trainer_destroy(trainer);
        return status;
    }
    *out = trainer;
    return LIANA_OK;
}

int64_t liana__trainer_num_classes(const liana__trainer *trainer)
{
    return trainer->num_classes;
}

int64_t liana__trainer_microbatch(const liana__trainer *trainer)
{
    return trainer->microbatch;
}

liana__trainer_memory liana__trainer_memory_of(const liana__trainer *trainer)
{
    liana__trainer_memory memory = {0};
    size_t workspace = 0, workspace_before = 0, workers = (size_t)trainer->device->num_workers;
    liana__cut cut = liana__cut_batch(trainer->options.batch_size, trainer->microbatch);
    for (int64_t shard = 0; shard < cut.count; shard++) {
        const shard_program *program = find_program(&trainer->training, liana__cut_size(&cut, shard));
        if (!program) continue;
        const liana__executable *executable = program->program.executable;
        size_t own = executable->workspace_size, before = executable->recomputed.workspace_before;
        if (before < own) before = own;
        if (own > workspace) workspace = own;
        if (before > workspace_before) workspace_before = before;
        memory.flops_again += executable->recomputed.flops;
        memory.flops_before += executable->recomputed.flops_before;
        if (executable->recomputed.num_segments > memory.num_segments) {
            memory.num_segments = executable->recomputed.num_segments;
        }
    }
    size_t held = atomic_load(&trainer->device->bytes_held);
    memory.bytes = held + workers * workspace;
    memory.bytes_before = held + workers * workspace_before;
    return memory;
}

int64_t liana__default_microbatch(const liana_model *model, int64_t batch_size)
{
    bool has_images = false;
    for (size_t i = 0; i < model->num_weights; i++) has_images |= model->weights[i].shape.rank == 4;
    int64_t size;
    if (has_images) {
        liana_shape input = liana__model_input_shape(model);
        int64_t pixels = input.dims[1] * input.dims[2];
        size = pixels <= 64 * 64 ? 32 : pixels <= 320 * 320 ? 16 : 8;
    } else {
        size = batch_size / 8 > 64 ? batch_size / 8 : 64;
    }
    return size < batch_size ? size : batch_size;
}

/* ---- running ---- */

static liana_status write_shard(liana__trainer *trainer, liana__buffer *const *inputs, int64_t begin,
                                liana__error *error)
{
    const liana__trainer_batch *batch = trainer->batch;
    const liana__backend *backend = trainer->device->backend;
    const uint8_t *images = batch->images + (size_t)begin * trainer->example_size;
    const int32_t *labels = batch->labels ? batch->labels + begin : trainer->no_labels;
    LIANA_TRY(backend->buffer_write(inputs[LIANA__SHARD_IMAGES], images, error));
    LIANA_TRY(backend->buffer_write(inputs[LIANA__SHARD_LABELS], labels, error));
    if (inputs[LIANA__SHARD_PARTNERS]) {
        LIANA_TRY(backend->buffer_write(inputs[LIANA__SHARD_PARTNERS], batch->partners + begin, error));
        LIANA_TRY(backend->buffer_write(inputs[LIANA__SHARD_SHARES], batch->shares + begin, error));
    }
    return backend->buffer_write(inputs[LIANA__SHARD_POSITIONS], batch->positions + begin, error);
}

static liana_status run_shard(void *user, size_t shard, int worker, liana__buffer *const *sums, atomic_int *arrivals,
                              liana__error *error)
{
    liana__trainer *trainer = user;
    const liana__backend *backend = trainer->device->backend;
    const program_set *set = trainer->is_training ? &trainer->training : &trainer->evaluation;
    int64_t begin = trainer->shards[shard].begin, size = trainer->shards[shard].size;
    const shard_program *program = find_program(set, size);
    const bool together = worker == LIANA__ALL_WORKERS;
    if (together) worker = 0;
    liana__buffer *const *inputs = program->inputs[worker];
    LIANA_TRY(write_shard(trainer, inputs, begin, error));
    const liana__program *compiled = &program->program;
    liana__buffer *const inference[2] = {sums[0], program->outputs[worker]};
    liana__buffer *const *outputs = trainer->is_training ? sums : inference;
    if (together) {
        LIANA_TRY(backend->execute_together(compiled->executable, inputs, compiled->variables, outputs, error));
    } else if (arrivals) {
        LIANA_TRY(backend->execute_and_add(compiled->executable, worker, inputs, compiled->variables, outputs, arrivals,
                                           error));
    } else {
        LIANA_TRY(backend->execute(compiled->executable, worker, inputs, compiled->variables, outputs, error));
    }
    if (trainer->is_training || !trainer->outputs) return LIANA_OK;
    return backend->buffer_read(inference[1], trainer->outputs + begin * trainer->num_classes, error);
}

/* Cuts the batch into shards, and compiles for those that miss examples what is not there yet. */
static liana_status cut_batch(liana__trainer *trainer, const liana__trainer_batch *batch, program_set *set,
                              liana__error *error)
{
    bool whole = batch->num_positions == 0 || batch->num_positions == batch->count;
    liana__cut cut = liana__cut_batch(whole ? batch->count : batch->num_positions, trainer->microbatch);
    trainer->num_shards = 0;
    if (!whole) need_nothing(set);
    for (int64_t shard = 0; shard < cut.count; shard++) {
        int64_t begin = liana__cut_begin(&cut, shard), end = begin + liana__cut_size(&cut, shard);
        if (!whole) {
            liana__cut_remaining(&cut, shard, batch->positions, batch->count, batch->first_position, &begin, &end);
            if (begin == end) continue;
            LIANA_TRY(add_program(trainer, set, end - begin, error));
        }
        trainer->shards[trainer->num_shards++] = (shard_range){begin, end - begin};
    }
    return LIANA_OK;
}

static liana_status sum_batch(liana__trainer *trainer, const liana__trainer_batch *batch, bool is_training,
                              liana__buffer *const **sums, liana__error *error)
{
    if (batch->count < 1 || batch->count > trainer->options.batch_size ||
        batch->num_positions > trainer->options.batch_size) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "a batch of %lld examples, expected 1 to %lld",
                           (long long)batch->count, (long long)trainer->options.batch_size);
    }
    if (is_training && trainer->options.mixes && (!batch->partners || !batch->shares)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the trainer mixes, but a batch comes without partners");
    }
    LIANA_TRY(liana__trainer_prepare(trainer, batch->num_positions ? batch->num_positions : batch->count, is_training,
                                     error));
    trainer->batch = batch;
    trainer->is_training = is_training;
    program_set *set = is_training ? &trainer->training : &trainer->evaluation;
    LIANA_TRY(cut_batch(trainer, batch, set, error));
    return strategy->sum_shards(set->strategy, (size_t)trainer->num_shards, run_shard, trainer, sums, error);
}

/* On the track of the steps. */
static void record(const liana__trainer *trainer, liana__event_kind kind, uint64_t begin, int64_t number)
{
    const liana__device *device = trainer->device;
    liana__event event = {.begin = begin, .kind = kind, .number = (uint32_t)number};
    if (device->recorder) liana__recorder_add(device->recorder, (size_t)device->num_workers, event);
}

static uint64_t clock_if_recorded(const liana__trainer *trainer)
{
    return trainer->device->recorder ? liana__clock() : 0;
}

/* Whether a batch has no example left; then its sums are of nothing. */
static bool all_missing(const liana__trainer_batch *batch, liana__trainer_sums *sums)
{
    if (batch->count > 0 || batch->num_positions == 0) return false;
    *sums = (liana__trainer_sums){{0}};
    return true;
}

liana_status liana__trainer_step(liana__trainer *trainer, const liana__trainer_batch *batch, double learning_rate,
                                 int64_t iteration, liana__trainer_sums *sums, liana__error *error)
{
    const liana__backend *backend = trainer->device->backend;
    liana__buffer *const *summed;
    if (all_missing(batch, sums)) return LIANA_OK;
    uint64_t begin = clock_if_recorded(trainer);
    LIANA_TRY(sum_batch(trainer, batch, true, &summed, error));
    record(trainer, LIANA__EVENT_SHARDS, begin, trainer->num_shards);
    begin = clock_if_recorded(trainer);
    LIANA_TRY(backend->buffer_read(summed[0], sums->values, error));
    for (size_t i = 0; i < trainer->num_sums; i++) trainer->update_inputs[i] = summed[1 + i];
    float scalars[3] = {[UPDATE_COUNT] = (float)batch->count,
                        [UPDATE_RATE] = (float)learning_rate,
                        [UPDATE_ITERATION] = (float)iteration};
    for (int i = 0; i < 3; i++) LIANA_TRY(backend->buffer_write(trainer->scalars[i], &scalars[i], error));
    LIANA_TRY(backend->execute_together(trainer->update.executable, trainer->update_inputs, trainer->update.variables,
                                        NULL, error));
    record(trainer, LIANA__EVENT_UPDATE, begin, iteration);
    return LIANA_OK;
}

liana_status liana__trainer_evaluate(liana__trainer *trainer, const liana__trainer_batch *batch, float *outputs,
                                     liana__trainer_sums *sums, liana__error *error)
{
    trainer->outputs = outputs;
    liana__buffer *const *summed;
    if (all_missing(batch, sums)) return LIANA_OK;
    LIANA_TRY(sum_batch(trainer, batch, false, &summed, error));
    return trainer->device->backend->buffer_read(summed[0], sums->values, error);
}
