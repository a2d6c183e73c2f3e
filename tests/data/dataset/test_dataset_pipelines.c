/* Random pipelines of dataset stages against a model of each stage in plain arrays: the same elements in the same order
 * from any start, for any number of threads, in another epoch. */
#include "harness/stage_models.h"

#include "base/random.h"
#include "data/dataset/dataset.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_PIPELINES = 600, MAX_NODES = 64, MAX_STAGES = 7 };

/* As a range, but one after the other. */
typedef struct counter {
    int64_t start, count, step;
} counter;

typedef struct pipeline {
    liana_context *context;
    uint64_t seed;
    uint32_t drawn;
    int num_nodes;
    node nodes[MAX_NODES];
    counter counters[MAX_NODES]; /* of generators */
} pipeline;

static uint32_t draw(pipeline *own, uint32_t below)
{
    uint32_t place[4] = {own->drawn++}, words[4];
    liana__philox(liana__philox_make_key(own->seed, LIANA__STREAM_TEST, 1), place, words);
    return words[0] % below;
}

/* ---- the functions of the program ---- */

static int64_t number_of(const liana_element *element, const char *name)
{
    return *(const int64_t *)liana_element_array(element, name).data;
}

static liana_status map_value(void *user, const liana_example_address *address, const liana_element *input,
                              liana_element *output)
{
    (void)user;
    *(int64_t *)liana_element_output(output, "value") = liana__test_mapped(number_of(input, "value"), address);
    return LIANA_OK;
}

static liana_status add_two(void *user, const liana_example_address *address, const liana_element *input,
                            liana_element *output)
{
    (void)address;
    int64_t *value = liana_element_output(output, "value");
    *value = number_of(input, "value") + 3 * number_of(input, user);
    return LIANA_OK;
}

static int64_t class_of_element(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    return liana__test_class_of(number_of(element, "value"));
}

static bool goes_on_at(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    return liana__test_goes_on(number_of(element, "value"), address);
}

static liana_status add_up(void *user, const liana_example_address *address, liana_element *state,
                           const liana_element *input, liana_element *output)
{
    (void)user;
    (void)address;
    int64_t *sum = liana_element_output(state, "value"), value = number_of(input, "value");
    if (output) *(int64_t *)liana_element_output(output, "value") = 2 * *sum + value;
    *sum = (3 * *sum + value) % BELOW;
    return LIANA_OK;
}

static liana_dataset *batch_window(void *user, int64_t key, liana_dataset *elements)
{
    (void)user;
    return liana_dataset_batch(elements, &(liana_batch_options){.batch_size = 1 + key});
}

static liana_status next_number(void *user, void *state, const liana_example_address *address, liana_element *element)
{
    (void)state;
    const counter *own = user;
    if ((int64_t)address->position >= own->count) return LIANA_END_OF_DATA;
    *(int64_t *)liana_element_output(element, "value") = own->start + (int64_t)address->position * own->step;
    return LIANA_OK;
}

static bool keep_value(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    return liana__test_kept(number_of(element, "value"), address);
}

static liana_dataset *expand(void *user, liana_context *context, const liana_example_address *address,
                             const liana_element *element)
{
    (void)user;
    (void)address;
    int64_t value = number_of(element, "value");
    return liana_dataset_range(context, value, value + (int64_t)((uint64_t)value % 4), 1);
}

static const liana_component value_component = {.name = "value", .dtype = LIANA_S64};

/* ---- pipelines ---- */

static node *add_node(pipeline *own, node made)
{
    assert_compare(own->num_nodes, <, MAX_NODES);
    assert_non_null(made.dataset);
    own->nodes[own->num_nodes] = made;
    return &own->nodes[own->num_nodes++];
}

static node *make_source(pipeline *own)
{
    static const kind sources[] = {RANGE, RANGE, RANGE, SLICES, SLICES, SLICES, GENERATOR, RANDOM};
    node made = {.kind = sources[draw(own, 8)]};
    made.random_access = made.kind != GENERATOR;
    made.a = draw(own, 20);
    made.b = draw(own, 25);
    made.c = 1 + draw(own, 3);
    if (made.kind == GENERATOR) {
        counter *numbers = &own->counters[own->num_nodes];
        *numbers = (counter){made.a, made.b, made.c};
        made.dataset =
            liana_dataset_from_generator(own->context, &(liana_generator_options){.next = next_number,
                                                                                  .user = numbers,
                                                                                  .components = &value_component,
                                                                                  .num_components = 1});
    } else if (made.kind == RANDOM) {
        made.c %= 2;
        const liana_random_options options = {(uint64_t)made.a, made.c};
        made.dataset = liana_dataset_take(liana_dataset_random(own->context, &options), made.b);
    } else if (made.kind == RANGE) {
        made.dataset = liana_dataset_range(own->context, made.a, made.a + made.b * made.c, made.c);
    } else {
        int64_t values[32];
        for (int64_t i = 0; i < made.b; i++) values[i] = made.a + i * made.c;
        liana_array array = {.name = "value", .dtype = LIANA_S64, .shape = liana_shape_of(made.b), .data = values};
        made.dataset = liana_dataset_from_tensor_slices(own->context, &array, 1);
    }
    return add_node(own, made);
}

static node *make_pipeline(pipeline *own, int num_stages);

/* Stages that do not mind batches. */
static node *add_choice(pipeline *own, node *input, kind wanted)
{
    node made = {.kind = wanted, .inputs = {input}, .batched = input->batched, .remainder = input->remainder};
    liana_dataset *data = input->dataset;
    char name[40];
    made.random_access = input->random_access;
    made.a = draw(own, 12);
    made.b = 1 + draw(own, 6);
    switch (wanted) {
    case SHUFFLE:
        made.c = draw(own, 3) == 0;
        made.dataset = liana_dataset_shuffle(data, &(liana_shuffle_options){.seed = (uint64_t)made.a,
                                                                            .buffer_size = made.b,
                                                                            .same_each_epoch = made.c});
        break;
    case REPEAT:
        made.a %= 4;
        made.dataset = liana_dataset_repeat(data, made.a);
        break;
    case ENDLESS:
        made.a *= 3;
        made.dataset = liana_dataset_take(liana_dataset_repeat(data, -1), made.a);
        break;
    case TAKE: made.dataset = liana_dataset_take(data, made.a); break;
    case SKIP: made.dataset = liana_dataset_skip(data, made.a); break;
    case SHARD:
        made.a = 1 + made.a % 4;
        made.b = made.b % made.a;
        made.dataset = liana_dataset_shard(data, made.a, made.b);
        break;
    case CACHE: made.dataset = liana_dataset_cache(data, NULL); break;
    case CACHE_FILE:
        snprintf(name, sizeof name, "cache-%d-%d", (int)own->seed, own->num_nodes);
        made.dataset = liana_dataset_cache(data, &(liana_cache_options){.path = liana__test_path(name)});
        break;
    default: made.kind = PREFETCH; made.dataset = liana_dataset_prefetch(data);
    }
    return add_node(own, made);
}

static liana_dataset *combine(liana_dataset *data, char *other)
{
    return liana_dataset_map(data, &(liana_map_options){.name = "add",
                                                        .function = add_two,
                                                        .user = other,
                                                        .components = &value_component,
                                                        .num_components = 1});
}

static node *add_pair(pipeline *own, node *input, kind wanted)
{
    int before = own->num_nodes;
    node *other = make_pipeline(own, (int)draw(own, 3));
    if (other->batched) {
        liana_dataset_close(other->dataset);
        own->num_nodes = before;
        other = make_source(own);
    }
    node made = {.kind = wanted, .inputs = {input, other}};
    made.random_access = input->random_access && other->random_access && wanted != SAMPLE && wanted != CHOOSE;
    made.a = draw(own, 100);
    made.b = 1 + draw(own, 4);
    made.c = 1 + draw(own, 4);
    liana_dataset *both[2] = {input->dataset, other->dataset};
    if (wanted == ZIP) {
        both[1] = liana_dataset_rename(both[1], "value", "other");
        made.dataset = combine(liana_dataset_zip(both, 2), "other");
    } else if (wanted == CONCATENATE) {
        made.dataset = liana_dataset_concatenate(both, 2);
    } else if (wanted == TURNS) {
        made.a %= 3; /* 0: both */
        made.dataset = liana_dataset_interleave_datasets(both, 2, &(liana_interleave_datasets_options){made.a, made.b});
    } else if (wanted == CHOOSE) {
        int64_t choices[NUM_CHOICES];
        for (int i = 0; i < NUM_CHOICES; i++) choices[i] = liana__test_choice_of(&made, i);
        const liana_array array = {"choice", LIANA_S64, liana_shape_of(NUM_CHOICES), choices};
        made.remainder = draw(own, 2) ? LIANA_REMAINDER_DROP : LIANA_REMAINDER_KEEP;
        made.dataset =
            liana_dataset_choose_from_datasets(both, 2, liana_dataset_from_tensor_slices(own->context, &array, 1),
                                               &(liana_choose_options){.skip_empty_datasets =
                                                                           made.remainder == LIANA_REMAINDER_KEEP});
    } else {
        made.remainder = draw(own, 2) ? LIANA_REMAINDER_DROP : LIANA_REMAINDER_KEEP;
        made.dataset = liana_dataset_sample_from_datasets(
            both, 2,
            &(liana_sample_options){.weights = (const double[]){(double)made.b, (double)made.c},
                                    .seed = (uint64_t)made.a,
                                    .stop_on_empty_dataset = made.remainder != LIANA_REMAINDER_KEEP});
    }
    return add_node(own, made);
}

/* Stages that go through their input from its start. */
static node *add_replayed(pipeline *own, node *input, kind wanted)
{
    node made = {.kind = wanted, .inputs = {input}};
    liana_dataset *data = input->dataset;
    made.a = 1 + draw(own, 5);
    made.b = 1 + draw(own, 3);
    made.c = 1 + draw(own, 3);
    made.remainder = draw(own, 2) ? LIANA_REMAINDER_DROP : LIANA_REMAINDER_KEEP;
    const liana_array sum = {"value", LIANA_S64, LIANA_SCALAR, &made.a};
    const liana_state_options state = {.function = add_up, .initial_state = &sum, .num_states = 1};
    const double wanted_parts[] = {(double)made.b, (double)made.c, 1}, parts[] = {10, 10, 10};
    const liana_component batch = {.name = "value", .dtype = LIANA_S64, .shape = {1, {LIANA_UNKNOWN_DIM}}};
    switch (wanted) {
    case TAKE_WHILE:
        made.dataset = liana_dataset_take_while(data, &(liana_filter_options){.function = goes_on_at});
        break;
    case UNIQUE: made.dataset = liana_dataset_unique(data); break;
    case SCAN: made.dataset = liana_dataset_scan(data, &state); break;
    case REDUCE: made.dataset = liana_dataset_reduce(data, &state); break;
    case RESAMPLE:
        made.dataset = liana_dataset_rejection_resample(
            data,
            &(liana_rejection_resample_options){.class_of = class_of_element,
                                                .target_dist = wanted_parts,
                                                .num_classes = 3,
                                                .initial_dist = made.remainder == LIANA_REMAINDER_KEEP ? NULL : parts,
                                                .seed = (uint64_t)made.a,
                                                .same_each_epoch = true});
        break;
    default:
        made.batched = true;
        made.remainder = LIANA_REMAINDER_KEEP;
        made.dataset = liana_dataset_group_by_window(data, &(liana_group_by_window_options){.key = class_of_element,
                                                                                            .window_size = made.a,
                                                                                            .reduce = batch_window,
                                                                                            .components = &batch,
                                                                                            .num_components = 1});
    }
    return add_node(own, made);
}

static node *add_window(pipeline *own, node *input)
{
    node made = {.kind = WINDOW, .inputs = {input}, .batched = true, .random_access = input->random_access};
    made.a = 1 + draw(own, 5);
    made.b = 1 + draw(own, 4);
    made.c = 1 + draw(own, 3);
    made.remainder = draw(own, 2) ? LIANA_REMAINDER_DROP : LIANA_REMAINDER_KEEP;
    const bool drops = made.remainder == LIANA_REMAINDER_DROP;
    made.dataset = liana_dataset_window(input->dataset, &(liana_window_options){.size = made.a,
                                                                                .shift = made.b,
                                                                                .stride = made.c,
                                                                                .drop_remainder = drops});
    return add_node(own, made);
}

static node *add_rebatch(pipeline *own, node *input)
{
    node made = {.kind = REBATCH, .inputs = {input}, .batched = true};
    made.a = 1 + draw(own, 7);
    made.remainder = (liana_remainder)draw(own, 2);
    made.random_access = input->random_access && input->remainder == LIANA_REMAINDER_DROP;
    made.dataset = liana_dataset_rebatch(input->dataset, &(liana_batch_options){made.a, made.remainder});
    return add_node(own, made);
}

static node *add_stage(pipeline *own, node *input, bool last)
{
    static const kind choices[] = {SHUFFLE, REPEAT, ENDLESS, TAKE, SKIP, SHARD, CACHE, CACHE_FILE, PREFETCH};
    static const kind others[] = {MAP,      MAP,         MAP,    FILTER, FLAT_MAP,  INTERLEAVE, BATCH,
                                  BATCH,    WINDOW,      WINDOW, PADDED, ENUMERATE, ENUMERATE,  ZIP,
                                  ZIP,      CONCATENATE, TURNS,  SAMPLE, CHOOSE,    TAKE_WHILE, UNIQUE,
                                  RESAMPLE, SCAN,        REDUCE, GROUP};
    enum { NUM_OTHERS = sizeof others / sizeof *others };
    node made = {.inputs = {input}, .random_access = input->random_access};
    liana_dataset *data = input->dataset;
    if (input->batched && draw(own, 2) && input->remainder != LIANA_REMAINDER_PAD) {
        if (draw(own, 4) == 0) return add_rebatch(own, input);
        made.kind = UNBATCH;
        made.random_access = input->random_access && input->remainder == LIANA_REMAINDER_DROP;
        made.dataset = liana_dataset_unbatch(data);
        return add_node(own, made);
    }
    if (input->batched || draw(own, 2)) return add_choice(own, input, choices[draw(own, 9)]);
    made.kind = others[draw(own, NUM_OTHERS)];
    made.a = 1 + draw(own, 4);
    made.b = 1 + draw(own, 3);
    liana_interleave_options expanding = {.name = "expand",
                                          .function = expand,
                                          .components = &value_component,
                                          .num_components = 1,
                                          .cycle_length = made.a,
                                          .block_length = made.b};
    switch (made.kind) {
    case MAP:
        made.dataset = liana_dataset_map(data, &(liana_map_options){.name = "double", .function = map_value});
        break;
    case FILTER:
        made.random_access = false;
        made.dataset = liana_dataset_filter(data, &(liana_filter_options){.function = keep_value});
        break;
    case FLAT_MAP:
        made.random_access = false;
        made.dataset = liana_dataset_flat_map(data, &expanding);
        break;
    case INTERLEAVE:
        made.random_access = false;
        made.dataset = liana_dataset_interleave(data, &expanding);
        break;
    case BATCH:
        made.a = 1 + draw(own, 7);
        made.batched = true;
        made.remainder = (liana_remainder)draw(own, last ? 3 : 2);
        made.dataset = liana_dataset_batch(data, &(liana_batch_options){made.a, made.remainder});
        break;
    case ENUMERATE: made.dataset = combine(liana_dataset_enumerate(data, made.a), "index"); break;
    case PADDED: /* of values of one shape it is a batch */
        made.batched = true;
        made.remainder = (liana_remainder)draw(own, 2);
        made.dataset =
            liana_dataset_padded_batch(data, &(liana_padded_batch_options){.batch_size = made.a,
                                                                           .drop_remainder =
                                                                               made.remainder == LIANA_REMAINDER_DROP});
        break;
    case WINDOW: return add_window(own, input);
    case TAKE_WHILE:
    case UNIQUE:
    case RESAMPLE:
    case SCAN:
    case REDUCE:
    case GROUP: return add_replayed(own, input, made.kind);
    default: return add_pair(own, input, made.kind);
    }
    return add_node(own, made);
}

static int length_of(const node *own)
{
    list *all = calloc(1, sizeof *all);
    liana__test_evaluate_stage(own, 0, 0, all);
    int count = all->count;
    free(all);
    return count;
}

static node *make_pipeline(pipeline *own, int num_stages)
{
    node *at = make_source(own);
    for (int i = 0; i < num_stages && length_of(at) < 100; i++) at = add_stage(own, at, i == num_stages - 1);
    return at;
}

/* ---- the comparison ---- */

static bool same_item(const item *expected, const liana_element *element)
{
    liana_shape shape = liana_element_array(element, "value").shape;
    const int64_t *values = liana_element_array(element, "value").data;
    const uint8_t *mask = liana_element_array(element, "mask").data;
    int count = shape.rank ? (int)shape.dims[0] : 1;
    bool same = count == expected->count && element->record == expected->record;
    for (int i = 0; same && i < count; i++) {
        same = values[i] == expected->values[i] && (!mask || mask[i] == (i < expected->valid));
    }
    return same;
}

static void print_pipeline(const pipeline *own)
{
    for (int k = 0; k < own->num_nodes; k++) {
        const node *at = &own->nodes[k];
        print_error("  %d: %s a %d b %d c %d <- %d %d\n", k, at->dataset->name, (int)at->a, (int)at->b, (int)at->c,
                    at->inputs[0] ? (int)(at->inputs[0] - own->nodes) : -1,
                    at->inputs[1] ? (int)(at->inputs[1] - own->nodes) : -1);
    }
}

static void check_run(const pipeline *own, const node *last, const list *expected,
                      const liana_iterator_options *options)
{
    liana_iterator *iterator;
    const liana_element *element;
    liana_status status = liana_iterator_create(last->dataset, options, &iterator);
    if (status != LIANA_OK) print_error("%s\n", liana_context_message(own->context));
    assert_int_equal(status, LIANA_OK);
    for (int i = (int)options->start; i < expected->count; i++) {
        assert_int_equal(liana_iterator_position(iterator), i);
        status = liana_iterator_next(iterator, &element);
        if (status != LIANA_OK || !same_item(&expected->items[i], element)) {
            print_error("pipeline %d, %d threads, epoch %d, from %d: element %d is another one (%s)\n", (int)own->seed,
                        options->num_threads, (int)options->epoch, (int)options->start, i, liana_status_name(status));
            print_pipeline(own);
            fail();
        }
    }
    assert_int_equal(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
    assert_null(element);
    assert_int_equal(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
    liana_iterator_destroy(iterator);
}

/* An endless repetition of a stream that may turn out to have no elements is said to be endless, as in tf.data. */
static bool may_repeat_nothing(const pipeline *own)
{
    bool found = false;
    for (int i = 0; i < own->num_nodes; i++) {
        const node *at = &own->nodes[i];
        if (at->kind == ENDLESS)
            found = found || liana_dataset_info(at->inputs[0]->dataset).num_examples == LIANA_UNKNOWN;
    }
    return found;
}

static void test_random_pipelines_give_what_a_model_gives(void **state)
{
    (void)state;
    static const int threads[] = {-1, 1, 2, 5};
    liana__test_folder();
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    list *expected = calloc(1, sizeof *expected);
    pipeline *own = calloc(1, sizeof *own);
    int random_access = 0;
    for (int i = 0; i < NUM_PIPELINES; i++) {
        *own = (pipeline){.context = context, .seed = (uint64_t)i};
        node *last = make_pipeline(own, 1 + (int)draw(own, MAX_STAGES));
        assert_int_equal(liana_dataset_info(last->dataset).random_access, last->random_access);
        random_access += last->random_access;
        for (uint64_t epoch = 0; epoch < 2; epoch++) {
            expected->count = 0;
            liana__test_evaluate_stage(last, 9, epoch, expected);
            int64_t length = liana_dataset_info(last->dataset).num_examples;
            bool right = length == LIANA_UNKNOWN || length == expected->count || may_repeat_nothing(own);
            if (!right) print_error("pipeline %d: length %d, not %d\n", i, (int)length, expected->count);
            if (!right) print_pipeline(own);
            assert_true(right);
            for (int k = 0; k < 4; k++) {
                /* From the beginning, and from anywhere. */
                liana_iterator_options options = {.num_threads = threads[k], .seed = 9, .epoch = epoch};
                check_run(own, last, expected, &options);
                options.start = draw(own, (uint32_t)expected->count + 1);
                check_run(own, last, expected, &options);
            }
        }
        liana_dataset_close(last->dataset);
    }
    /* Both kinds came often. */
    assert_in_range(random_access, NUM_PIPELINES / 5, NUM_PIPELINES * 4 / 5);
    free(own);
    free(expected);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_pipelines_give_what_a_model_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
