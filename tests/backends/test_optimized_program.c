/* The program of a compiler (optimized_program.c): counted by hand in small ones, and by the plugin for CPUs. */
#include "harness/harness.h"

#include "backends/pjrt/optimized_program.h"
#include "backends/pjrt/program.h"
#include "formats/hlo.pb-c.h"
#include "harness/pjrt_plugin.h"

#include <stdlib.h>
#include <string.h>

/* ---- programs by hand ---- */

/* Field by field, as XLA numbers them; nested messages have a length of one byte. */
typedef struct message {
    unsigned char bytes[1024];
    size_t size;
} message;

static void add_number(message *to, int field, unsigned number)
{
    to->bytes[to->size++] = (unsigned char)(field << 3);
    if (field > 15) {
        to->bytes[to->size - 1] = (unsigned char)((field << 3 & 0x7f) | 0x80);
        to->bytes[to->size++] = (unsigned char)(field >> 4);
    }
    if (number > 127) to->bytes[to->size++] = (unsigned char)((number & 0x7f) | 0x80);
    to->bytes[to->size++] = (unsigned char)(number > 127 ? number >> 7 : number);
}

static void add_bytes(message *to, int field, const void *bytes, size_t size)
{
    to->bytes[to->size++] = (unsigned char)(field << 3 | 2);
    if (size > 127) to->bytes[to->size++] = (unsigned char)((size & 0x7f) | 0x80);
    to->bytes[to->size++] = (unsigned char)(size > 127 ? size >> 7 : size);
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static void add_message(message *to, int field, const message *from)
{
    add_bytes(to, field, from->bytes, from->size);
}

enum { PRED = 1, F32 = 11, BF16 = 16, TUPLE = 13 };

/* An array of two axes in tiles of `rows` by 128; none if rows is 0. `first` is the axis that changes fastest. */
static message array(int type, unsigned height, unsigned width, unsigned rows, unsigned first)
{
    message made = {.size = 0}, layout = {.size = 0}, tile = {.size = 0};
    add_number(&layout, 1, first);
    add_number(&layout, 1, 1 - first);
    add_number(&tile, 1, rows);
    add_number(&tile, 1, 128);
    if (rows) add_message(&layout, 6, &tile);
    add_number(&made, 2, (unsigned)type);
    add_number(&made, 3, height);
    add_number(&made, 3, width);
    add_message(&made, 5, &layout);
    return made;
}

static void add_instruction(message *computation, const char *opcode, const message *shape, int calls)
{
    message made = {.size = 0};
    add_bytes(&made, 2, opcode, strlen(opcode));
    add_message(&made, 3, shape);
    if (calls) add_number(&made, 38, (unsigned)calls);
    add_message(computation, 2, &made);
}

static void add_computation(message *module, message *computation, unsigned id)
{
    add_number(computation, 5, id);
    add_message(module, 3, computation);
}

static liana__pjrt_optimized count(message *module, unsigned entry)
{
    liana__error error = {0};
    liana__pjrt_optimized counted;
    message whole = {.size = 0};
    add_number(module, 6, entry);
    add_message(&whole, 1, module);
    assert_ok(liana__pjrt_optimized_count(whole.bytes, whole.size, &counted, &error), &error);
    assert_true(counted.is_known);
    return counted;
}

static void test_bytes_with_padding(void **state)
{
    (void)state;
    const struct {
        message shape;
        int64_t written, plain;
    } cases[] = {
        {array(F32, 8, 128, 8, 1), 4096, 4096},
        {array(F32, 9, 129, 8, 1), 16 * 256 * 4, 9 * 129 * 4},
        {array(F32, 9, 129, 8, 0), 16 * 136 * 128 / 16 * 4, 9 * 129 * 4}, /* 136 rows of 129, 128 columns of 9 */
        {array(BF16, 9, 129, 16, 1), 16 * 256 * 2, 9 * 129 * 2},
        {array(PRED, 9, 129, 32, 1), 32 * 256, 9 * 129},
        {array(F32, 9, 129, 0, 1), 9 * 129 * 4, 9 * 129 * 4}, /* no tiles */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        message module = {.size = 0}, computation = {.size = 0};
        add_instruction(&computation, "add", &cases[i].shape, 0);
        add_computation(&module, &computation, 1);
        const liana__pjrt_optimized counted = count(&module, 1);
        if (counted.written != (double)cases[i].written ||
            counted.padding != (double)(cases[i].written - cases[i].plain)) {
            fail_msg("case %zu: %.0f bytes, %.0f of padding; expected %lld, %lld", i, counted.written, counted.padding,
                     (long long)cases[i].written, (long long)(cases[i].written - cases[i].plain));
        }
    }
}

/* An entry (1) with a loop (body 2, condition 3), a fused product (4) and a fused copy (5). */
static void test_steps(void **state)
{
    (void)state;
    const message small = array(F32, 8, 128, 8, 1), large = array(F32, 16, 128, 8, 1);
    message entry = {.size = 0}, body = {.size = 0}, condition = {.size = 0}, product = {.size = 0}, copy = {.size = 0};
    message module = {.size = 0}, pair = {.size = 0};
    add_number(&pair, 2, TUPLE);
    add_message(&pair, 4, &small);
    add_message(&pair, 4, &large);
    add_instruction(&entry, "parameter", &large, 0);
    add_instruction(&entry, "while", &pair, 2);
    add_instruction(&entry, "fusion", &pair, 4); /* a step: 12 KiB, a product */
    add_instruction(&entry, "get-tuple-element", &small, 0);
    add_instruction(&entry, "all-reduce-start", &large, 0);
    add_instruction(&entry, "all-reduce-done", &large, 0); /* a step: 8 KiB over devices */
    add_instruction(&entry, "copy-start", &pair, 0);
    add_instruction(&entry, "copy-done", &large, 0); /* a step that writes nothing new */
    add_instruction(&body, "fusion", &small, 5);     /* a step that copies: 4 KiB */
    add_instruction(&body, "copy", &large, 0);       /* the same: 8 KiB */
    add_instruction(&condition, "compare", &small, 0);
    add_instruction(&product, "parameter", &large, 0);
    add_instruction(&product, "convolution", &small, 0);
    add_instruction(&copy, "transpose", &small, 0);
    add_instruction(&copy, "bitcast", &small, 0);
    add_computation(&module, &body, 2);
    add_computation(&module, &condition, 3);
    add_computation(&module, &product, 4);
    add_computation(&module, &copy, 5);
    add_computation(&module, &entry, 1);
    const liana__pjrt_optimized counted = count(&module, 1);
    assert_int_equal(counted.loops, 1);
    assert_int_equal(counted.steps, 5); /* the condition is not called here */
    assert_int_equal(counted.fused, 2);
    assert_int_equal(counted.products, 1);
    assert_int_equal(counted.copies, 2);
    assert_compare(counted.copied, ==, 12 << 10);
    assert_int_equal(counted.device_sums, 1);
    assert_compare(counted.device_bytes, ==, 8 << 10);
    assert_compare(counted.written, ==, 32 << 10);
    assert_compare(counted.padding, ==, 0);
}

static void test_bytes_that_are_no_program(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__pjrt_optimized counted;
    assert_int_equal(liana__pjrt_optimized_count("\x0a\x7f no module", 12, &counted, &error), LIANA_INVALID_DATA);
    assert_says(error.message, "the 12 bytes of an optimised program cannot be read");
    assert_int_equal(liana__pjrt_optimized_count("", 0, &counted, &error), LIANA_INVALID_DATA);
    assert_false(counted.is_known);
}

/* ---- the plugin for CPUs ---- */

static liana__pjrt_optimized compile(const char *text)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__pjrt_client *client;
    liana__pjrt_program *program;
    liana__pjrt_device_name name;
    liana__pjrt_optimized counted;
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_ok(liana__pjrt_device_name_read(liana__test_plugin_device(""), &arena, &name, &error), &error);
    assert_ok(liana__pjrt_client_open(context, name.path, &name, &client, &error), &error);
    assert_ok(liana__pjrt_program_make(client, text, strlen(text), &(liana__pjrt_compile_options){0}, &program, &error),
              &error);
    liana__pjrt_pointer_args args = {.object = program->handle};
    assert_ok(liana__pjrt_call(&client->plugin, LIANA__PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE, &args, &error), &error);
    assert_ok(liana__pjrt_optimized_read(&client->plugin, args.pointer, &counted, &error), &error);
    liana__pjrt_destroy(&client->plugin, LIANA__PJRT_EXECUTABLE_DESTROY, args.pointer);
    liana__pjrt_program_drop(program);
    liana__pjrt_client_close(client);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return counted;
}

/* Products of 64 x 64, each with a sum behind it. */
static void write_products(int count, char *text, size_t size)
{
    int used = snprintf(text, size,
                        "module @m { func.func public @main(%%x0: tensor<64x64xf32>, %%w: tensor<64x64xf32>) -> "
                        "(tensor<64x64xf32>) {\n");
    for (int i = 0; i < count; i++) {
        used += snprintf(text + used, size - (size_t)used,
                         "  %%p%d = stablehlo.dot_general %%x%d, %%w, contracting_dims = [1] x [0] : "
                         "(tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>\n"
                         "  %%x%d = stablehlo.add %%p%d, %%w : tensor<64x64xf32>\n",
                         i, i, i + 1, i);
    }
    snprintf(text + used, size - (size_t)used, "  return %%x%d : tensor<64x64xf32> } }", count);
}

static void test_the_plugin_for_cpus(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    char text[2048];
    liana__pjrt_optimized counted[2];
    for (int i = 0; i < 2; i++) {
        write_products(2 + i, text, sizeof text);
        counted[i] = compile(text);
        assert_true(counted[i].is_known);
        assert_int_equal(counted[i].products, 2 + i);
        assert_compare(counted[i].padding, ==, 0, i); /* a CPU has no tiles */
        assert_int_equal(counted[i].device_sums, 0);
        assert_compare(counted[i].steps, >=, 2 + i, i);
    }
    /* One more product and its sum: an array or two more, and nothing else. */
    const double more = counted[1].written - counted[0].written, array_bytes = 64 * 64 * 4;
    if (more != array_bytes) assert_compare(more, ==, 2 * array_bytes);
    liana__test_plugin_is_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_with_padding),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_bytes_that_are_no_program),
        cmocka_unit_test(test_the_plugin_for_cpus),
    };
    liana__test_folder();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
