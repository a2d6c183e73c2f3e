/* Random pipelines of dataset stages against a model of each stage in plain arrays: the same elements in the same order
 * from any start, for any number of threads, in another epoch. */
#include "harness/harness.h"

#include "base/random.h"
#include "data/dataset/dataset.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 600, MAX_VALUES = 16, NUM_PIPELINES = 400, MAX_NODES = 64, MAX_STAGES = 7 };

/* The results of a stage, as arrays: each element is one value, or the values of a batch. */
typedef struct item {
    int64_t values[MAX_VALUES];
    int count;
    int valid; /* of a padded batch */
    uint64_t record;
} item;

typedef struct list {
    int count;
    item items[MAX_ELEMENTS];
} list;

typedef enum kind {
    RANGE,
    SLICES,
    MAP,
    FILTER,
    FLAT_MAP,
    INTERLEAVE,
    SHUFFLE,
    REPEAT,
    ENDLESS, /* and take */
    TAKE,
    SKIP,
    SHARD,
    BATCH,
    UNBATCH,
    ZIP,
    CONCATENATE,
    TURNS, /* interleave_datasets */
    SAMPLE,
    ENUMERATE,
    CACHE,
    CACHE_FILE,
    PREFETCH,
} kind;

typedef struct node {
    kind kind;
    int64_t a, b, c;
    struct node *inputs[2];
    bool random_access;
    bool batched;
    liana_remainder remainder;
    liana_dataset *dataset;
} node;

typedef struct pipeline {
    liana_context *context;
    uint64_t seed;
    uint32_t drawn;
    int num_nodes;
    node nodes[MAX_NODES];
} pipeline;

static uint32_t draw(pipeline *own, uint32_t below)
{
    uint32_t counter[4] = {own->drawn++}, words[4];
    liana__philox(liana__philox_make_key(own->seed, LIANA__STREAM_TEST, 1), counter, words);
    return words[0] % below;
}

/* ---- the functions of the program ---- */

static int64_t mapped(int64_t value, const liana_example_address *address)
{
    return 2 * value + (int64_t)(10 * liana_example_uniform(address, 0)) + (int64_t)(address->position % 7) * 100 +
           (int64_t)(address->record % 5) * 1000 + (int64_t)address->epoch * 10000;
}

static bool kept(int64_t value, const liana_example_address *address)
{
    return (uint64_t)(value + (int64_t)address->position + (int64_t)address->epoch) % 3 != 0;
}

static int64_t number_of(const liana_element *element, const char *name)
{
    return *(const int64_t *)liana_element_array(element, name).data;
}

static liana_status map_value(void *user, const liana_example_address *address, const liana_element *input,
                              liana_element *output)
{
    (void)user;
    *(int64_t *)liana_element_output(output, "value") = mapped(number_of(input, "value"), address);
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

static bool keep_value(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    return kept(number_of(element, "value"), address);
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

/* ---- the model ---- */

static void evaluate(const node *own, uint64_t seed, uint64_t epoch, list *out);

static list *evaluate_input(const node *own, int input, uint64_t seed, uint64_t epoch)
{
    list *made = calloc(1, sizeof *made);
    evaluate(own->inputs[input], seed, epoch, made);
    return made;
}

static void append(list *out, const item *one)
{
    assert_compare(out->count, <, MAX_ELEMENTS);
    out->items[out->count++] = *one;
}

static void append_value(list *out, int64_t value, uint64_t record)
{
    append(out, &(item){.values = {value}, .count = 1, .valid = 1, .record = record});
}

/* Element by element: each in turn from the sub-lists of at most `cycle` items of the input. */
static void interleave_lists(const list *in, int cycle, int block, list *out)
{
    struct {
        bool open;
        int64_t next, end;
        uint64_t record;
    } places[8] = {0};
    int fed = 0, open = 0, at = 0, given = 0;
    while (fed < in->count || open > 0) {
        if (!places[at].open) {
            if (fed == in->count) {
                at = (at + 1) % cycle;
                given = 0;
                continue;
            }
            int64_t value = in->items[fed].values[0];
            places[at].open = true;
            places[at].next = value;
            places[at].end = value + (int64_t)((uint64_t)value % 4);
            places[at].record = in->items[fed++].record;
            open++;
        }
        if (places[at].next == places[at].end) {
            places[at].open = false;
            open--;
            at = (at + 1) % cycle;
            given = 0;
            continue;
        }
        append_value(out, places[at].next++, places[at].record);
        if (++given == block) {
            /* An element of the block's size is followed by the next place, whether this one has more or not. */
            at = (at + 1) % cycle;
            given = 0;
        }
    }
}

static void shuffle_list(const node *own, const list *in, uint64_t epoch, list *out)
{
    uint64_t seed = (uint64_t)own->a, count = (uint64_t)in->count;
    if (own->c) epoch = 0;
    if (own->inputs[0]->random_access) {
        for (uint64_t i = 0; i < count; i++) append(out, &in->items[liana__permute(seed, epoch, i, count)]);
        return;
    }
    list *buffer = calloc(1, sizeof *buffer);
    int taken = 0;
    for (uint64_t i = 0;; i++) {
        while (buffer->count < own->b && taken < in->count) append(buffer, &in->items[taken++]);
        if (buffer->count == 0) break;
        int chosen = (int)(liana__draw_for(seed, epoch, i, LIANA__SALT_SHUFFLE) % (uint64_t)buffer->count);
        append(out, &buffer->items[chosen]);
        buffer->items[chosen] = buffer->items[--buffer->count];
    }
    free(buffer);
}

static void batch_list(const node *own, const list *in, list *out)
{
    for (int start = 0; start < in->count; start += (int)own->a) {
        item one = {.record = in->items[start].record};
        while (one.count < own->a && start + one.count < in->count) {
            one.values[one.count] = in->items[start + one.count].values[0];
            one.count++;
        }
        one.valid = one.count;
        if (one.count < own->a && own->remainder == LIANA_REMAINDER_DROP) break;
        if (own->remainder == LIANA_REMAINDER_PAD) one.count = (int)own->a;
        append(out, &one);
    }
}

/* Two lists in turn, `block` items of each; one that has ended is passed over, and another cycle has only one place. */
static void take_turns(const node *own, const list *const lists[2], list *out)
{
    int taken[2] = {0}, block = (int)own->b;
    bool ended[2] = {false, false};
    if (own->a == 1) { /* a cycle of 1 */
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < lists[k]->count; i++) append(out, &lists[k]->items[i]);
        }
        return;
    }
    for (int turn = 0; !ended[0] || !ended[1]; turn = 1 - turn) {
        for (int i = 0; i < block && !ended[turn]; i++) {
            ended[turn] = taken[turn] == lists[turn]->count;
            if (!ended[turn]) append(out, &lists[turn]->items[taken[turn]++]);
        }
    }
}

static void sample_lists(const node *own, const list *const lists[2], uint64_t epoch, list *out)
{
    double weights[2] = {(double)own->b, (double)own->c};
    int taken[2] = {0};
    bool ended[2] = {false, false};
    for (;;) {
        double total = (ended[0] ? 0 : weights[0]) + (ended[1] ? 0 : weights[1]);
        if (total == 0) return;
        uint64_t word = liana__draw_for((uint64_t)own->a, epoch, (uint64_t)out->count, LIANA__SALT_SAMPLE);
        double point = (double)(word >> 11) / 9007199254740992.0 * total;
        int chosen = ended[0] || (!ended[1] && point >= weights[0]) ? 1 : 0;
        if (taken[chosen] < lists[chosen]->count) {
            append(out, &lists[chosen]->items[taken[chosen]++]);
        } else if (own->remainder) { /* stop when one is empty */
            return;
        } else {
            ended[chosen] = true;
        }
    }
}

static void evaluate_pair(const node *own, uint64_t seed, uint64_t epoch, list *out)
{
    list *a = evaluate_input(own, 0, seed, epoch);
    list *b = evaluate_input(own, 1, liana__seed_of_input(seed, 1), epoch);
    if (own->kind == ZIP) {
        for (int i = 0; i < a->count && i < b->count; i++) {
            append_value(out, a->items[i].values[0] + 3 * b->items[i].values[0], a->items[i].record);
        }
    } else if (own->kind == CONCATENATE) {
        for (int i = 0; i < a->count; i++) append(out, &a->items[i]);
        for (int i = 0; i < b->count; i++) append(out, &b->items[i]);
    } else if (own->kind == TURNS) {
        take_turns(own, (const list *const[]){a, b}, out);
    } else {
        sample_lists(own, (const list *const[]){a, b}, epoch, out);
    }
    free(a);
    free(b);
}

static void evaluate_repeat(const node *own, uint64_t seed, uint64_t epoch, list *out)
{
    bool endless = own->kind == ENDLESS;
    for (uint64_t pass = 0; endless ? out->count < own->a : (int64_t)pass < own->a; pass++) {
        list *in = evaluate_input(own, 0, seed, endless ? epoch + pass : epoch * (uint64_t)own->a + pass);
        for (int i = 0; i < in->count && (!endless || out->count < own->a); i++) append(out, &in->items[i]);
        bool empty = in->count == 0;
        free(in);
        if (empty) return;
    }
}

static void evaluate_each(const node *own, const list *in, uint64_t seed, uint64_t epoch, list *out)
{
    for (int i = 0; i < in->count; i++) {
        const item *one = &in->items[i];
        liana_example_address address = {seed, epoch, (uint64_t)i, one->record};
        switch (own->kind) {
        case MAP: append_value(out, mapped(one->values[0], &address), one->record); break;
        case ENUMERATE: append_value(out, one->values[0] + 3 * (own->a + i), one->record); break;
        case FILTER:
            if (kept(one->values[0], &address)) append(out, one);
            break;
        case TAKE:
            if (i < own->a) append(out, one);
            break;
        case SKIP:
            if (i >= own->a) append(out, one);
            break;
        case SHARD:
            if (i % own->a == own->b) append(out, one);
            break;
        case UNBATCH:
            for (int k = 0; k < one->count; k++) append_value(out, one->values[k], one->record);
            break;
        default: append(out, one);
        }
    }
}

static void evaluate(const node *own, uint64_t seed, uint64_t epoch, list *out)
{
    if (own->kind == RANGE || own->kind == SLICES) {
        for (int64_t i = 0; i < own->b; i++) append_value(out, own->a + i * own->c, (uint64_t)i);
        return;
    }
    if (own->inputs[1]) {
        evaluate_pair(own, seed, epoch, out);
        return;
    }
    if (own->kind == REPEAT || own->kind == ENDLESS) {
        evaluate_repeat(own, seed, epoch, out);
        return;
    }
    bool cached = own->kind == CACHE || own->kind == CACHE_FILE;
    list *in = cached ? evaluate_input(own, 0, 0, 0) : evaluate_input(own, 0, seed, epoch);
    if (own->kind == FLAT_MAP) interleave_lists(in, 1, 1, out);
    if (own->kind == INTERLEAVE) interleave_lists(in, (int)own->a, (int)own->b, out);
    if (own->kind == SHUFFLE) shuffle_list(own, in, epoch, out);
    if (own->kind == BATCH) batch_list(own, in, out);
    bool done = own->kind == FLAT_MAP || own->kind == INTERLEAVE || own->kind == SHUFFLE || own->kind == BATCH;
    if (!done) evaluate_each(own, in, seed, epoch, out);
    free(in);
}

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
    node made = {.kind = draw(own, 2) ? RANGE : SLICES, .random_access = true};
    made.a = draw(own, 20);
    made.b = draw(own, 25);
    made.c = 1 + draw(own, 3);
    if (made.kind == RANGE) {
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
    made.random_access = input->random_access && other->random_access && wanted != SAMPLE;
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

static node *add_stage(pipeline *own, node *input, bool last)
{
    static const kind choices[] = {SHUFFLE, REPEAT, ENDLESS, TAKE, SKIP, SHARD, CACHE, CACHE_FILE, PREFETCH};
    static const kind others[] = {MAP,       MAP, FILTER,      FLAT_MAP, INTERLEAVE, BATCH,
                                  ENUMERATE, ZIP, CONCATENATE, TURNS,    SAMPLE};
    node made = {.inputs = {input}, .random_access = input->random_access};
    liana_dataset *data = input->dataset;
    if (input->batched && draw(own, 2) && input->remainder != LIANA_REMAINDER_PAD) {
        made.kind = UNBATCH;
        made.random_access = input->random_access && input->remainder == LIANA_REMAINDER_DROP;
        made.dataset = liana_dataset_unbatch(data);
        return add_node(own, made);
    }
    if (input->batched || draw(own, 2)) return add_choice(own, input, choices[draw(own, 9)]);
    made.kind = others[draw(own, 11)];
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
    default: return add_pair(own, input, made.kind);
    }
    return add_node(own, made);
}

static int length_of(const node *own)
{
    list *all = calloc(1, sizeof *all);
    evaluate(own, 0, 0, all);
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
            evaluate(last, 9, epoch, expected);
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
