/* Ten updates with every optimizer, loss, regulariser and constraint of Keras, with every argument, here and in Keras
 * (keras_updates_check.py, which reads the names from Keras). LIANA_UPDATES is a regular expression for some cases. */
#include "harness/keras_state.h"

#include "base/file.h"
#include "harness/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LIANA_HAVE_HDF5

enum { NUM_EXAMPLES = 76, NUM_INPUTS = 6, NUM_CLASSES = 3, BATCH = 8 };

static char *read_bytes(const char *name, size_t expected)
{
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(liana__test_path(name), 1 << 20, &bytes, &size, &context->error), &context->error);
    assert_int_equal(size, expected);
    return bytes;
}

/* False: the fit was refused or failed, which is told. */
static bool train(const char *name, const char *target, char *x)
{
    char path[200];
    const bool of_classes = strcmp(target, "classes") == 0;
    const size_t size = NUM_EXAMPLES * sizeof(float) * (of_classes ? 1 : NUM_CLASSES);
    snprintf(path, sizeof path, "%s.bin", target);
    char *y = read_bytes(path, size);
    const liana_array arrays[] = {
        {.name = "x", .dtype = LIANA_F32, .shape = liana_shape_of(NUM_EXAMPLES, NUM_INPUTS), .data = x},
        {.name = "out",
         .dtype = of_classes ? LIANA_S32 : LIANA_F32,
         .shape = of_classes ? liana_shape_of(NUM_EXAMPLES) : liana_shape_of(NUM_EXAMPLES, NUM_CLASSES),
         .data = y}};
    liana_dataset *data = liana_dataset_from_tensor_slices(context, arrays, 2);
    assert_non_null(data);
    liana_model *model = NULL;
    snprintf(path, sizeof path, "%s.keras", name);
    notes[0] = 0;
    const liana_fit_options options = {.training = data, .batch_size = BATCH, .keep_order = true, .on_note = take_note};
    liana_status status = liana_model_load(context, liana__test_path(path), &model);
    if (status == LIANA_OK) status = liana_fit(model, &options);
    snprintf(path, sizeof path, "%s.liana.keras", name);
    if (status == LIANA_OK) status = liana_model_save(model, liana__test_path(path));
    if (status != LIANA_OK) print_message("%s: %s\n", name, context->error.message);
    if (model) liana_model_destroy(model);
    liana_dataset_close(data);
    free(y);
    return status == LIANA_OK;
}

static void test_ten_updates_of_everything(void **state)
{
    (void)state;
    static const char script[] = "tests/train/model/keras_updates_check.py";
    char folder[600], name[100], target[100];
    int bad = 0, count = 0;
    if (!liana__test_peer("tensorflow")) skip();
    snprintf(folder, sizeof folder, "%s", liana__test_folder());
    liana__test_run_keras(script, (const char *const[]){"begin", folder, NULL});
    char *x = read_bytes("x.bin", (size_t)NUM_EXAMPLES * NUM_INPUTS * sizeof(float));
    FILE *list = fopen(liana__test_path("cases.txt"), "r");
    assert_non_null(list);
    for (; fscanf(list, "%99s %99s", name, target) == 2; count++) bad += !train(name, target, x);
    fclose(list);
    free(x);
    assert_compare(count, >=, 1);
    liana__test_run_keras(script, (const char *const[]){"end", folder, NULL});
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ten_updates_of_everything)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

#else

int main(void)
{
    return 0;
}

#endif
