/* Updates in slices whose numbers are arrays. */
#include "harness/array_update.h"

#include "base/random.h"
#include "formats/yaml.h"
#include "harness/graph_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITEMS = 24 };

/* ---- a model, and the numbers of a run ---- */

/* Which weights have sums, as a training shard has them. */
static void find_updated(liana__array_update *f)
{
    liana_graph *graph = liana__test_new_graph(f->model->context);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2, 5, 5, 8));
    liana__model_results results = liana__model_call(f->model, &x, &(liana__model_mode){.training = true});
    assert_ok(liana_graph_status(graph), &f->model->context->error);
    for (size_t i = 0; i < f->model->num_weights; i++) f->updated[i] = liana__weight_trainable(f->model, i);
    for (size_t i = 0; i < results.num_updates; i++) {
        const liana__model_update *update = &results.updates[i];
        f->averages[update->weight] = (liana__average){update->momentum, update->about};
        f->updated[update->weight] = true;
    }
    liana_graph_destroy(graph);
}

static float *make_floats(int64_t count)
{
    float *floats = calloc((size_t)count, sizeof *floats);
    assert_non_null(floats);
    return floats;
}

liana__update_arrays liana__update_arrays_create(const liana_model *model)
{
    liana__update_arrays made = {0};
    for (size_t i = 0; i < model->num_weights; i++) {
        made.sizes[i] = liana_shape_size(&model->weights[i].shape);
        made.values[i] = make_floats(made.sizes[i]);
        made.sums[i] = make_floats(made.sizes[i]);
        for (int slot = 0; slot < LIANA_MAX_SLOTS; slot++) made.slots[i][slot] = make_floats(made.sizes[i]);
        liana__model_initialize(model, 5, i, made.values[i]);
    }
    return made;
}

void liana__update_arrays_free(liana__update_arrays *n)
{
    for (size_t i = 0; i < LIANA__ARRAY_MAX_WEIGHTS; i++) {
        free(n->values[i]);
        free(n->sums[i]);
        for (int slot = 0; slot < LIANA_MAX_SLOTS; slot++) free(n->slots[i][slot]);
    }
}

void liana__update_arrays_draw(const liana__array_update *f, liana__update_arrays *n, uint32_t update)
{
    for (size_t i = 0; i < f->model->num_weights; i++) {
        liana__philox_key key = liana__philox_make_key(13, LIANA__STREAM_TEST, (uint32_t)i);
        for (int64_t k = 0; k < n->sizes[i]; k++) {
            uint32_t words[4];
            liana__philox(key, (uint32_t[4]){(uint32_t)k, update, 0, 0}, words);
            n->sums[i][k] = (liana__uniform_float(words[0]) - 0.4f) * ldexpf(1, (int)(words[1] % 8) - 4);
        }
    }
}

liana__array_update liana__array_update_create(liana_model *model, const liana_optimizer_type *optimizer,
                                               const char *yaml)
{
    liana__array_update f = {.model = model};
    liana__error error = {0};
    liana__value *map = NULL;
    f.options = calloc(1, optimizer->part.options.size);
    assert_non_null(f.options);
    assert_ok(liana__yaml_parse(yaml, strlen(yaml), "test.yaml", &f.arena, &map, &error), &error);
    assert_ok(liana__fields_read(&optimizer->part.options, map, "optimizer", NULL, &f.arena, f.options, &error),
              &error);
    f.rule = (liana__update_rule){.optimizer = optimizer, .options = f.options};
    f.num_slots = liana__rule_num_slots(&f.rule);
    find_updated(&f);
    return f;
}

void liana__array_update_begin(liana__array_update *f)
{
    liana__error error = {0};
    assert_ok(liana__test_update_items(f->model, &f->rule, f->averages, f->updated, &f->arena, &f->items, &error),
              &error);
    f->items.rate_multipliers = f->multipliers;
    assert_compare(f->items.num_items, <=, MAX_ITEMS);
}

void liana__array_update_free(liana__array_update *f)
{
    liana__update_items_free(&f->items);
    liana_model_destroy(f->model);
    liana__arena_free(&f->arena);
    free(f->options);
}

/* ---- running an update in slices ---- */

/* A run of one step: the inputs of its graphs. */
typedef struct step_run {
    liana__array_update *f;
    liana__update_arrays *n;
    liana__device *device;
    float count, learning_rate, iteration;
    float *finished[LIANA_MAX_SUM_ROUNDS]; /* sums of all variables */
    size_t first_rows[LIANA_MAX_SUM_ROUNDS];
} step_run;

/* "optimizer/Adam/m/dense/kernel[4096:8192]": the array, from element 4096 on. */
static float *find_array(const step_run *r, const char *name, bool is_input)
{
    char base[512], prefix[64];
    long long offset = 0;
    snprintf(base, sizeof base, "%s", name);
    char *bracket = strchr(base, '[');
    if (bracket) {
        assert_int_equal(sscanf(bracket, "[%lld:", &offset), 1);
        *bracket = 0;
    }
    for (size_t slot = 0; slot < r->f->num_slots; slot++) {
        snprintf(prefix, sizeof prefix, "optimizer/%s/%s/", r->f->rule.optimizer->part.name,
                 liana__rule_slot_name(&r->f->rule, slot));
        if (strncmp(base, prefix, strlen(prefix)) != 0) continue;
        int weight = liana__model_find_weight(r->f->model, base + strlen(prefix));
        assert_compare(weight, >=, 0);
        return r->n->slots[weight][slot] + offset;
    }
    int weight = liana__model_find_weight(r->f->model, base);
    assert_compare(weight, >=, 0);
    return (is_input ? r->n->sums[weight] : r->n->values[weight]) + offset;
}

static const float *find_input(const step_run *r, const char *name)
{
    size_t round;
    if (strcmp(name, "count") == 0) return &r->count;
    if (strcmp(name, "learning_rate") == 0) return &r->learning_rate;
    if (strcmp(name, "iteration") == 0) return &r->iteration;
    if (sscanf(name, "sums/%zu", &round) == 1) {
        return r->finished[round] + r->first_rows[round] * r->f->items.reads.rounds[round].num_sums;
    }
    return find_array(r, name, true);
}

static liana__buffer *make_buffer(liana__device *device, const liana__node *node, const float *data)
{
    liana__error error = {0};
    liana__buffer *buffer = NULL;
    assert_ok(device->backend->upload(device, node->dtype, &node->shape, data, &buffer, NULL, &error), &error);
    return buffer;
}

/* Runs a graph once on the numbers of the step; destroys it. `out` receives the only output, if there is one. */
static void run_graph(const step_run *r, liana_graph *graph, float *out)
{
    const liana__backend *backend = r->device->backend;
    liana__error error = {0};
    liana__executable *executable;
    liana__buffer *inputs[64], *variables[128], *outputs[1] = {NULL};
    assert_compare(graph->num_inputs, <=, 64);
    assert_compare(graph->num_variables, <=, 128);
    assert_compare(graph->num_outputs, ==, out ? 1 : 0);
    assert_ok(backend->compile(r->device, graph, &executable, &error), &error);
    for (size_t i = 0; i < graph->num_inputs; i++) {
        inputs[i] = make_buffer(r->device, graph->inputs[i], find_input(r, graph->inputs[i]->name));
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        variables[i] = make_buffer(r->device, graph->variables[i], find_array(r, graph->variables[i]->name, false));
    }
    liana__execution execution = {.name = "a slice", .inputs = inputs, .variables = variables, .outputs = outputs};
    assert_ok(backend->execute(executable, &execution, &error), &error);
    if (out) assert_ok(backend->download(outputs[0], out, &error), &error);
    for (size_t i = 0; i < graph->num_variables; i++) {
        assert_ok(backend->download(variables[i], find_array(r, graph->variables[i]->name, false), &error), &error);
        backend->buffer_destroy(variables[i]);
    }
    for (size_t i = 0; i < graph->num_inputs; i++) backend->buffer_destroy(inputs[i]);
    if (out) backend->buffer_destroy(outputs[0]);
    backend->executable_destroy(executable);
    liana_graph_destroy(graph);
}

static liana__update_slice slice_of(const liana__array_update *f, const liana__slice_end ends[2],
                                    liana__slice_piece *pieces)
{
    return (liana__update_slice){pieces, liana__slice_pieces(f->items.items, f->items.num_items, ends, pieces)};
}

/* Where the sums of a slice's variables begin, for each round. */
static void find_rows(step_run *r, const liana__update_slice *slice)
{
    for (size_t round = 0; round < r->f->items.reads.num_rounds; round++) {
        liana__slice_sums_shape(&r->f->items, slice, round, &r->first_rows[round]);
    }
}

static void sum_in_slices(step_run *r, const liana__slice_end *ends, size_t num_slices, size_t round)
{
    const liana__update_items *items = &r->f->items;
    const size_t num_sums = items->reads.rounds[round].num_sums;
    float *chunk_sums = make_floats(items->num_chunks * (int64_t)num_sums);
    int64_t num_chunks = 0;
    for (size_t s = 0; s < num_slices; s++) {
        liana__slice_piece pieces[MAX_ITEMS];
        liana__update_slice slice = slice_of(r->f, &ends[s], pieces);
        liana_graph *graph;
        assert_ok(liana__build_slice_sums(r->f->model->context, items, &slice, round, &graph),
                  &r->f->model->context->error);
        assert_compare(graph != NULL, ==, liana__slice_num_chunks(items, &slice) > 0);
        if (!graph) continue;
        const liana_shape shape = graph->outputs[0].node->shape;
        assert_int_equal(liana__graph_find_output(graph, "chunk_sums"), 0);
        assert_int_equal(liana__slice_first_chunk(items, &slice), num_chunks);
        assert_int_equal(shape.dims[0], liana__slice_num_chunks(items, &slice));
        assert_int_equal(shape.dims[1], num_sums);
        find_rows(r, &slice);
        run_graph(r, graph, chunk_sums + (size_t)num_chunks * num_sums);
        num_chunks += shape.dims[0];
    }
    assert_int_equal(num_chunks, items->num_chunks);
    r->finished[round] = make_floats((int64_t)(items->num_variables * num_sums));
    liana__finish_sums(items, round, chunk_sums, r->finished[round]);
    free(chunk_sums);
}

void liana__array_update_run(liana__array_update *f, liana__update_arrays *n, liana__device *device,
                             const liana__slice_end *ends, size_t num_slices, int iteration)
{
    step_run r = {.f = f, .n = n, .device = device, .count = f->count, .learning_rate = (float)f->learning_rate};
    r.iteration = (float)iteration;
    for (size_t round = 0; round < f->items.reads.num_rounds; round++) sum_in_slices(&r, ends, num_slices, round);
    for (size_t s = 0; s < num_slices; s++) {
        liana__slice_piece pieces[MAX_ITEMS];
        liana__update_slice slice = slice_of(f, &ends[s], pieces);
        liana_graph *graph;
        assert_ok(liana__build_slice_update(f->model->context, &f->items, &slice, &graph), &f->model->context->error);
        assert_compare(graph != NULL, ==, slice.num_pieces > 0);
        if (!graph) continue;
        find_rows(&r, &slice);
        run_graph(&r, graph, NULL);
    }
    for (int round = 0; round < LIANA_MAX_SUM_ROUNDS; round++) free(r.finished[round]);
}
