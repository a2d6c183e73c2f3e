/* Losses against Keras 3.15.1 in float64: values and gradients that it gave for small rows, on both backends. */
#include "harness/harness.h"

#include "formats/yaml.h"
#include "harness/graph_run.h"
#include "ir/shape.h"
#include "losses/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, WIDTH = 3, COUNT = BATCH * WIDTH };

/* keras.losses' class with these options and reduction=None; the gradient is that of the sum with respect to the
 * outputs. The values of log_cosh are those of the formula: Keras takes log 2 in float32. */
typedef struct trial {
    const char *name, *options;
    double outputs[COUNT], targets[COUNT];
    double loss[BATCH], gradient[COUNT];
} trial;

static const trial trials[] = {
    {"mean_absolute_percentage_error",
     "{}",
     {1.5, -0.3, 0.2, -2.0, 0.7, 0.1, 0.4, 3.0, -1.2, 0.05, -0.6, 2.5},
     {2.0, -0.5, 0.1, -1.0, 1.5, 0.3, 3.0, 1.0, 2.0, 0.5, -1.0, 4.0},
     {54.99999999999999, 73.33333333333333, 148.88888888888889, 55.833333333333336},
     {-16.666666666666668, 66.66666666666667, 333.3333333333333, -33.333333333333336, -22.222222222222225,
      -111.11111111111113, -11.111111111111112, 33.333333333333336, -16.666666666666668, -66.66666666666667,
      33.333333333333336, -8.333333333333334}},
    {"mean_squared_logarithmic_error",
     "{}",
     {1.5, 0.3, 0.2, 2.0, 0.7, 0.1, 0.4, 3.0, 1.2, 0.05, 0.6, 2.5},
     {2.0, 0.0, 1.0, 3.0, 1.0, 5.0, 0.0, 0.0, 2.0, 7.0, 1.0, 0.0},
     {0.12100630758813713, 0.9957045229471775, 0.7104071188958536, 1.9142509553862563},
     {-0.04861908181172119, 0.13454572536794607, -0.2837920132033282, -0.0639293494337291, -0.06373291352853917,
      -1.02815108449923, 0.16022482696248413, 0.2310490435199824, -0.09398634191025436, -1.2893024619113673,
      -0.09297647971425405, 0.2386214987610232}},
    {"log_cosh",
     "{}",
     {1.5, -0.3, 0.2, -2.0, 0.7, 0.1, 0.4, 3.0, -1.2, 0.05, -0.6, 2.5},
     {2.0, -0.5, 0.1, -1.0, 1.5, 0.3, 3.0, 1.0, 2.0, 0.5, -1.0, 4.0},
     {0.04832475587331042, 0.24813415421714272, 1.915289989520559, 0.3438001168579239},
     {-0.15403905242000326, 0.06579177340830134, 0.033222664874985264, -0.25386471865192156, -0.22134559008928295,
      -0.06579177340830134, -0.3296758007336997, 0.32134252669193897, -0.33222746594655034, -0.14063300175000265,
      0.12664965408507495, -0.30171608454828885}},
    {"poisson",
     "{}",
     {0.2, 0.5, 0.3, 0.9, 0.06, 0.04, 0.1, 0.3, 0.6, 0.25, 0.05, 0.7},
     {2.0, 0.0, 1.0, 3.0, 1.0, 5.0, 0.0, 0.0, 2.0, 7.0, 1.0, 0.0},
     {1.8076157652870364, 6.74128562936385, 0.6738836380662253, 4.566596000465261},
     {-2.999998333334166, 0.3333333333333333, -0.777777407407531, -0.7777776543210015, -5.2222129629783955,
      -41.33322916692707, 0.3333333333333333, 0.3333333333333333, -0.7777775925926236, -8.999996266668157,
      -6.333320000026666, 0.3333333333333333}},
    {"hinge",
     "{}",
     {1.5, -0.3, 0.2, -2.0, 0.7, 0.1, 0.4, 3.0, -1.2, 0.05, -0.6, 2.5},
     {1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0, -1.0},
     {0.5, 0.8666666666666667, 0.9333333333333335, 2.0500000000000003},
     {-0.0, 0.3333333333333333, -0.3333333333333333, 0.0, 0.3333333333333333, -0.3333333333333333, -0.3333333333333333,
      -0.0, -0.3333333333333333, 0.3333333333333333, -0.3333333333333333, 0.3333333333333333}},
    {"hinge",
     "{}",
     {1.5, -0.3, 0.2, -2.0, 0.7, 0.1, 0.4, 3.0, -1.2, 0.05, -0.6, 2.5},
     {1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0},
     {0.5, 0.8666666666666667, 0.9333333333333335, 2.0500000000000003},
     {-0.0, 0.3333333333333333, -0.3333333333333333, 0.0, 0.3333333333333333, -0.3333333333333333, -0.3333333333333333,
      -0.0, -0.3333333333333333, 0.3333333333333333, -0.3333333333333333, 0.3333333333333333}},
    {"squared_hinge",
     "{}",
     {1.5, -0.3, 0.2, -2.0, 0.7, 0.1, 0.4, 3.0, -1.2, 0.05, -0.6, 2.5},
     {1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0, -1.0},
     {0.3766666666666667, 1.2333333333333332, 1.7333333333333336, 5.304166666666667},
     {-0.0, 0.4666666666666666, -0.5333333333333333, 0.0, 1.1333333333333333, -0.6, -0.39999999999999997, -0.0,
      -1.4666666666666668, 0.7, -1.0666666666666667, 2.333333333333333}},
    {"categorical_hinge",
     "{}",
     {1.5, -0.3, 0.2, -2.0, 0.7, 0.1, 0.4, 3.0, -1.2, 0.05, -0.6, 2.5},
     {0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0},
     {2.8, 3.7, 5.2, 3.45},
     {1.0, -1.0, 0.0, -1.0, 1.0, 0.0, 0.0, 1.0, -1.0, -1.0, 0.0, 1.0}},
    {"kl_divergence",
     "{}",
     {0.2, 0.5, 0.3, 0.9, 0.06, 0.04, 0.1, 0.3, 0.6, 0.25, 0.05, 0.7},
     {0.3, 0.3, 0.4, 1.0, 0.0, 0.0, 0.0, 0.25, 0.75, 0.1, 0.2, 0.7},
     {0.08346467428336446, 0.10535789526735032, 0.1217758927361129, 0.1856297990365626},
     {-1.4999999999999998, -0.6, -1.3333333333333337, -1.111111111111111, -1.6666666666666667e-06,
      -2.4999999999999994e-06, -9.999999999999997e-07, -0.8333333333333334, -1.2500000000000002, -0.4, -4.0, -1.0}},
    {"cosine_similarity",
     "{}",
     {1.5, -0.3, 0.2, -2.0, 0.7, 0.1, 0.4, 3.0, -1.2, 0.05, -0.6, 2.5},
     {2.0, -0.5, 0.1, -1.0, 1.5, 0.3, 3.0, 1.0, 2.0, 0.5, -1.0, 4.0},
     {-0.9955566648601618, -0.7944585187350471, -0.14775954824320164, -0.9948361233683493},
     {-0.000659780945881927, 0.03153752921315625, 0.052254650913848864, -0.09515159748197544, -0.2633291800193944,
      -0.059727689503745976, -0.24069008172949205, -0.040269897844059155, -0.1809047718533119, -0.039293427223444644,
      0.003362950978583107, 0.0015929767793288474}},
    {"categorical_focal_crossentropy",
     "{}",
     {0.2, 0.5, 0.3, 0.9, 0.06, 0.04, 0.1, 0.3, 0.6, 0.25, 0.05, 0.7},
     {0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0},
     {0.04332169878499658, 0.00026340128914456557, 0.020433024950639634, 0.19494764453248462},
     {0.14914339756999317, -0.14914339756999317, 0.14914339756999317, -0.0008045803560669086, 0.00724122320460218,
      0.00724122320460218, 0.10129907485191889, 0.10129907485191889, -0.06753271656794593, -0.8117702890649693,
      0.27059009635498976, 0.27059009635498976}},
    {"categorical_focal_crossentropy",
     "{gamma: 1.5, alpha: 0.6, label_smoothing: 0.1}",
     {0.2, 0.5, 0.3, 0.9, 0.06, 0.04, 0.1, 0.3, 0.6, 0.25, 0.05, 0.7},
     {0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0},
     {0.17437096344110284, 0.11370037139500179, 0.12579074134973403, 0.5608876238198208},
     {0.3328312515272607, -0.3601170399807866, 0.3783075656164705, 0.04096748753231383, -0.2969880894288346,
      -0.47628633533380904, 0.11261252378114289, 0.2796446259081421, -0.15859106691759484, -1.8172610733758787,
      0.1881626131683971, 0.6355816252650711}},
    {"binary_focal_crossentropy",
     "{}",
     {0.2, 0.5, 0.3, 0.9, 0.06, 0.04, 0.1, 0.3, 0.6, 0.25, 0.05, 0.7},
     {1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0},
     {0.5977579110725064, 1.6106108789923652, 0.845590899749148, 1.1038583935101405},
     {-1.9250335532981868, 0.3977157268533151, -1.1062984197965477, 4.081551055796428, 0.0037516118934043563,
      -9.740080527915648, -4.081551055796427, -1.1062984197965477, -0.22510905522648644, 0.0757247898530746,
      -7.91396377325086, 1.1062984197965475}},
    {"binary_focal_crossentropy",
     "{gamma: 3.0, alpha: 0.4, label_smoothing: 0.2, apply_class_balancing: true}",
     {0.2, 0.5, 0.3, 0.9, 0.06, 0.04, 0.1, 0.3, 0.6, 0.25, 0.05, 0.7},
     {1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0},
     {0.1452409267347834, 0.4878504845370917, 0.21154724569584163, 0.30482946331902766},
     {-0.51881904646902, 0.11907173961162033, -0.27881259894534627, 1.5973759303989057, 0.002980877721092967,
      -2.784882137113479, -1.1567205013233455, -0.27881259894534627, -0.04564544696522117, 0.020777408263064387,
      -2.264772951718679, 0.385026922353097}},
};

static liana_context *context;
static liana__device *devices[2];

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(1, &context, &devices[1], &devices[0]);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, devices[1], devices[0]);
}

static liana__test_value value_of(const double *numbers, liana_dtype dtype)
{
    const liana_shape shape = liana_shape_of(BATCH, WIDTH);
    liana__test_value value = {dtype, shape, malloc(liana__byte_size(dtype, &shape))};
    assert_non_null(value.data);
    for (int i = 0; i < COUNT; i++) liana__store(value.data, dtype, i, numbers[i]);
    return value;
}

static void compare(const trial *t, const char *what, const liana__test_value *got, const double *expected, int count,
                    double tolerance)
{
    for (int i = 0; i < count; i++) {
        const double value = liana__load(got->data, got->dtype, i);
        if (fabs(value - expected[i]) <= tolerance * (1 + fabs(expected[i]))) continue;
        fail_msg("%s %s: %s[%d] is %.17g, Keras says %.17g", t->name, t->options, what, i, value, expected[i]);
    }
}

static void try_loss(const trial *t, liana__device *device, liana_dtype dtype, double tolerance)
{
    liana_graph *graph;
    liana__loss_choice choice;
    liana__value *options;
    char text[200];
    snprintf(text, sizeof text, "{name: %s, %s", t->name, t->options + 1);
    assert_ok(liana_graph_create(context, &graph), &context->error);
    assert_ok(liana__yaml_parse(text, strlen(text), "the loss", &graph->arena, &options, &context->error),
              &context->error);
    assert_ok(liana__loss_read(context, options, "loss", &graph->arena, &choice, &context->error), &context->error);
    liana_tensor output = liana_graph_input(graph, "output", dtype, liana_shape_of(BATCH, WIDTH)), gradient;
    liana_tensor target = liana_graph_input(graph, "target", dtype, liana_shape_of(BATCH, WIDTH));
    const liana_loss_call call = {.options = choice.options, .output = output, .target = {LIANA_TARGET_VALUES, target}};
    liana_tensor each = liana__loss_elements(choice.loss, &call);
    liana_gradients(each, &output, 1, &gradient);
    liana_graph_output(graph, "loss", each);
    liana_graph_output(graph, "gradient", gradient);
    assert_ok(liana_graph_status(graph), &context->error);
    liana__test_value inputs[2] = {value_of(t->outputs, dtype), value_of(t->targets, dtype)}, results[2];
    liana__test_run(device, graph, inputs, results);
    compare(t, "the loss", &results[0], t->loss, BATCH, tolerance);
    compare(t, "the gradient", &results[1], t->gradient, COUNT, tolerance);
    liana__test_free_values(inputs, 2);
    liana__test_free_values(results, 2);
    liana_graph_destroy(graph);
}

static void test_losses_are_those_of_keras(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        try_loss(&trials[i], devices[0], LIANA_F64, 1e-12);
        try_loss(&trials[i], devices[0], LIANA_F32, 2e-6);
        try_loss(&trials[i], devices[1], LIANA_F32, 2e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_losses_are_those_of_keras)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
