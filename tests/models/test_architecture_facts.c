/* Facts of architectures as Keras 3.15 states them (model.summary, output_shape): numbers of parameters with and
 * without the top, numbers of layers, shapes. No weights are made. To add an architecture, add a row to `facts`; its
 * numbers are Keras's own. Results are compared by test_keras_zoo.c. */
#include "harness/harness.h"

#include "base/value.h"
#include "harness/models/one_model.h"
#include "ir/shape.h"
#include "models/models.h"

#include <string.h>

typedef struct fact {
    const char *name;
    int size; /* default height and width */
    int64_t with_top, with_top_trainable, without_top, without_top_trainable;
    int layers_with_top, layers; /* without the top */
    int rows;                    /* height and width of the features without the top, at the default size */
    int least, least_rows;       /* the smallest height and width in Keras, and its features */
    int channels;                /* of the features */
} fact;

static const fact facts[] = {
    {"MobileNet", 224, 4253864, 4231976, 3228864, 3206976, 91, 86, 7, 32, 1, 1024},
    {"MobileNetV2", 224, 3538984, 3504872, 2257984, 2223872, 156, 154, 7, 32, 1, 1280},
    {"MobileNetV3Small", 224, 2554968, 2542856, 939120, 927008, 164, 157, 7, 32, 1, 576},
    {"MobileNetV3Large", 224, 5507432, 5483032, 2996352, 2971952, 194, 187, 7, 32, 1, 960},
    {"ResNet50", 224, 25636712, 25583592, 23587712, 23534592, 177, 175, 7, 32, 1, 2048},
    {"ResNet101", 224, 44707176, 44601832, 42658176, 42552832, 347, 345, 7, 32, 1, 2048},
    {"ResNet152", 224, 60419944, 60268520, 58370944, 58219520, 517, 515, 7, 32, 1, 2048},
    {"ResNet50V2", 224, 25613800, 25568360, 23564800, 23519360, 192, 190, 7, 32, 1, 2048},
    {"ResNet101V2", 224, 44675560, 44577896, 42626560, 42528896, 379, 377, 7, 32, 1, 2048},
    {"ResNet152V2", 224, 60380648, 60236904, 58331648, 58187904, 566, 564, 7, 32, 1, 2048},
    {"DenseNet121", 224, 8062504, 7978856, 7037504, 6953856, 429, 427, 7, 32, 1, 1024},
    {"DenseNet169", 224, 14307880, 14149480, 12642880, 12484480, 597, 595, 7, 32, 1, 1664},
    {"DenseNet201", 224, 20242984, 20013928, 18321984, 18092928, 709, 707, 7, 32, 1, 1920},
    {"VGG16", 224, 138357544, 138357544, 14714688, 14714688, 23, 19, 7, 32, 1, 512},
    {"VGG19", 224, 143667240, 143667240, 20024384, 20024384, 26, 22, 7, 32, 1, 512},
    {"Xception", 299, 22910480, 22855952, 20861480, 20806952, 134, 132, 10, 71, 3, 2048},
    {"InceptionV3", 299, 23851784, 23817352, 21802784, 21768352, 313, 311, 8, 75, 1, 2048},
    {"InceptionResNetV2", 299, 55873736, 55813192, 54336736, 54276192, 782, 780, 8, 75, 1, 1536},
    {"EfficientNetB0", 224, 5330571, 5288548, 4049571, 4007548, 240, 237, 7, 32, 1, 1280},
    {"EfficientNetB1", 240, 7856239, 7794184, 6575239, 6513184, 342, 339, 8, 32, 1, 1280},
    {"EfficientNetB2", 260, 9177569, 9109994, 7768569, 7700994, 342, 339, 9, 32, 1, 1408},
    {"EfficientNetB3", 300, 12320535, 12233232, 10783535, 10696232, 387, 384, 10, 32, 1, 1536},
    {"EfficientNetB4", 380, 19466823, 19341616, 17673823, 17548616, 477, 474, 12, 32, 1, 1792},
    {"EfficientNetB5", 456, 30562527, 30389784, 28513527, 28340784, 579, 576, 15, 32, 1, 2048},
    {"EfficientNetB6", 528, 43265143, 43040704, 40960143, 40735704, 669, 666, 17, 32, 1, 2304},
    {"EfficientNetB7", 600, 66658687, 66347960, 64097687, 63786960, 816, 813, 19, 32, 1, 2560},
    {"NASNetMobile", 224, 5326716, 5289978, 4269716, 4232978, 771, 769, 7, 32, 1, 1056},
    {"NASNetLarge", 331, 88949818, 88753150, 84916818, 84720150, 1041, 1039, 11, 32, 1, 4032},
    {"EfficientNetV2B0", 224, 7200312, 7139704, 5919312, 5858704, 273, 270, 7, 32, 1, 1280},
    {"EfficientNetV2B1", 240, 8212124, 8141052, 6931124, 6860052, 337, 334, 8, 32, 1, 1280},
    {"EfficientNetV2B2", 260, 10178374, 10096086, 8769374, 8687086, 352, 349, 9, 32, 1, 1408},
    {"EfficientNetV2B3", 300, 14467622, 14358406, 12930622, 12821406, 412, 409, 10, 32, 1, 1536},
    {"EfficientNetV2S", 384, 21612360, 21458488, 20331360, 20177488, 516, 513, 12, 32, 1, 1280},
    {"EfficientNetV2M", 480, 54431388, 54139356, 53150388, 52858356, 743, 740, 15, 32, 1, 1280},
    {"EfficientNetV2L", 480, 119027848, 118515272, 117746848, 117234272, 1031, 1028, 15, 32, 1, 1280},
    {"ConvNeXtTiny", 224, 28589128, 28589128, 27820128, 27820128, 135, 133, 7, 32, 1, 768},
    {"ConvNeXtSmall", 224, 50223688, 50223688, 49454688, 49454688, 261, 259, 7, 32, 1, 768},
    {"ConvNeXtBase", 224, 88591464, 88591464, 87566464, 87566464, 261, 259, 7, 32, 1, 1024},
    {"ConvNeXtLarge", 224, 197767336, 197767336, 196230336, 196230336, 261, 259, 7, 32, 1, 1536},
    {"ConvNeXtXLarge", 224, 350196968, 350196968, 348147968, 348147968, 261, 259, 7, 32, 1, 2048},
};

static liana__arena arena;

/* NULL: the table has none. */
static const fact *find_fact(const char *name)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (strcmp(facts[i].name, name) == 0) return &facts[i];
    }
    return NULL;
}

/* A size of 0: the default. */
static liana_status add(const liana__architecture *architecture, int height, int width, bool include_top)
{
    liana__value *options = liana__value_map(&arena);
    liana__value *shape = liana__value_list(&arena);
    start_again();
    const int sides[3] = {height, width, 3};
    for (int i = 0; i < 3; i++) liana__value_add(&arena, shape, liana__value_int(&arena, sides[i]));
    if (height) liana__value_set(&arena, options, "input_shape", shape);
    liana__value_set(&arena, options, "include_top", liana__value_bool(&arena, include_top));
    return liana__architecture_add(model, LIANA_HERE, architecture, options, architecture->name);
}

static void assert_numbers(const fact *known, bool include_top)
{
    assert_ok(liana__model_check(model, &context->error), &context->error);
    const liana_model_facts found = liana_model_info(model);
    const int64_t all = include_top ? known->with_top : known->without_top;
    const int64_t trainable = include_top ? known->with_top_trainable : known->without_top_trainable;
    if (found.num_parameters != all || found.num_trainable_parameters != trainable) {
        fail_msg("%s %s the top has %lld parameters, %lld trainable; in Keras %lld and %lld", known->name,
                 include_top ? "with" : "without", (long long)found.num_parameters,
                 (long long)found.num_trainable_parameters, (long long)all, (long long)trainable);
    }
    /* Functions such as x + 3 in MobileNetV3 are no layers in Keras 3, and a model within a ConvNeXt is one; here they
     * are layers. Where Keras 3 keeps dimensions in the pooling, MobileNet has a Reshape behind it, as in Keras 2. */
    if (strncmp(known->name, "MobileNetV3", 11) == 0 || strncmp(known->name, "ConvNeXt", 8) == 0) return;
    const int layers = include_top ? known->layers_with_top + (strcmp(known->name, "MobileNet") == 0) : known->layers;
    if ((int)model->num_layers != layers) {
        fail_msg("%s %s the top has %zu layers, in Keras %d", known->name, include_top ? "with" : "without",
                 model->num_layers, layers);
    }
}

static void assert_features(const fact *known, int rows, int columns)
{
    const liana_shape found = liana__model_output_shape(model),
                      expected = liana_shape_of(1, rows, columns, known->channels);
    if (!liana_shape_equal(&found, &expected)) {
        fail_msg("%s: the features are %s, in Keras %s", known->name, liana__shape_print(&found).text,
                 liana__shape_print(&expected).text);
    }
}

static void test_architecture_facts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const fact *known = &facts[i];
        const liana__architecture *architecture = liana__architecture_find(known->name, NULL);
        assert_non_null(architecture);
        assert_int_equal(architecture->default_size, known->size);
        assert_ok(add(architecture, 0, 0, true), &context->error);
        assert_int_equal(liana__model_input_shape(model).dims[1], known->size);
        assert_numbers(known, true);
        assert_int_equal(liana__model_output_shape(model).dims[1], 1000);
        assert_ok(add(architecture, 0, 0, false), &context->error);
        assert_numbers(known, false);
        assert_features(known, known->rows, known->rows);
        assert_ok(add(architecture, known->least, known->size, false), &context->error);
        assert_numbers(known, false);
        assert_features(known, known->least_rows, known->rows);
        assert_null(model->values);
    }
}

static void test_every_architecture_has_facts(void **state)
{
    (void)state;
    for (size_t i = 0; liana__architectures[i]; i++) {
        const char *name = liana__architectures[i]->name;
        if (!find_fact(name)) fail_msg("%s has no row of Keras's numbers in this test", name);
    }
}

static void test_sizes_below_the_smallest(void **state)
{
    (void)state;
    size_t checked = 0;
    for (size_t i = 0; liana__architectures[i]; i++) {
        const liana__architecture *architecture = liana__architectures[i];
        const int least = (int)architecture->minimum_size;
        if (!least) continue;
        const fact *known = find_fact(architecture->name);
        assert_non_null(known);
        assert_int_equal(least, known->least);
        char found[32], expected[48];
        snprintf(found, sizeof found, "found images of %d x %d", least, least - 1);
        snprintf(expected, sizeof expected, "expected at least %d x %d", least, least);
        assert_fails(add(architecture, least, least - 1, true), LIANA_INVALID_CONFIG, &context->error, "input_shape",
                     found, expected, architecture->name, "data.image_size");
        assert_fails(add(architecture, least - 1, 2 * least, false), LIANA_INVALID_CONFIG, &context->error, expected);
        checked++;
    }
    assert_compare(checked, >=, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_architecture_facts, begin, end),
        cmocka_unit_test(test_every_architecture_has_facts),
        cmocka_unit_test_setup_teardown(test_sizes_below_the_smallest, begin, end),
    };
    const int failed = cmocka_run_group_tests_name("architecture_facts", tests, set_up, tear_down);
    liana__arena_free(&arena);
    return failed;
}
