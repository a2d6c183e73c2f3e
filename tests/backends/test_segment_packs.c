/* Operands that kernels lay out for themselves are laid out once for all slices of a segment, in each execution. */
#include "harness/harness.h"

#include "harness/graph_run.h"

#include "backends/cpu/cpu.h"
#include "backends/host.h"
#include "ops/ops.h"

#include <stdlib.h>
#include <string.h>

/* One image is more than the weights, so that a slice may have one. */
enum {
    WORKERS = 3,
    IMAGES = 6,
    HEIGHT = 24,
    WIDTH = 20,
    CHANNELS = 32,
    NUM_WEIGHTS = 3,
    NUM_OUTPUTS = 1 + NUM_WEIGHTS
};

static liana_context *context;
static liana__device *device;

static int set_up(void **state)
{
    (void)state;
    if (liana__test_open_devices(WORKERS, &context, &device, NULL) != 0) return -1;
    context->slice_bytes = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, device, NULL);
}

/* ---- a network: convolutions of single pixels before and behind one of 3x3, dilated as only oneDNN knows ---- */

/* Where the weights come from. */
typedef enum origin {
    TRAINED, /* variables, of which there are gradients */
    KEPT,    /* variables */
    GIVEN,   /* inputs, and the images are the result */
} origin;

typedef struct network {
    liana_graph *graph;
    liana__executable *base;
    liana__cpu_executable *executable;
    liana__buffer *x_and_weights[1 + NUM_WEIGHTS], *outputs[NUM_OUTPUTS];
    size_t num_outputs;
} network;

static liana_tensor convolve(liana_tensor x, liana_tensor kernel, bool narrow)
{
    if (narrow) kernel = liana_op_cast(kernel, LIANA_BF16);
    return liana_op_relu(
        liana_op_conv2d(x, kernel, (liana_conv_options){.padding = LIANA_PADDING_SAME, .dilations = {2, 2}}));
}

static void add_gradients(network *net, liana_tensor loss, const liana_tensor *weights)
{
    static const char *const names[NUM_WEIGHTS] = {"da", "db", "dc"};
    liana_tensor gradients[NUM_WEIGHTS];
    liana_gradients(loss, weights, NUM_WEIGHTS, gradients);
    for (int i = 0; i < NUM_WEIGHTS; i++) liana_graph_output(net->graph, names[i], gradients[i]);
}

static void build_graph(network *net, bool narrow, origin from)
{
    static const char *const names[NUM_WEIGHTS] = {"a", "b", "c"};
    const liana_shape shapes[NUM_WEIGHTS] = {liana_shape_of(1, 1, CHANNELS, 48), liana_shape_of(3, 3, 48, 64),
                                             liana_shape_of(1, 1, 64, 72)};
    net->graph = liana__test_new_graph(context);
    liana_tensor x = liana_graph_input(net->graph, "x", LIANA_F32, liana_shape_of(IMAGES, HEIGHT, WIDTH, CHANNELS));
    liana_tensor weights[NUM_WEIGHTS], y = narrow ? liana_op_cast(x, LIANA_BF16) : x;
    for (int i = 0; i < NUM_WEIGHTS; i++) {
        weights[i] = from == GIVEN ? liana_graph_input(net->graph, names[i], LIANA_F32, shapes[i])
                                   : liana_graph_variable(net->graph, names[i], LIANA_F32, shapes[i]);
        y = convolve(y, weights[i], narrow);
    }
    if (narrow) y = liana_op_cast(y, LIANA_F32);
    if (from != GIVEN) y = liana_op_reduce_sum(liana_op_square(y), LIANA_ALL_AXES, false);
    liana_graph_output(net->graph, "y", y);
    if (from == TRAINED) add_gradients(net, y, weights);
}

static liana__buffer *new_buffer(const liana__node *node)
{
    liana__buffer *buffer;
    assert_ok(liana__host_buffer_create(device, node->dtype, &node->shape, &buffer, &context->error), &context->error);
    return buffer;
}

static void fill(liana__buffer *buffer, uint32_t seed)
{
    float *values = malloc(buffer->size);
    assert_non_null(values);
    for (size_t i = 0; i < buffer->size / sizeof *values; i++) {
        seed = seed * 1664525 + 1013904223;
        values[i] = (float)(int32_t)seed * 0x1p-33f;
    }
    assert_ok(liana__host_buffer_write(buffer, values, &context->error), &context->error);
    free(values);
}

static void fill_weights(network *net, uint32_t seed)
{
    for (uint32_t i = 1; i <= NUM_WEIGHTS; i++) fill(net->x_and_weights[i], seed + i);
}

static network build(bool narrow, origin from)
{
    network net = {0};
    build_graph(&net, narrow, from);
    assert_ok(liana_graph_status(net.graph), &context->error);
    assert_ok(device->backend->compile(device, net.graph, &net.base, &context->error), &context->error);
    net.executable = (liana__cpu_executable *)net.base;
    for (int i = 0; i <= NUM_WEIGHTS; i++) {
        bool is_variable = i > 0 && from != GIVEN;
        net.x_and_weights[i] = new_buffer(is_variable ? net.graph->variables[i - 1] : net.graph->inputs[i]);
    }
    fill(net.x_and_weights[0], 77);
    fill_weights(&net, 1);
    net.num_outputs = net.graph->num_outputs;
    for (size_t i = 0; i < net.num_outputs; i++) net.outputs[i] = new_buffer(net.graph->outputs[i].node);
    return net;
}

static void destroy(network *net)
{
    device->backend->executable_destroy(net->base);
    for (int i = 0; i <= NUM_WEIGHTS; i++) device->backend->buffer_destroy(net->x_and_weights[i]);
    for (size_t i = 0; i < net->num_outputs; i++) device->backend->buffer_destroy(net->outputs[i]);
    liana_graph_destroy(net->graph);
}

static void run(network *net)
{
    liana__buffer *const *inputs = net->x_and_weights, *const *variables = inputs + 1;
    assert_ok(liana__cpu_execute(net->base, 0, inputs, variables, net->outputs, &context->error), &context->error);
}

static void run_together(network *net)
{
    liana__buffer *const *inputs = net->x_and_weights, *const *variables = inputs + 1;
    assert_ok(liana__cpu_execute_together(net->base, inputs, variables, net->outputs, &context->error),
              &context->error);
}

static void expect_same(const network *a, const network *b)
{
    assert_int_equal(a->num_outputs, b->num_outputs);
    for (size_t i = 0; i < a->num_outputs; i++) {
        size_t size = a->outputs[i]->size;
        void *x = malloc(size), *y = malloc(size);
        assert_true(x);
        assert_true(y);
        assert_compare(size, ==, b->outputs[i]->size, i);
        assert_ok(device->backend->download(a->outputs[i], x, &context->error), &context->error);
        assert_ok(device->backend->download(b->outputs[i], y, &context->error), &context->error);
        assert_memory_equal(x, y, size);
        free(x);
        free(y);
    }
}

/* From now on steps pack for themselves, in each slice. */
static void pack_in_slices(network *net)
{
    for (size_t i = 0; i < net->executable->num_segments; i++) net->executable->segments[i].packs = false;
}

/* ---- kernels that are watched, and leave nothing as it was in the scratch memory ---- */

enum { MOST_WATCHED = 16 };

typedef struct watched {
    const liana__node *node;
    const liana__kernel *kernel;
    liana__kernel own;
    size_t scratch_size, num_slices;
    int num_packed, num_runs, num_given; /* calls of pack, of run, and those that got something packed */
} watched;

static watched list[MOST_WATCHED];
static int num_watched;

static watched *find(const liana__node *node)
{
    for (int i = 0; i < num_watched; i++) {
        if (list[i].node == node) return &list[i];
    }
    fail_msg("an unknown node");
    return NULL;
}

static liana_status watch_pack(const liana__call *call, void *packed)
{
    watched *own = find(call->node);
    own->num_packed++;
    memset(call->scratch, 0xa5, own->scratch_size);
    liana_status status = own->kernel->pack(call, packed);
    memset(call->scratch, 0x5a, own->scratch_size);
    return status;
}

static liana_status watch_run(const liana__call *call)
{
    watched *own = find(call->node);
    own->num_runs++;
    own->num_given += call->packed != NULL;
    memset(call->scratch, 0xa5, own->scratch_size);
    return own->kernel->run(call);
}

/* All steps of sliced segments whose kernels pack weights. */
static void watch(network *net)
{
    num_watched = 0;
    const liana__cpu_executable *executable = net->executable;
    for (size_t i = 0; i < executable->num_segments; i++) {
        const liana__cpu_segment *segment = &executable->segments[i];
        for (size_t k = segment->first_step; k < segment->end_step && segment->num_slices > 1; k++) {
            liana__cpu_step *step = &executable->steps[k];
            if (!step->kernel->pack || step->prepared.packed_size == 0) continue;
            assert_compare(num_watched, <, MOST_WATCHED);
            watched *own = &list[num_watched++];
            *own = (watched){step->node,          step->kernel, *step->kernel, executable->scratch_size,
                             segment->num_slices, .num_runs = 0};
            own->own.pack = watch_pack;
            own->own.run = watch_run;
            step->kernel = &own->own;
        }
    }
}

static void expect_packed(int executions)
{
    for (int i = 0; i < num_watched; i++) {
        assert_int_equal(list[i].num_packed, executions);
        assert_compare(list[i].num_runs, ==, executions * (int)list[i].num_slices, i);
        assert_compare(list[i].num_given, ==, list[i].num_runs, i);
    }
}

/* Our own kernels of single pixels and oneDNN's, forward and backward, where the processor has both. */
static void expect_watched(bool narrow)
{
    bool single = false, library = false, backward = false;
    for (int i = 0; i < num_watched; i++) {
        assert_int_equal(list[i].num_slices, IMAGES);
        bool onednn = strncmp(list[i].kernel->name, "onednn", 6) == 0;
        library |= onednn;
        single |= !onednn;
        backward |= list[i].node->op == &liana__op_conv2d_input_gradient;
    }
    const bool both = narrow ? context->isa == LIANA__ISA_AVX512_BF16 : context->isa >= LIANA__ISA_AVX512;
    if (both) assert_true(single && library && backward);
}

static void check_executions(bool narrow)
{
    network once = build(narrow, TRAINED), each = build(narrow, TRAINED);
    pack_in_slices(&each);
    watch(&once);
    expect_watched(narrow);
    for (int i = 1; i <= 4; i++) {
        if (i != 3) { /* the same weights are packed again as well: a shard does not know */
            fill_weights(&once, (uint32_t)i * 100);
            fill_weights(&each, (uint32_t)i * 100);
        }
        run(&once);
        run(&each);
        expect_packed(i);
        expect_same(&once, &each);
    }
    destroy(&once);
    destroy(&each);
}

static void test_packs_once_for_all_slices(void **state)
{
    (void)state;
    check_executions(false);
    check_executions(true);
}

/* Weights that are not trained are kept: nothing is left to pack. */
static void test_kept_weights_stay_so(void **state)
{
    (void)state;
    network net = build(false, KEPT);
    watch(&net);
    for (int i = 0; i < 3; i++) run(&net);
    for (int i = 0; i < num_watched; i++) {
        assert_int_equal(list[i].num_packed, 1);
        assert_compare(list[i].num_runs, ==, 3 * (int)list[i].num_slices, i);
        assert_compare(list[i].num_given, ==, list[i].num_runs, i);
    }
    assert_int_equal(net.executable->packed_size, 0);
    destroy(&net);
}

/* Behind the scratch memory of any step, as much as the greediest segment packs. */
static void test_has_memory_of_its_own(void **state)
{
    (void)state;
    network net = build(false, TRAINED);
    const liana__cpu_executable *executable = net.executable;
    size_t most = 0;
    for (size_t i = 0; i < executable->num_segments; i++) {
        const liana__cpu_segment *segment = &executable->segments[i];
        size_t sum = 0;
        for (size_t k = segment->first_step; k < segment->end_step; k++) {
            const liana__cpu_step *step = &executable->steps[k];
            if (!step->is_packed_once) continue;
            assert_true(segment->packs);
            assert_compare(segment->num_slices, >, 1);
            assert_compare(step->packed_at, >=, sum);
            assert_compare(step->packed_at % LIANA__ALIGNMENT, ==, 0);
            sum = step->packed_at + step->prepared.packed_size;
        }
        if (sum > most) most = sum;
    }
    assert_compare(executable->packed_size, >=, most);
    assert_compare(executable->packed_size, <, most + LIANA__ALIGNMENT);
    assert_int_equal(net.base->workspace_size,
                     executable->plan.workspace_size + executable->scratch_size + executable->packed_size);
    assert_compare(((const liana__cpu_device *)device)->workspace_size, >=, net.base->workspace_size);
    destroy(&net);
}

static void check_team(origin from)
{
    network together = build(false, from), each = build(false, from);
    assert_compare(together.executable->packed_size, >, 0);
    pack_in_slices(&each);
    for (uint32_t i = 0; i < 4; i++) {
        fill_weights(&together, i * 50);
        fill_weights(&each, i * 50);
        run(&each);
        (i % 2 ? run_together : run)(&together);
        expect_same(&together, &each);
    }
    assert_int_equal(together.executable->shares_work, from == GIVEN);
    destroy(&together);
    destroy(&each);
}

/* Members of a team run slices side by side and pack for themselves, where nothing is summed up; one runs the others.
 */
static void test_a_team_gives_the_same(void **state)
{
    (void)state;
    check_team(GIVEN);
    check_team(TRAINED);
}

static void test_validates(void **state)
{
    (void)state;
    context->validate = true;
    network once = build(false, TRAINED), each = build(false, TRAINED);
    pack_in_slices(&each);
    run(&once);
    run(&each);
    expect_same(&once, &each);
    context->validate = false;
    destroy(&once);
    destroy(&each);
}

/* ---- a profile of it ---- */

enum { MOST_EVENTS = 4096 };

/* Packing is an event of its node, which lies before the node's others. */
static void test_tells_a_recorder(void **state)
{
    (void)state;
    static liana__event events[MOST_EVENTS];
    network net = build(false, TRAINED);
    watch(&net);
    assert_ok(liana__recorder_create(WORKERS, MOST_EVENTS, &device->recorder, &context->error), &context->error);
    run(&net);
    size_t count = liana__recorder_take(device->recorder, 0, events, MOST_EVENTS), packed = 0;
    assert_int_equal(liana__recorder_dropped(device->recorder, 0), 0);
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind != LIANA__EVENT_PACK) continue;
        packed++;
        const watched *own = find(events[i].subject);
        assert_ptr_equal(events[i].how, &own->own);
        assert_compare(events[i].end, >=, events[i].begin, i);
        size_t runs = 0;
        for (size_t k = 0; k < count; k++) {
            if (events[k].subject != own->node || events[k].kind != LIANA__EVENT_NODE) continue;
            runs++;
            assert_compare(k, >, i);
            assert_compare(events[k].begin, >=, events[i].end, i, k);
        }
        assert_int_equal(runs, own->num_slices);
    }
    assert_int_equal(packed, num_watched);
    liana__recorder_destroy(device->recorder);
    device->recorder = NULL;
    destroy(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packs_once_for_all_slices),
        cmocka_unit_test(test_kept_weights_stay_so),
        cmocka_unit_test(test_has_memory_of_its_own),
        cmocka_unit_test(test_a_team_gives_the_same),
        cmocka_unit_test(test_validates),
        cmocka_unit_test(test_tells_a_recorder),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
