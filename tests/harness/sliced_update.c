/* Updates in slices by compiled programs. */
#include "harness/sliced_update.h"

#include "harness/harness.h"

#include <liana/layers.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SLICES = 8, MAX_PIECES = LIANA__TEST_MAX_WEIGHTS };

typedef struct slice_programs {
    liana__slice_piece pieces[MAX_PIECES];
    liana__update_slice slice;
    liana__program *sums[LIANA_MAX_SUM_ROUNDS];
    liana__program *update;
} slice_programs;

struct liana__sliced_update {
    const liana_model *model;
    liana__device *device;
    liana__average averages[LIANA__TEST_MAX_WEIGHTS];
    bool updated[LIANA__TEST_MAX_WEIGHTS];
    liana__arena arena; /* of the items */
    liana__update_items items;
    liana__variables variables;
    slice_programs slices[MAX_SLICES];
    size_t num_slices;
    float *chunk_sums, *finished[LIANA_MAX_SUM_ROUNDS];
    /* Of the running update. */
    const liana__test_weights *gradients;
    float learning_rate, iteration;
    float more_rates[8];
};

/* ---- a model and its numbers ---- */

liana_model *liana__test_sliced_model(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, "sliced", &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(5, 5, 8));
    liana_conv2d(model, .filters = 64, .kernel_size = 3);
    liana_batch_normalization(model);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = 200);
    liana_dense(model, .units = 30);
    assert_ok(liana__model_check(model, &context->error), &context->error);
    assert_compare(model->num_weights, <=, LIANA__TEST_MAX_WEIGHTS);
    return model;
}

liana__test_weights liana__test_weights_create(const liana_model *model)
{
    liana__test_weights made = {{0}};
    for (size_t i = 0; i < model->num_weights; i++) {
        made.values[i] = calloc((size_t)liana_shape_size(&model->weights[i].shape), sizeof(float));
        assert_non_null(made.values[i]);
    }
    return made;
}

void liana__test_weights_free(liana__test_weights *weights)
{
    for (size_t i = 0; i < LIANA__TEST_MAX_WEIGHTS; i++) free(weights->values[i]);
}

void liana__test_same_weights(const liana_model *model, const liana__test_weights *a, const liana__test_weights *b,
                              const char *what)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        size_t size = liana__byte_size(LIANA_F32, &model->weights[i].shape);
        if (memcmp(a->values[i], b->values[i], size) == 0) continue;
        fail_msg("%s: the bits of %s differ", what, model->weights[i].name);
    }
}

/* ---- setting up ---- */

static liana__error *error_of(const liana__sliced_update *u)
{
    return &u->device->context->error;
}

static size_t weight_of(const liana__sliced_update *u, const liana__slice_piece *piece)
{
    return (size_t)liana__model_find_weight(u->model, liana__update_item_variable(&u->items, piece->item)->name);
}

static void add_variables(liana__sliced_update *u, const liana__slice_piece *piece, const liana__test_weights *begin)
{
    char name[512];
    const char *variable = liana__update_item_variable(&u->items, piece->item)->name;
    const liana__update_rule rule = liana__rule_of(&u->items.rule, variable);
    const liana_shape shape = liana__piece_shape(&u->items, piece);
    liana__piece_name(&u->items, piece, name, sizeof name);
    assert_ok(liana__variables_add(&u->variables, name, LIANA_F32, &shape,
                                   begin->values[weight_of(u, piece)] + piece->begin, error_of(u)),
              error_of(u));
    for (size_t slot = 0; slot < liana__rule_num_slots(&rule); slot++) {
        const double begins_at = liana__rule_slot_begins_at(&rule, slot);
        const liana_shape of_slot = liana__rule_slot_shape(&rule, slot, &shape);
        float *values = malloc((size_t)liana_shape_size(&of_slot) * sizeof *values);
        assert_non_null(values);
        for (int64_t i = 0; i < liana_shape_size(&of_slot); i++) values[i] = (float)begins_at;
        liana__piece_slot_name(&u->items, piece, slot, name, sizeof name);
        assert_ok(liana__variables_add(&u->variables, name, LIANA_F32, &of_slot, values, error_of(u)), error_of(u));
        free(values);
    }
}

static void make_slice(liana__sliced_update *u, const liana__slice_end ends[2], slice_programs *made,
                       const liana__test_weights *begin)
{
    liana_context *context = u->device->context;
    liana_graph *graph;
    size_t count = liana__slice_pieces(u->items.items, u->items.num_items, ends, made->pieces);
    made->slice = (liana__update_slice){made->pieces, count};
    for (size_t i = 0; i < count; i++) add_variables(u, &made->pieces[i], begin);
    for (size_t round = 0; round < u->items.reads.num_rounds; round++) {
        assert_ok(liana__build_slice_sums(context, &u->items, &made->slice, round, &graph), error_of(u));
        if (!graph) continue;
        assert_ok(liana__program_create(u->device, graph, "sums", &u->variables, &made->sums[round], error_of(u)),
                  error_of(u));
    }
    assert_ok(liana__build_slice_update(context, &u->items, &made->slice, &graph), error_of(u));
    if (!graph) return;
    assert_ok(liana__program_create(u->device, graph, "update", &u->variables, &made->update, error_of(u)),
              error_of(u));
}

liana__sliced_update *liana__sliced_update_create(liana__device *device, const liana_model *model,
                                                  const liana__update_rule *rule, size_t num_slices,
                                                  const liana__test_weights *begin)
{
    liana__slice_end ends[MAX_SLICES + 1];
    liana__sliced_update *u = calloc(1, sizeof *u);
    assert_non_null(u);
    assert_compare(num_slices, <=, MAX_SLICES);
    u->model = model;
    u->device = device;
    u->num_slices = num_slices;
    for (size_t i = 0; i < model->num_weights; i++) u->updated[i] = liana__weight_trainable(model, i);
    assert_ok(liana__test_update_items(model, rule, u->averages, u->updated, &u->arena, &u->items, error_of(u)),
              error_of(u));
    liana__variables_init(&u->variables, device);
    assert_ok(liana__slices_choose(u->items.items, u->items.num_items, num_slices, ends, error_of(u)), error_of(u));
    for (size_t i = 0; i < num_slices; i++) make_slice(u, &ends[i], &u->slices[i], begin);
    u->chunk_sums = calloc((size_t)u->items.num_chunks * LIANA_MAX_ROUND_SUMS, sizeof(float));
    assert_non_null(u->chunk_sums);
    for (size_t round = 0; round < LIANA_MAX_SUM_ROUNDS; round++) {
        u->finished[round] = calloc(u->items.num_variables * LIANA_MAX_ROUND_SUMS, sizeof(float));
        assert_non_null(u->finished[round]);
    }
    return u;
}

void liana__sliced_update_destroy(liana__sliced_update *u)
{
    for (size_t i = 0; i < u->num_slices; i++) {
        for (size_t round = 0; round < LIANA_MAX_SUM_ROUNDS; round++) liana__program_destroy(u->slices[i].sums[round]);
        liana__program_destroy(u->slices[i].update);
    }
    liana__variables_free(&u->variables);
    liana__update_items_free(&u->items);
    liana__arena_free(&u->arena);
    free(u->chunk_sums);
    for (size_t round = 0; round < LIANA_MAX_SUM_ROUNDS; round++) free(u->finished[round]);
    free(u);
}

/* ---- running ---- */

/* The other rates of a MultiOptimizer differ from the first one by a factor. */
static const float *more_rate(liana__sliced_update *u, size_t number)
{
    const liana__multi_options *multi = liana__as_multi(u->items.rule.optimizer, u->items.rule.options);
    assert_non_null(multi);
    assert_compare(number, <, sizeof u->more_rates / sizeof *u->more_rates);
    const double first = liana__learning_rate_at(&multi->items[0].choice.learning_rate, 0);
    const double own = liana__learning_rate_at(&multi->items[number].choice.learning_rate, 0);
    u->more_rates[number] = (float)((double)u->learning_rate * own / first);
    return &u->more_rates[number];
}

static const float *find_input(liana__sliced_update *u, const slice_programs *own, const char *name)
{
    static const float one = 1;
    size_t round, first, number;
    if (sscanf(name, "learning_rate/%zu", &number) == 1) return more_rate(u, number);
    if (strcmp(name, "count") == 0) return &one;
    if (strcmp(name, "learning_rate") == 0) return &u->learning_rate;
    if (strcmp(name, "iteration") == 0) return &u->iteration;
    if (sscanf(name, "sums/%zu", &round) == 1) {
        liana__slice_sums_shape(&u->items, &own->slice, round, &first);
        return u->finished[round] + first * u->items.reads.rounds[round].num_sums;
    }
    for (size_t i = 0; i < own->slice.num_pieces; i++) {
        char piece[512];
        liana__piece_name(&u->items, &own->pieces[i], piece, sizeof piece);
        if (strcmp(name, piece) == 0) return u->gradients->values[weight_of(u, &own->pieces[i])] + own->pieces[i].begin;
    }
    fail_msg("an update reads '%s'", name);
    return NULL;
}

static void run_program(liana__sliced_update *u, const slice_programs *own, liana__program *program)
{
    for (size_t i = 0; i < program->graph->num_inputs; i++) {
        const liana__node *node = program->graph->inputs[i];
        assert_ok(liana__program_feed(program, i, node->dtype, &node->shape, find_input(u, own, node->name),
                                      error_of(u)),
                  error_of(u));
    }
    assert_ok(liana__program_run(program, error_of(u)), error_of(u));
}

static void sum_round(liana__sliced_update *u, size_t round)
{
    const size_t num_sums = u->items.reads.rounds[round].num_sums;
    for (size_t s = 0; s < u->num_slices; s++) {
        slice_programs *own = &u->slices[s];
        if (!own->sums[round]) continue;
        run_program(u, own, own->sums[round]);
        size_t first = (size_t)liana__slice_first_chunk(&u->items, &own->slice);
        assert_ok(liana__program_fetch(own->sums[round], 0, u->chunk_sums + first * num_sums, error_of(u)),
                  error_of(u));
    }
    liana__finish_sums(&u->items, round, u->chunk_sums, u->finished[round]);
}

double liana__sliced_update_run(liana__sliced_update *u, const liana__test_weights *gradients, double learning_rate,
                                int64_t iteration, double (*adapt)(const void *options, double rate, const float *sums),
                                const void *adapt_options)
{
    u->gradients = gradients;
    u->learning_rate = (float)learning_rate;
    u->iteration = (float)iteration;
    for (size_t round = 0; round < u->items.reads.num_rounds; round++) {
        sum_round(u, round);
        if (round != liana__rule_rate_round(&u->items.rule)) continue;
        learning_rate = adapt(adapt_options, learning_rate, u->finished[round]);
        u->learning_rate = (float)learning_rate;
    }
    for (size_t s = 0; s < u->num_slices; s++) {
        if (u->slices[s].update) run_program(u, &u->slices[s], u->slices[s].update);
    }
    return learning_rate;
}

/* The number of a slot of a weight; false: its optimizer has none of that name. */
static bool find_slot(const liana__sliced_update *u, const liana__slice_piece *piece, const char *slot, size_t *number)
{
    const char *weight = liana__update_item_variable(&u->items, piece->item)->name;
    const liana__update_rule rule = liana__rule_of(&u->items.rule, weight);
    for (*number = 0; *number < liana__rule_num_slots(&rule); ++*number) {
        if (strcmp(liana__rule_slot_name(&rule, *number), slot) == 0) return true;
    }
    return false;
}

void liana__sliced_update_read(const liana__sliced_update *u, const char *slot, liana__test_weights *weights)
{
    for (size_t s = 0; s < u->num_slices; s++) {
        for (size_t i = 0; i < u->slices[s].slice.num_pieces; i++) {
            const liana__slice_piece *piece = &u->slices[s].pieces[i];
            char name[512];
            size_t number;
            liana__piece_name(&u->items, piece, name, sizeof name);
            if (slot && find_slot(u, piece, slot, &number))
                liana__piece_slot_name(&u->items, piece, number, name, sizeof name);
            const liana__variable *variable = liana__variables_find(&u->variables, name);
            assert_non_null(variable);
            float *to = weights->values[weight_of(u, piece)] + piece->begin;
            assert_ok(liana__variable_read(variable, to, error_of(u)), error_of(u));
        }
    }
}
