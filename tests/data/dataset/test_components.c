/* Batches of named components: their values, their dtypes, and messages about data that do not fit. */
#include "harness/harness.h"

#include "data/dataset/dataset_source.h"
#include "data/loader/loader.h"
#include "data/source/cast.h"

#include <liana/liana.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- conversions ---- */

typedef struct cast_case {
    liana_dtype from, to;
    double value; /* given as a double, converted to `from` by C */
    bool fits;
    double expected;
} cast_case;

static void store(liana_dtype dtype, double value, void *to)
{
    switch (dtype) {
    case LIANA_F32: *(float *)to = (float)value; break;
    case LIANA_F64: *(double *)to = value; break;
    case LIANA_S32: *(int32_t *)to = (int32_t)value; break;
    case LIANA_S64: *(int64_t *)to = (int64_t)value; break;
    case LIANA_U8: *(uint8_t *)to = (uint8_t)value; break;
    case LIANA_U32: *(uint32_t *)to = (uint32_t)value; break;
    case LIANA_U64: *(uint64_t *)to = (uint64_t)value; break;
    case LIANA_BOOL: *(uint8_t *)to = value != 0; break;
    default: fail();
    }
}

static double fetch(liana_dtype dtype, const void *from)
{
    switch (dtype) {
    case LIANA_F32: return (double)*(const float *)from;
    case LIANA_BF16: {
        uint32_t bits = (uint32_t) * (const uint16_t *)from << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    case LIANA_F64: return *(const double *)from;
    case LIANA_S32: return *(const int32_t *)from;
    case LIANA_S64: return (double)*(const int64_t *)from;
    case LIANA_U8:
    case LIANA_BOOL: return *(const uint8_t *)from;
    case LIANA_U32: return *(const uint32_t *)from;
    default: return (double)*(const uint64_t *)from;
    }
}

static void test_casts(void **state)
{
    (void)state;
    static const cast_case cases[] = {
        {LIANA_F32, LIANA_S32, 3, true, 3},
        {LIANA_F32, LIANA_S32, 3.5, false, 0},
        {LIANA_F32, LIANA_S32, 0x1p31, false, 0},
        {LIANA_F32, LIANA_S32, -0x1p31, true, -0x1p31},
        {LIANA_F64, LIANA_S64, 0x1p63, false, 0},
        {LIANA_F64, LIANA_U64, 0x1p63, true, 0x1p63},
        {LIANA_F64, LIANA_U64, 0x1p64, false, 0},
        {LIANA_F64, LIANA_U8, -1, false, 0},
        {LIANA_F64, LIANA_F32, 1e300, false, 0},
        {LIANA_F64, LIANA_F32, 0.1, true, 0.1f},
        {LIANA_F64, LIANA_BF16, 1.00390625, true, 1}, /* half way between two bf16: to the even one */
        {LIANA_F64, LIANA_BF16, 1.01171875, true, 1.015625},
        {LIANA_S64, LIANA_F32, 16777216, true, 16777216},
        {LIANA_S64, LIANA_F32, 16777217, false, 0},
        {LIANA_S64, LIANA_F32, 16777218, true, 16777218},
        {LIANA_S64, LIANA_F64, 16777217, true, 16777217},
        {LIANA_S64, LIANA_BF16, 257, false, 0},
        {LIANA_S64, LIANA_BF16, 256, true, 256},
        {LIANA_S64, LIANA_S32, 0x1p31, false, 0},
        {LIANA_S64, LIANA_U8, 255, true, 255},
        {LIANA_S64, LIANA_U8, 256, false, 0},
        {LIANA_U64, LIANA_S64, 0x1p63, false, 0},
        {LIANA_U64, LIANA_F32, 0x1p63, true, 0x1p63},
        {LIANA_U32, LIANA_S32, 0x1p31, false, 0},
        {LIANA_S32, LIANA_BOOL, 1, true, 1},
        {LIANA_S32, LIANA_BOOL, 2, false, 0},
        {LIANA_BOOL, LIANA_F32, 1, true, 1},
        {LIANA_U8, LIANA_S64, 200, true, 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cast_case *one = &cases[i];
        double from = 0, to = 0;
        store(one->from, one->value, &from);
        int64_t bad = liana__cast_values(one->from, &from, one->to, &to, 1);
        if ((bad < 0) != one->fits || (one->fits && fetch(one->to, &to) != one->expected)) {
            fail_msg("%s %g to %s: fits %d, value %g", liana_dtype_name(one->from), one->value,
                     liana_dtype_name(one->to), bad < 0, fetch(one->to, &to));
        }
    }
    float values[3] = {1, NAN, 2}, narrow[3];
    int32_t whole[3];
    assert_int_equal(liana__cast_values(LIANA_F32, values, LIANA_S32, whole, 3), 1);
    assert_int_equal(liana__cast_values(LIANA_F32, values, LIANA_F32, narrow, 3), -1);
    assert_memory_equal(values, narrow, sizeof values);
}

/* ---- batches ---- */

enum { COUNT = 53, BATCH = 8 };

typedef struct table {
    float features[COUNT][3];
    double price[COUNT];
    int64_t words[COUNT][2][2];
    uint8_t flag[COUNT];
} table;

static void fill(table *made)
{
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < 3; k++) made->features[i][k] = (float)i + 0.25f * (float)k;
        for (int k = 0; k < 4; k++) made->words[i][k / 2][k % 2] = 100 * i + k;
        made->price[i] = i * 1.5;
        made->flag[i] = i % 3 == 0;
    }
}

static liana_dataset *open_table(liana_context *context, const table *values)
{
    const liana_array arrays[] = {
        {"features", LIANA_F32, liana_shape_of(COUNT, 3), values->features},
        {"price", LIANA_F64, liana_shape_of(COUNT), values->price},
        {"words", LIANA_S64, liana_shape_of(COUNT, 2, 2), values->words},
        {"flag", LIANA_BOOL, liana_shape_of(COUNT), values->flag},
    };
    return liana_dataset_from_tensor_slices(context, arrays, 4);
}

static const liana__wanted_component WANTED[] = {
    {.name = "x", .from = "features", .dtype = LIANA_F32, .shape = {1, {3}}},
    {.name = "price", .dtype = LIANA_F32, .shape = {1, {1}}}, /* [] in the data */
    {.name = "words", .dtype = LIANA_S32, .shape = {2, {2, 2}}},
    {.name = "flag", .dtype = LIANA_U8},
};
enum { NUM_WANTED = 4 };

static void check_rows(const liana__batch *batch, const table *values)
{
    assert_int_equal(batch->num_components, NUM_WANTED);
    assert_null(batch->images);
    assert_null(batch->labels);
    for (size_t k = 0; k < NUM_WANTED; k++) {
        assert_string_equal(batch->components[k].name, WANTED[k].name);
        assert_int_equal((uintptr_t)batch->components[k].rows % LIANA__ALIGNMENT, 0);
    }
    for (int64_t i = 0; i < batch->count; i++) {
        uint64_t record = batch->records[i];
        assert_memory_equal((const float *)batch->components[0].rows + 3 * i, values->features[record],
                            3 * sizeof(float));
        assert_compare(((const float *)batch->components[1].rows)[i], ==, (float)values->price[record], i);
        for (int k = 0; k < 4; k++) {
            assert_int_equal(((const int32_t *)batch->components[2].rows)[4 * i + k], 100 * (int)record + k);
        }
        assert_int_equal(((const uint8_t *)batch->components[3].rows)[i], values->flag[record]);
    }
}

/* Every example of an epoch comes once, with its values; on any number of threads, from any step. */
static void test_values(void **state)
{
    (void)state;
    liana_context *context;
    assert_ok(liana_context_create(NULL, &context), NULL);
    static table values;
    fill(&values);
    liana_dataset *dataset = open_table(context, &values);
    assert_non_null(dataset);
    liana__error error = {0};
    liana__source *source;
    assert_ok(liana__dataset_view_values(dataset, 0, &source, &error), &error);
    uint64_t order[2][2][COUNT];
    for (int run = 0; run < 2; run++) {
        liana__loader_options options = {.components = WANTED,
                                         .num_components = NUM_WANTED,
                                         .batch_size = BATCH,
                                         .shuffle = true,
                                         .seed = 3,
                                         .num_threads = run ? 3 : 1};
        liana__loader *loader;
        assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
        assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
        for (int epoch = 0; epoch < 2; epoch++) {
            int seen[COUNT] = {0}, at = 0;
            for (int step = 0; step < (COUNT + BATCH - 1) / BATCH; step++) {
                liana__batch *batch;
                assert_ok(liana__loader_next(loader, &batch, &error), &error);
                check_rows(batch, &values);
                for (int64_t i = 0; i < batch->count; i++) {
                    seen[batch->records[i]]++;
                    order[run][epoch][at++] = batch->records[i];
                }
                liana__loader_release(loader, batch);
            }
            for (int i = 0; i < COUNT; i++) assert_int_equal(seen[i], 1);
        }
        assert_ok(liana__loader_begin(loader, 1, 3, &error), &error);
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        for (int64_t i = 0; i < batch->count; i++) {
            assert_compare(batch->records[i], ==, order[run][1][3 * BATCH + i], run, i);
        }
        liana__loader_release(loader, batch);
        liana__loader_destroy(loader);
    }
    assert_memory_equal(order[0], order[1], sizeof order[0]);
    assert_memory_not_equal(order[0][0], order[0][1], sizeof order[0][0]);
    liana__dataset_close_view(source);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

/* A value that does not fit is an error of its record, or leaves a gap. */
static void test_bad_values(void **state)
{
    (void)state;
    liana_context *context;
    assert_ok(liana_context_create(NULL, &context), NULL);
    static table values;
    fill(&values);
    values.words[17][1][0] = (int64_t)1 << 40;
    liana_dataset *dataset = open_table(context, &values);
    liana__error error = {0};
    liana__source *source;
    liana__batch *batch;
    assert_ok(liana__dataset_view_values(dataset, 0, &source, &error), &error);
    liana__loader_options options = {.components = WANTED, .num_components = NUM_WANTED, .batch_size = COUNT};
    liana__loader *loader;
    assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    assert_fails(liana__loader_next(loader, &batch, &error), LIANA_OUT_OF_RANGE, &error, "from_tensor_slices",
                 "record 17", "value 2 of the component 'words'", "1099511627776", "s32 cannot hold");
    liana__loader_destroy(loader);

    liana__bad_records bad = {0};
    options.bad_records = &bad;
    assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    assert_ok(liana__loader_next(loader, &batch, &error), &error);
    assert_int_equal(batch->count, COUNT - 1);
    assert_int_equal(batch->num_positions, COUNT);
    check_rows(batch, &values);
    for (int64_t i = 0; i < batch->count; i++) assert_int_equal(batch->records[i], i + (i >= 17));
    assert_int_equal(bad.count, 1);
    assert_int_equal(bad.items[0].record, 17);
    liana__loader_release(loader, batch);
    liana__loader_destroy(loader);
    liana__bad_records_free(&bad);
    liana__dataset_close_view(source);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

static void check_refused(const liana__source *source, const liana__wanted_component *wanted, size_t count,
                          const char *text, const char *other)
{
    liana__error error = {0};
    liana__loader *loader;
    liana__loader_options options = {.components = wanted, .num_components = count, .batch_size = 2};
    assert_fails(liana__loader_create(source, &options, &loader, &error), LIANA_INVALID_ARGUMENT, &error, text, other);
}

static void test_refused_components(void **state)
{
    (void)state;
    liana_context *context;
    assert_ok(liana_context_create(NULL, &context), NULL);
    static table values;
    fill(&values);
    liana_dataset *dataset = open_table(context, &values);
    liana__error error = {0};
    liana__source *source;
    assert_ok(liana__dataset_view_values(dataset, 0, &source, &error), &error);
    check_refused(source, &(liana__wanted_component){.name = "prise", .dtype = LIANA_F32}, 1,
                  "no component 'prise'; did you mean 'price'?", "there are: features, price, words, flag");
    check_refused(source, &(liana__wanted_component){.name = "features", .dtype = LIANA_F32, .shape = {1, {4}}}, 1,
                  "the component 'features' is f32 [3], expected f32 [4]", "change the data's or the model's shape");
    check_refused(source, &(liana__wanted_component){.name = "words", .dtype = LIANA_S32, .shape = {1, {4}}}, 1,
                  "the component 'words' is s64 [2, 2], expected s32 [4]", "'words'");
    check_refused(source, &(liana__wanted_component){.maker = LIANA__MAKE_IMAGE, .name = "image"}, 1,
                  "no component 'image'", "there are: features");
    const liana__wanted_component twice[] = {{.maker = LIANA__MAKE_LABEL, .name = "a"},
                                             {.maker = LIANA__MAKE_LABEL, .name = "b"}};
    check_refused(source, twice, 2, "'a' and 'b' are both made of the label", "expected one");
    check_refused(source, twice, LIANA_MAX_COMPONENTS + 1, "17 components", "at most 16");
    /* The view for images names the missing component. */
    liana__source *images;
    assert_fails(liana__dataset_view(dataset, 0, &images, &error), LIANA_INVALID_ARGUMENT, &error,
                 "there is no component 'image'");
    liana__dataset_close_view(source);
    liana_dataset_close(dataset);

    const liana_bytes texts[2] = {{"a", 1}, {"b", 1}};
    const liana_array array = {"name", LIANA_STRING, liana_shape_of(2), texts};
    dataset = liana_dataset_from_tensor_slices(context, &array, 1);
    assert_ok(liana__dataset_view_values(dataset, 0, &source, &error), &error);
    check_refused(source, &(liana__wanted_component){.name = "name", .dtype = LIANA_S32}, 1,
                  "the component 'name' is string [], expected numbers (s32 [])", "categories of a CSV table");
    liana__dataset_close_view(source);
    liana_dataset_close(dataset);

    dataset = liana_dataset_batch(open_table(context, &values), &(liana_batch_options){.batch_size = 5});
    assert_fails(liana__dataset_view_values(dataset, 0, &source, &error), LIANA_INVALID_ARGUMENT, &error,
                 "the component 'features' is f32 [?, 3]", "leave out liana_dataset_batch");
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

/* ---- images with values ---- */

enum { SIDE = 3, PIXELS = SIDE * SIDE };

/* The same batches with no cache, with one in memory and with one in a file, that has values too. */
static void test_cached_values(void **state)
{
    (void)state;
    enum { NUM = 10 };
    liana_context *context;
    assert_ok(liana_context_create(NULL, &context), NULL);
    uint8_t images[NUM][PIXELS];
    int64_t labels[NUM];
    float weights[NUM];
    for (int i = 0; i < NUM; i++) {
        memset(images[i], 20 * i, PIXELS);
        labels[i] = i % 4;
        weights[i] = (float)i / 8;
    }
    const liana_array arrays[] = {{"image", LIANA_U8, liana_shape_of(NUM, SIDE, SIDE, 1), images},
                                  {"label", LIANA_S64, liana_shape_of(NUM), labels},
                                  {"weight", LIANA_F32, liana_shape_of(NUM), weights}};
    const liana__wanted_component wanted[] = {
        {.name = "weight", .dtype = LIANA_F32},
        {.maker = LIANA__MAKE_IMAGE, .name = "image"},
        {.name = "float_label", .from = "label", .dtype = LIANA_F32, .shape = {1, {1}}},
        {.maker = LIANA__MAKE_LABEL, .name = "class"},
    };
    liana_dataset *dataset = liana_dataset_from_tensor_slices(context, arrays, 3);
    liana__error error = {0};
    liana__source *source;
    assert_ok(liana__dataset_view(dataset, 0, &source, &error), &error);
    const liana__image_cache_file_options file = {.folder = liana__test_folder(), .name = "x", .settings = "s"};
    for (int way = 0; way < 4; way++) {
        liana__loader_options options = {.components = wanted,
                                         .num_components = 4,
                                         .image = {.height = SIDE, .width = SIDE, .channels = 1},
                                         .batch_size = 4,
                                         .num_classes = 4,
                                         .label_offset = 0,
                                         .cache_memory = way == 1 ? 1 << 20 : 0,
                                         .cache_file = way >= 2 ? &file : NULL, /* the last one finds it filled */
                                         .num_threads = 2};
        liana__loader *loader;
        assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
        assert_int_equal(liana__image_cache_count(liana__loader_cache(loader)), way ? NUM : 0);
        assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
        for (int step = 0; step < 9; step++) {
            liana__batch *batch;
            assert_ok(liana__loader_next(loader, &batch, &error), &error);
            assert_ptr_equal(batch->images, batch->components[1].rows);
            assert_ptr_equal(batch->labels, batch->components[3].rows);
            for (int64_t i = 0; i < batch->count; i++) {
                uint64_t record = batch->records[i];
                assert_compare(((float *)batch->components[0].rows)[i], ==, weights[record], i);
                assert_memory_equal(batch->images + i * PIXELS, images[record], PIXELS);
                assert_compare(((float *)batch->components[2].rows)[i], ==, (float)labels[record], i);
                assert_int_equal(batch->labels[i], labels[record]);
            }
            liana__loader_release(loader, batch);
        }
        liana__loader_destroy(loader);
    }
    liana__dataset_close_view(source);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_casts),         cmocka_unit_test(test_values),
        cmocka_unit_test(test_bad_values),    cmocka_unit_test(test_refused_components),
        cmocka_unit_test(test_cached_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
