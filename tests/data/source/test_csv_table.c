/* CSV tables: components from columns, their dtypes, vocabularies, and messages about cells that do not fit. */
#include "harness/harness.h"

#include "base/context.h"
#include "data/dataset/dataset_source.h"
#include "data/loader/loader.h"
#include "data/source/source_open.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/tfrecord.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

static liana_context *make_context(void)
{
    liana_context *context;
    assert_ok(liana_context_create(NULL, &context), NULL);
    return context;
}

static const char *write_text(const char *name, const char *text)
{
    return liana__test_write(name, text, strlen(text));
}

static liana_dataset *open_text(liana_context *context, const char *text, const char *columns)
{
    liana_dataset *dataset =
        liana_dataset_csv(context, write_text("t.csv", text), &(liana_dataset_options){.columns = columns});
    if (!dataset) fail_msg("%s", liana_context_message(context));
    return dataset;
}

static void refuse_text(liana_context *context, const char *text, const char *columns, liana_status status,
                        const char *first, const char *second)
{
    liana_dataset *dataset =
        liana_dataset_csv(context, write_text("t.csv", text), &(liana_dataset_options){.columns = columns});
    assert_null(dataset);
    assert_fails(context->error.status, status, &context->error, first, second);
}

/* "name dtype shape; ..." */
static void check_components(const liana_dataset *dataset, const char *expected)
{
    const liana_component *components = liana_dataset_info(dataset).components;
    size_t count = liana_dataset_info(dataset).num_components;
    char text[1000] = "";
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s %s", i ? "; " : "", components[i].name,
                 liana__component_describe(&components[i]).text);
    }
    assert_string_equal(text, expected);
}

/* Goes to row `index` of an iterator that begins there. */
static const liana_element *row_of(liana_dataset *dataset, int64_t index, liana_iterator **iterator)
{
    const liana_element *element;
    assert_ok(liana_iterator_create(dataset, NULL, iterator), &dataset->context->error);
    for (int64_t i = 0; i <= index; i++) {
        assert_ok(liana_iterator_next(*iterator, &element), &dataset->context->error);
    }
    return element;
}

static void test_detected(void **state)
{
    (void)state;
    liana_context *context = make_context();
    liana_dataset *dataset = open_text(context,
                                       "rooms,area,city,note,id\n"
                                       "3,70.5,Rome,\"a, b\",h1\n"
                                       "-4,1e2,Bonn,,h2\n",
                                       NULL);
    check_components(dataset, "id string []; rooms s64 []; area f32 []; city string []; note string []");
    assert_int_equal(liana_dataset_info(dataset).num_examples, 2);
    assert_true(liana_dataset_info(dataset).random_access);
    liana_iterator *iterator;
    const liana_element *row = row_of(dataset, 1, &iterator);
    assert_int_equal(*(const int64_t *)liana_element_array(row, "rooms").data, -4);
    assert_compare(*(const float *)liana_element_array(row, "area").data, ==, 100);
    liana_bytes city = liana_element_string(row, "city", 0), note = liana_element_string(row, "note", 0);
    assert_int_equal(city.size, 4);
    assert_memory_equal(city.data, "Bonn", 4);
    assert_int_equal(note.size, 0);
    assert_memory_equal(liana_element_string(row, "id", 0).data, "h2", 2);
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

/* Without a line of names, columns have numbers; with tabs; a label column that holds classes, or numbers to
 * predict. */
static void test_headers_and_labels(void **state)
{
    (void)state;
    liana_context *context = make_context();
    liana_dataset *dataset = open_text(context, "1,2.5\n3,4\n", "{x: ['1', '0'], y: '0'}");
    check_components(dataset, "id string []; x f32 [2]; y s64 []");
    liana_iterator *iterator;
    const liana_element *row = row_of(dataset, 0, &iterator);
    const float *x = liana_element_array(row, "x").data;
    assert_compare(x[0], ==, 2.5f);
    assert_compare(x[1], ==, 1);
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);

    const char *path = write_text("t.tsv", "a\tlabel\n1\tpear\n2\tfig\n3\tpear\n");
    dataset = liana_dataset_csv(context, path, NULL);
    assert_non_null(dataset);
    check_components(dataset, "label s64 []; id string []; a s64 []");
    row = row_of(dataset, 0, &iterator);
    assert_int_equal(*(const int64_t *)liana_element_array(row, "label").data, 1); /* fig, pear */
    liana_iterator_destroy(iterator);
    int64_t num_classes;
    assert_ok(liana_dataset_count_classes(dataset, &num_classes), &context->error);
    assert_int_equal(num_classes, 2);
    /* Later data have the same numbers. */
    liana_dataset *later = liana_dataset_csv(context, write_text("v.tsv", "a\tlabel\n1\tpear\n"),
                                             &(liana_dataset_options){.classes_of = dataset});
    assert_non_null(later);
    row = row_of(later, 0, &iterator);
    assert_int_equal(*(const int64_t *)liana_element_array(row, "label").data, 1);
    liana_iterator_destroy(iterator);
    liana_dataset_close(later);
    liana_dataset_close(dataset);

    dataset = open_text(context, "a,target\n1,0.5\n2,3\n", NULL);
    check_components(dataset, "id string []; a s64 []; target f32 []");
    liana_dataset_close(dataset);
    dataset = liana_dataset_csv(context, write_text("t.csv", "a,b\nc,d\n"),
                                &(liana_dataset_options){.header = LIANA_HEADER_NO});
    check_components(dataset, "id string []; 0 string []; 1 string []");
    assert_int_equal(liana_dataset_info(dataset).num_examples, 2);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

static void test_categories(void **state)
{
    (void)state;
    liana_context *context = make_context();
    const char *columns = "{city: {category: true}, size: {vocabulary: [S, M, L], category: true, dtype: f32}}";
    liana_dataset *dataset = open_text(context, "city,size\nRome,M\nBonn,L\n Rome ,S\n", columns);
    check_components(dataset, "id string []; city s32 []; size f32 []");
    static const int32_t cities[] = {1, 0, 1};
    static const float sizes[] = {1, 2, 0};
    for (int i = 0; i < 3; i++) {
        liana_iterator *iterator;
        const liana_element *row = row_of(dataset, i, &iterator);
        assert_int_equal(*(const int32_t *)liana_element_array(row, "city").data, cities[i]);
        assert_compare(*(const float *)liana_element_array(row, "size").data, ==, sizes[i], i);
        liana_iterator_destroy(iterator);
    }
    /* Bonn is missing here, and keeps its number. */
    liana_dataset *later = liana_dataset_csv(context, write_text("v.csv", "size,city\nL,Rome\n"),
                                             &(liana_dataset_options){.classes_of = dataset});
    liana_iterator *iterator;
    const liana_element *row = row_of(later, 0, &iterator);
    assert_int_equal(*(const int32_t *)liana_element_array(row, "city").data, 1);
    liana_iterator_destroy(iterator);
    liana_dataset_close(later);
    assert_null(liana_dataset_csv(context, write_text("v.csv", "size,city\nL,Rom\n"),
                                  &(liana_dataset_options){.classes_of = dataset}));
    assert_fails(context->error.status, LIANA_INVALID_DATA, &context->error, "v.csv', line 2, column 'city'",
                 "'Rom' is none of the 2 names of this category; did you mean 'Rome'?");
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

/* Stacked columns, token ids, classes of which several may be true, and the value of an empty cell. */
static void test_several_values(void **state)
{
    (void)state;
    liana_context *context = make_context();
    liana_dataset *dataset = open_text(context,
                                       "a,b,words,tags,age\n"
                                       "1,2,7 8 9,0 3,20\n"
                                       "3,4.5,1 2 3 4 5,,\n"
                                       "5,6,,2,30\n",
                                       "{rest: {from: '*'}, words: {length: 4, padding: -1, lengths: num_words},"
                                       " tags: {multi_hot: 4}, age: {missing: -1}}");
    check_components(dataset, "id string []; rest f32 [2]; words s32 [4]; num_words s32 []; tags f32 [4]; age s64 []");
    static const int32_t words[3][4] = {{7, 8, 9, -1}, {1, 2, 3, 4}, {-1, -1, -1, -1}};
    static const int32_t lengths[] = {3, 4, 0};
    static const float tags[3][4] = {{1, 0, 0, 1}, {0}, {0, 0, 1, 0}}, rest[3][2] = {{1, 2}, {3, 4.5f}, {5, 6}};
    static const int64_t ages[] = {20, -1, 30};
    for (int i = 0; i < 3; i++) {
        liana_iterator *iterator;
        const liana_element *row = row_of(dataset, i, &iterator);
        assert_memory_equal(liana_element_array(row, "words").data, words[i], sizeof words[i]);
        assert_int_equal(*(const int32_t *)liana_element_array(row, "num_words").data, lengths[i]);
        assert_memory_equal(liana_element_array(row, "tags").data, tags[i], sizeof tags[i]);
        assert_memory_equal(liana_element_array(row, "rest").data, rest[i], sizeof rest[i]);
        assert_int_equal(*(const int64_t *)liana_element_array(row, "age").data, ages[i]);
        liana_iterator_destroy(iterator);
    }
    liana_dataset_close(dataset);
    /* Words by a vocabulary; one column as a list is a dimension. */
    dataset = open_text(context, "text,a\nthe cat the,1\na cat,2\n",
                        "{text: {length: 3, category: true, padding: 9}, a: [a]}");
    check_components(dataset, "id string []; text s32 [3]; a f32 [1]");
    static const int32_t texts[2][3] = {{2, 1, 2}, {0, 1, 9}};
    for (int i = 0; i < 2; i++) {
        liana_iterator *iterator;
        const liana_element *row = row_of(dataset, i, &iterator);
        assert_memory_equal(liana_element_array(row, "text").data, texts[i], sizeof texts[i]);
        liana_iterator_destroy(iterator);
    }
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

static void test_mistakes(void **state)
{
    (void)state;
    liana_context *context = make_context();
    refuse_text(context, "a,b\n1,2\n3,\n", NULL, LIANA_INVALID_DATA, "t.csv', line 3, column 'b': the cell is empty",
                "missing: VALUE");
    refuse_text(context, "a,b\n1,2\nx,3\n", "{a: {dtype: f32}}", LIANA_INVALID_DATA,
                "t.csv', line 3, column 'a': found 'x', expected a number", "line 3");
    refuse_text(context, "a,b\n1,2\n3,nan\n", "{f: [a, b]}", LIANA_INVALID_DATA, "line 3, column 'b'", "found 'nan'");
    refuse_text(context, "a,b\n1,2\n300,3\n", "{a: {dtype: u8}}", LIANA_OUT_OF_RANGE, "line 3, column 'a'",
                "found '300', expected a number that fits u8");
    refuse_text(context, "a\n0 1\n5\n", "{a: {multi_hot: 5}}", LIANA_OUT_OF_RANGE, "line 3, column 'a'",
                "found '5', expected a class number from 0 to 4");
    refuse_text(context, "a\n1\n\"\"\n", "{a: {missing: avg}}", LIANA_INVALID_CONFIG,
                "column 'a': all its cells are numbers", "missing is 'avg', expected a number, mean or median");
    refuse_text(context, "a\n1\n", "{a: {missing: none, dtype: f32}}", LIANA_INVALID_CONFIG, "columns.a",
                "'missing' is 'none', expected a number");
    refuse_text(context, "a\nx\n", "{a: {missing: mean, category: true}}", LIANA_INVALID_CONFIG, "columns.a",
                "'missing' is the mean, which only columns of numbers have");
    refuse_text(context, "a\nx\n", "{a: {missing: median, hash_bins: 3}}", LIANA_INVALID_CONFIG, "columns.a",
                "the median, which only");
    refuse_text(context, "a\n1\n", "{a: {num_bins: 4, bin_boundaries: [1, 2]}}", LIANA_INVALID_CONFIG, "columns.a",
                "2 'bin_boundaries' make 3 bins, but 'num_bins' is 4");
    refuse_text(context, "", NULL, LIANA_INVALID_DATA, "is empty", "expected lines of cells");
    refuse_text(context, "a,b\n,\n", "{a: {missing: mean}}", LIANA_INVALID_DATA, "column 'a'", "no row has a number");
    refuse_text(context, "rooms,b\n1,2\n", "{x: roms}", LIANA_INVALID_DATA,
                "no column 'roms' for 'x'; did you mean 'rooms'?", "its first line is: rooms, b");
    refuse_text(context, "1,2\n", "{x: '2'}", LIANA_INVALID_DATA, "no column '2' for 'x'", "called 0 to 1");
    refuse_text(context, "a\n", NULL, LIANA_INVALID_DATA, "no records in it", "t.csv");
    refuse_text(context, "a,b\n1\n", NULL, LIANA_INVALID_DATA, "line 2: found 1 cells, expected 2", "t.csv");
    refuse_text(context, "a\n1\n", "{a: {length: x}}", LIANA_INVALID_CONFIG, "columns.a.length", "the text 'x'");
    refuse_text(context, "a\n1\n", "[a]", LIANA_INVALID_CONFIG, "columns: found a list of 1", "expected a mapping");
    refuse_text(context, "b0,b1,b2,b3,b4,b5,b6,b7,b8,b9,c0,c1,c2,c3,c4,c5,c6\n1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7\n",
                NULL, LIANA_INVALID_CONFIG, "more than 16 components", "features: [COLUMN, COLUMN, ...]");
    assert_null(liana_dataset_csv(context, NULL, NULL));
    assert_fails(context->error.status, LIANA_INVALID_ARGUMENT, &context->error,
                 "liana_dataset_csv: 'pattern' is NULL");
    assert_null(liana_dataset_csv(context, "not-there.csv", NULL));
    assert_fails(context->error.status, LIANA_NOT_FOUND, &context->error, "not-there.csv");
    liana_context_destroy(context);
}

/* A bad row is left out where that is allowed; other rows keep their places. */
static void test_bad_rows(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source;
    const char *path = write_text("t.csv", "a,b\n1,2\n3,\nx,5\n6,7\n");
    liana__source_options options = {.kind = "table", .skip_damage = true};
    assert_ok(liana__source_open(&path, 1, &options, &source, &error), &error);
    assert_int_equal(source->num_records, 4);
    assert_true(source->lacks_images);
    liana__bad_records bad = {0};
    const liana__wanted_component wanted[] = {{.name = "a", .dtype = LIANA_F32}, {.name = "b", .dtype = LIANA_S32}};
    liana__loader_options loading = {
        .components = wanted, .num_components = 2, .batch_size = 4, .bad_records = &bad, .num_threads = 1};
    liana__loader *loader;
    liana__batch *batch;
    assert_ok(liana__loader_create(source, &loading, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    assert_ok(liana__loader_next(loader, &batch, &error), &error);
    assert_int_equal(batch->count, 2);
    assert_int_equal(batch->records[0], 0);
    assert_int_equal(batch->records[1], 3);
    assert_compare(((float *)batch->components[0].rows)[1], ==, 6);
    assert_compare(((int32_t *)batch->components[1].rows)[1], ==, 7);
    assert_int_equal(bad.count, 2);
    assert_says(bad.items[0].reason, "line 3, column 'b'");
    assert_says(bad.items[1].reason, "line 4, column 'a'");
    liana__loader_release(loader, batch);
    liana__loader_destroy(loader);
    liana__bad_records_free(&bad);
    liana__source_close(source);
}

/* A list of images with a class, a number and several labels for each. */
static void test_images_with_columns(void **state)
{
    (void)state;
    liana_context *context = make_context();
    liana__error error = {0};
    uint8_t pixels[2 * 2];
    for (int i = 0; i < 3; i++) {
        memset(pixels, 50 * i, sizeof pixels);
        liana__text png = {0};
        char name[16];
        snprintf(name, sizeof name, "%d.png", i);
        assert_ok(liana__png_encode(pixels, 2, 2, 1, &png, &error), &error);
        liana__test_write(name, png.data, png.length);
        liana__text_free(&png);
    }
    const char *list = write_text("l.csv", "image,label,price,tags\n0.png,b,1.5,0 2\n1.png,a,2,1\n2.png,b,3,\n");
    liana_dataset *dataset;
    liana_dataset_options options = {.columns = "{price: price, tags: {multi_hot: 3, dtype: u8}}"};
    assert_ok(liana_dataset_open(context, list, &options, &dataset), &context->error);
    check_components(dataset, "image string []; label s64 []; id string []; price f32 []; tags u8 [3]");
    liana__source *source;
    assert_ok(liana__dataset_view(dataset, 0, &source, &error), &error);
    const liana__wanted_component wanted[] = {{.maker = LIANA__MAKE_IMAGE, .name = "image"},
                                              {.maker = LIANA__MAKE_LABEL, .name = "label"},
                                              {.name = "price", .dtype = LIANA_F32},
                                              {.name = "tags", .dtype = LIANA_F32, .shape = {1, {3}}}};
    liana__loader_options loading = {.components = wanted,
                                     .num_components = 4,
                                     .batch_size = 3,
                                     .image = {.height = 2, .width = 2, .channels = 1},
                                     .cache_memory = 1 << 20};
    liana__loader *loader;
    assert_ok(liana__loader_create(source, &loading, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    static const float prices[] = {1.5f, 2, 3}, tags[3][3] = {{1, 0, 1}, {0, 1, 0}, {0}};
    for (int epoch = 0; epoch < 2; epoch++) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(batch->images[4 * i], 50 * i);
            assert_int_equal(batch->labels[i], i != 1);
        }
        assert_memory_equal(batch->components[2].rows, prices, sizeof prices);
        assert_memory_equal(batch->components[3].rows, tags, sizeof tags);
        liana__loader_release(loader, batch);
    }
    liana__loader_destroy(loader);
    liana_dataset_close(dataset);
    /* Lists as before: no columns, no more components. */
    assert_ok(liana_dataset_open(context, list, NULL, &dataset), &context->error);
    check_components(dataset, "image string []; label s64 []; id string []");
    liana_dataset_close(dataset);
    /* Targets may be missing in data to predict. */
    list = write_text("p.csv", "image\n0.png\n");
    options.unlabelled = true;
    assert_ok(liana_dataset_open(context, list, &options, &dataset), &context->error);
    check_components(dataset, "image string []; id string []");
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

/* Features of tf.Examples, with and without images. */
static void test_features(void **state)
{
    (void)state;
    liana_context *context = make_context();
    liana__error error = {0};
    liana__example_builder builder = {0};
    liana__tfrecord_writer writer;
    char path[256];
    snprintf(path, sizeof path, "%s", liana__test_path("a.tfrec"));
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    for (int i = 0; i < 2; i++) {
        const int64_t words[] = {4, 5, 6}, tags[] = {0, 2};
        const float price = 1.5f * (float)i;
        const uint8_t *bytes;
        size_t size;
        liana__example_add_int64s(&builder, "words", words, i ? 3 : 1);
        liana__example_add_int64s(&builder, "tags", tags, 2);
        liana__example_add_floats(&builder, "price", &price, 1);
        liana__example_add_bytes(&builder, "city", i ? "Rome" : "Bonn", 4);
        assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    }
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    liana__example_builder_free(&builder);
    liana_dataset *dataset;
    liana_dataset_options options = {.unlabelled = true,
                                     .columns = "{words: {length: 2, padding: 9, lengths: n}, tags: {multi_hot: 3},"
                                                " price: price, town: {from: city, vocabulary: [Rome, Bonn],"
                                                " category: true}, name: city}"};
    assert_ok(liana_dataset_open(context, path, &options, &dataset), &context->error);
    check_components(dataset, "id string []; words s32 [2]; n s32 []; tags f32 [3]; price f32 []; town s32 []; "
                              "name string []");
    static const int32_t words[2][2] = {{4, 9}, {4, 5}};
    static const float tags[] = {1, 0, 1};
    for (int i = 0; i < 2; i++) {
        liana_iterator *iterator;
        const liana_element *row = row_of(dataset, i, &iterator);
        assert_memory_equal(liana_element_array(row, "words").data, words[i], sizeof words[i]);
        assert_int_equal(*(const int32_t *)liana_element_array(row, "n").data, i + 1);
        assert_memory_equal(liana_element_array(row, "tags").data, tags, sizeof tags);
        assert_compare(*(const float *)liana_element_array(row, "price").data, ==, 1.5f * (float)i, i);
        assert_int_equal(*(const int32_t *)liana_element_array(row, "town").data, !i);
        assert_memory_equal(liana_element_string(row, "name", 0).data, i ? "Rome" : "Bonn", 4);
        liana_iterator_destroy(iterator);
    }
    liana_dataset_close(dataset);
    options.columns = "{x: {from: city, category: true}}";
    assert_fails(liana_dataset_open(context, path, &options, &dataset), LIANA_INVALID_CONFIG, &context->error,
                 "data.columns.x: it has no vocabulary");
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detected),
        cmocka_unit_test(test_headers_and_labels),
        cmocka_unit_test(test_categories),
        cmocka_unit_test(test_several_values),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_bad_rows),
        cmocka_unit_test(test_images_with_columns),
        cmocka_unit_test(test_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
