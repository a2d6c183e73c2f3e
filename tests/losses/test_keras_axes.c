/* Losses over other axes than the last, of whole batches and of sequences, against Keras 3.15.1 on TensorFlow 2.21: the
 * value with reduction sum_over_batch_size, and its gradient with respect to the outputs. */
#include "harness/harness.h"

#include "formats/yaml.h"
#include "harness/graph_run.h"
#include "ir/graph.h"
#include "losses/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 72 };

typedef struct dims {
    int rank;
    int64_t sizes[4];
} dims;

typedef struct trial {
    const char *loss;
    dims outputs, targets;
    bool classes;
    double output[MOST], target[MOST], value, gradient[MOST];
} trial;

/* The outputs and targets of several rows. */
#define ROWS                                                                                                           \
    {                                                                                                                  \
        0.20000000298023224, 0.5, 0.30000001192092896, 0.8999999761581421, 0.05999999865889549, 0.03999999910593033,   \
            0.10000000149011612, 0.30000001192092896, 0.6000000238418579, 0.25, 0.05000000074505806, 0.699999988079071 \
    }
#define ROW_CLASSES                                                \
    {                                                              \
        0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0 \
    }
#define LOGITS                                                                                                      \
    {                                                                                                               \
        0.9723055958747864, -0.19446112215518951, 0.12964074313640594, -0.9428091049194336, 0.3299831748008728,     \
            0.0471404567360878, 0.12285902351140976, 0.9214426279067993, -0.3685770630836487, 0.019444070756435394, \
            -0.23332884907722473, 0.9722034931182861                                                                \
    }
#define PLANES                                                                                                        \
    {                                                                                                                 \
        0.0, 0.5384615659713745, 0.07692307978868484, 0.6153846383094788, 0.1538461595773697, 0.692307710647583,      \
            0.23076923191547394, 0.7692307829856873, 0.3076923191547394, 0.8461538553237915, 0.38461539149284363,     \
            0.9230769276618958, 0.4615384638309479, 0.0, 0.5384615659713745, 0.07692307978868484, 0.6153846383094788, \
            0.1538461595773697, 0.692307710647583, 0.23076923191547394, 0.7692307829856873, 0.3076923191547394,       \
            0.8461538553237915, 0.38461539149284363                                                                   \
    }
#define PLANE_CLASSES                                                                                                 \
    {                                                                                                                 \
        1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, \
            0.0, 0.0                                                                                                  \
    }

static const trial trials[] = {
    {"{name: Dice}",
     {2, {4, 3}},
     {2, {4, 3}},
     false,
     ROWS,
     ROW_CLASSES,
     0.4375,
     {0.0703125, -0.1796875, 0.0703125, -0.1796875, 0.0703125, 0.0703125, 0.0703125, 0.0703125, -0.1796875, -0.1796875,
      0.0703125, 0.0703125}},
    {"{name: dice, axis: [1]}",
     {2, {4, 3}},
     {2, {4, 3}},
     false,
     ROWS,
     ROW_CLASSES,
     0.4375,
     {0.0625, -0.1875, 0.0625, -0.13750000298023224, 0.11249999701976776, 0.11249999701976776, 0.07500000298023224,
      0.07500000298023224, -0.17499999701976776, -0.21875, 0.03125, 0.03125}},
    {"{name: tversky, alpha: 0.3, beta: 0.8}",
     {2, {4, 3}},
     {2, {4, 3}},
     false,
     ROWS,
     ROW_CLASSES,
     0.461077869,
     {0.10326651483774185, -0.14916275441646576, 0.10326651483774185, -0.14916275441646576, 0.10326651483774185,
      0.10326651483774185, 0.10326651483774185, 0.10326651483774185, -0.14916275441646576, -0.14916275441646576,
      0.10326651483774185, 0.10326651483774185}},
    {"{name: Tversky, alpha: 0.3, axis: 1}",
     {2, {4, 3}},
     {2, {4, 3}},
     false,
     ROWS,
     ROW_CLASSES,
     0.394946456,
     {0.07716047763824463, -0.1697530895471573, 0.07716047763824463, -0.09110788255929947, 0.11713866144418716,
      0.11713866144418716, 0.08861055970191956, 0.08861055970191956, -0.14768430590629578, -0.23356398940086365,
      0.04325257986783981, 0.04325257986783981}},
    {"{name: CategoricalGeneralizedCrossEntropy, q: 0.7}",
     {2, {4, 3}},
     {1, {4}},
     true,
     ROWS,
     {1.0, 0.0, 2.0, 0.0},
     0.491867423,
     {-0.0, -0.30778610706329346, -0.0, -0.2580282390117645, -0.0, -0.0, -0.0, -0.0, -0.2914034128189087,
      -0.37892913818359375, -0.0, -0.0}},
    {"{name: Circle, gamma: 2.0, margin: 0.3}",
     {2, {4, 3}},
     {1, {4}},
     true,
     LOGITS,
     {1.0, 0.0, 1.0, 0.0},
     2.84581995,
     {-0.2547876834869385, -1.975209355354309, 0.9391316175460815, -0.019586581736803055, 0.5969429016113281,
      -1.962965488433838, -2.184906482696533, 0.4583444893360138, -0.26521027088165283, 2.014514684677124,
      -0.6803461313247681, -0.07049530744552612}},
    {"{name: circle, remove_diagonal: false}",
     {2, {4, 3}},
     {1, {4}},
     true,
     LOGITS,
     {1.0, 0.0, 1.0, 2.0},
     42.6632309,
     {-10.885407447814941, -81.64070129394531, 32.6566162109375, 2.3949784008436836e-05, 0.00017962337005883455,
      -7.184938294813037e-05, -86.14729309082031, 17.229488372802734, -11.486272811889648, 0.0003704835835378617,
      -7.409671525238082e-05, 4.939780046697706e-05}},
    {"{name: circle, gamma: 8.0}",
     {2, {4, 3}},
     {1, {4}},
     true,
     LOGITS,
     {1.0, 0.0, 1.0, 2.0},
     8.84122086,
     {-2.168750762939453, -16.421972274780273, 6.931183815002441, 0.04363827779889107, 0.32728707790374756,
      -0.1309148371219635, -17.561805725097656, 3.5625929832458496, -2.2801802158355713, 0.4009212255477905,
      -0.08018424361944199, 0.05345616117119789}},
    {"CTC",
     {3, {3, 6, 4}},
     {2, {3, 3}},
     true,
     {-1.25, -0.5,  0.25, 1.0,   0.0,  0.75, -1.25, -0.5, 1.25,  -0.75, 0.0,  0.75,  -0.25, 0.5,   1.25,
      -0.75, 1.0,   -1.0, -0.25, 0.5,  -0.5, 0.25,  1.0,  -1.0,  0.5,   1.25, -0.75, 0.0,   -1.0,  0.0,
      1.0,   -0.75, 0.25, -1.25, 0.0,  1.25, -1.25, 0.25, -1.0,  0.5,   0.0,  -1.0,  0.75,  -0.25, 1.25,
      0.5,   -0.25, -1.0, -0.5,  0.25, 1.0,  -1.0,  0.75, -0.75, 0.5,   -1.0, -0.75, 1.0,   0.0,   -1.0,
      0.5,   0.0,   -0.5, -1.0,  -1.0, -1.0, -1.0,  -1.0, 0.25,  0.75,  1.25, -1.0},
     {1.0, 2.0, 2.0, 3.0, 0.0, 0.0, 1.0, 3.0, 1.0},
     4.75025797,
     {-0.061171241104602814,  -0.2113535851240158,    0.08743177354335785,   0.18509307503700256,
      0.009390260092914104,   -0.06527795642614365,   0.005469928495585918,  0.05041772872209549,
      -0.05981229990720749,   -0.002689160406589508,  -0.037173088639974594, 0.0996745154261589,
      0.01668454334139824,    0.0860021635890007,     -0.12732675671577454,  0.024640029296278954,
      -0.157632976770401,     0.02224039100110531,    0.03571800887584686,   0.0996745154261589,
      0.03527052700519562,    0.0860021635890007,     -0.14591273665428162,  0.024640029296278954,
      -0.1721929907798767,    0.17597517371177673,    0.02381565049290657,   -0.027597859501838684,
      -0.1045800969004631,    0.0731230229139328,     0.1987690031528473,    -0.16731193661689758,
      0.02786056324839592,    0.015757068991661072,   0.05499757453799248,   -0.09861522912979126,
      -0.009030938148498535,  0.11931776255369186,    0.03418511152267456,   -0.14447197318077087,
      -0.11487476527690887,   0.02876070886850357,    0.16550646722316742,   -0.0793924331665039,
      -0.13455061614513397,   0.08743175864219666,    0.041299834847450256,  0.005818973295390606,
      -0.09401734918355942,   -0.11268927156925201,   0.18206658959388733,   0.024640029296278954,
      -0.033932507038116455,  -0.0623229444026947,    0.11931776255369186,   -0.02306235209107399,
      -0.01653909683227539,   0.0008061131229624152,  0.0731230229139328,    -0.05739007517695427,
      -0.0005769332638010383, -0.0023873052559792995, 0.055801697075366974,  -0.05283743888139725,
      0.01667250320315361,    -0.022610437124967575,  0.0833333358168602,    -0.07739536464214325,
      -0.003297706600278616,  -0.17386583983898163,   0.16027112305164337,   0.0168924517929554}},
    {"{name: categorical_crossentropy, axis: 1}",
     {4, {2, 2, 2, 3}},
     {4, {2, 2, 2, 3}},
     false,
     PLANES,
     PLANE_CLASSES,
     1.73244441,
     {0.0,
      0.0,
      0.0,
      -0.021381571888923645,
      0.0,
      0.0,
      0.0,
      0.0,
      0.0,
      0.015550248324871063,
      0.0,
      0.0,
      -0.036111101508140564,
      0.0,
      0.0,
      -0.6500000357627869,
      0.0,
      0.0,
      0.02407408505678177,
      0.0,
      0.0,
      0.16249999403953552,
      0.0,
      0.0}},
    {"{name: binary_crossentropy, axis: 2}",
     {4, {2, 2, 2, 3}},
     {4, {2, 2, 2, 3}},
     false,
     PLANES,
     PLANE_CLASSES,
     1.50778103,
     {0.0,
      0.0902777835726738,
      0.0451388917863369,
      -0.0677083358168602,
      0.049242421984672546,
      0.1354166865348816,
      -0.1805555671453476,
      0.1805555671453476,
      0.06018518656492233,
      -0.049242421984672546,
      0.0677083432674408,
      0.5416667461395264,
      -0.0902777835726738,
      0.0,
      0.0902777835726738,
      -0.5416666865348816,
      0.10833333432674408,
      0.049242421984672546,
      -0.06018518656492233,
      0.05416666716337204,
      0.1805555671453476,
      -0.1354166716337204,
      0.2708333730697632,
      0.0677083432674408}},
    {"{name: cosine_similarity, axis: 1}",
     {4, {2, 2, 2, 3}},
     {4, {2, 2, 2, 3}},
     false,
     PLANES,
     PLANE_CLASSES,
     -0.294411898,
     {-0.25534412264823914,
      0.0,
      0.0,
      -0.010046236217021942,
      0.0,
      0.0,
      0.0,
      0.0,
      0.0,
      0.007306352257728577,
      0.0,
      0.0,
      -0.016343023627996445,
      0.0,
      0.0,
      -0.13114598393440247,
      0.0,
      0.0,
      0.010895319283008575,
      0.0,
      0.0,
      0.03278650343418121,
      0.0,
      0.0}},
    {"{name: categorical_focal_crossentropy, axis: 1}",
     {4, {2, 2, 2, 3}},
     {4, {2, 2, 2, 3}},
     false,
     PLANES,
     PLANE_CLASSES,
     0.374072462,
     {0.0,
      0.0,
      0.0,
      -0.008509697392582893,
      0.0,
      0.0,
      0.0,
      0.0,
      0.0,
      0.006188871338963509,
      0.0,
      0.0,
      -0.014345739036798477,
      0.0,
      0.0,
      -0.24421988427639008,
      0.0,
      0.0,
      0.009563825093209743,
      0.0,
      0.0,
      0.06105496734380722,
      0.0,
      0.0}},
    {"{name: binary_focal_crossentropy, axis: -2}",
     {4, {2, 2, 2, 3}},
     {4, {2, 2, 2, 3}},
     false,
     PLANES,
     PLANE_CLASSES,
     1.12116194,
     {-1.343174695968628,    0.06086964160203934,
      0.0007801883039064705, -0.02557717077434063,
      0.0033072195947170258, 0.13290318846702576,
      -0.20083358883857727,  0.20083358883857727,
      0.015126844868063927,  -0.0033072195947170258,
      0.025577180087566376,  0.6588423252105713,
      -0.06086963787674904,  0.0,
      0.06086964160203934,   -0.6588422656059265,
      0.09002624452114105,   0.0033072195947170258,
      -0.015126844868063927, 0.007930080406367779,
      0.20083358883857727,   -0.13290318846702576,
      0.32589632272720337,   0.025577180087566376}},
    {"{name: dice, axis: [1, 2, 3]}",
     {4, {2, 2, 2, 3}},
     {4, {2, 2, 2, 3}},
     false,
     PLANES,
     PLANE_CLASSES,
     0.653089106,
     {-0.08623829483985901, 0.01860041543841362,  0.01860041543841362,  -0.08623829483985901, 0.01860041543841362,
      0.01860041543841362,  -0.08623829483985901, 0.01860041543841362,  0.01860041543841362,  -0.08623829483985901,
      0.01860041543841362,  0.01860041543841362,  -0.09149669110774994, 0.018672794103622437, 0.018672794103622437,
      -0.09149669110774994, 0.018672794103622437, 0.018672794103622437, -0.09149669110774994, 0.018672794103622437,
      0.018672794103622437, -0.09149669110774994, 0.018672794103622437, 0.018672794103622437}},
    {"{name: dice, axis: [1, 2]}",
     {4, {2, 2, 2, 3}},
     {4, {2, 2, 2, 3}},
     false,
     PLANES,
     PLANE_CLASSES,
     0.808308303,
     {-0.041149258613586426, 0.0, 0.0, -0.041149258613586426, 0.0, 0.0, -0.041149258613586426, 0.0, 0.0,
      -0.041149258613586426, 0.0, 0.0, -0.04346708208322525,  0.0, 0.0, -0.04346708208322525,  0.0, 0.0,
      -0.04346708208322525,  0.0, 0.0, -0.04346708208322525,  0.0, 0.0}},
    {"{name: dice, axis: [0, 1]}",
     {4, {2, 2, 2, 3}},
     {4, {2, 2, 2, 3}},
     false,
     PLANES,
     PLANE_CLASSES,
     0.809022605,
     {-0.045986391603946686, 0.0, 0.0, -0.03901200369000435,  0.0, 0.0, -0.045986391603946686, 0.0, 0.0,
      -0.03901200369000435,  0.0, 0.0, -0.045986391603946686, 0.0, 0.0, -0.03901200369000435,  0.0, 0.0,
      -0.045986391603946686, 0.0, 0.0, -0.03901200369000435,  0.0, 0.0}},
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

static liana_shape shape_of(const dims *of, int64_t more)
{
    liana_shape shape = {.rank = of->rank};
    memcpy(shape.dims, of->sizes, (size_t)of->rank * sizeof *of->sizes);
    shape.dims[0] += more;
    return shape;
}

/* The numbers, and 0.5 (class 1) for those of the rows that are added. */
static liana__test_value value_of(const double *numbers, const dims *of, liana_dtype dtype, int64_t more)
{
    const liana_shape own = shape_of(of, 0), shape = shape_of(of, more);
    liana__test_value value = {dtype, shape, malloc(liana__byte_size(dtype, &shape))};
    assert_non_null(value.data);
    for (int64_t i = 0; i < liana_shape_size(&shape); i++) {
        const bool added = i >= liana_shape_size(&own);
        liana__store(value.data, dtype, i, !added ? numbers[i] : dtype == LIANA_S32 ? 1 : 0.5);
    }
    return value;
}

/* `more` rows are there, and do not count. */
static void try_loss(const trial *t, liana__device *device, int64_t more)
{
    liana_graph *graph;
    liana__loss_choice choice;
    liana__value *options;
    const liana_dtype of_target = t->classes ? LIANA_S32 : LIANA_F32;
    const liana_shape rows = shape_of(&t->outputs, more), column = liana_shape_of(rows.dims[0]);
    assert_ok(liana_graph_create(context, &graph), &context->error);
    assert_ok(liana__yaml_parse(t->loss, strlen(t->loss), "the loss", &graph->arena, &options, &context->error),
              &context->error);
    assert_ok(liana__loss_read(context, options, "loss", &graph->arena, &choice, &context->error), &context->error);
    liana_tensor output = liana_graph_input(graph, "output", LIANA_F32, rows), gradient;
    liana_tensor target = liana_graph_input(graph, "target", of_target, shape_of(&t->targets, more));
    liana_tensor present = liana_graph_input(graph, "present", LIANA_F32, column);
    const liana_loss_call call = {.options = choice.options,
                                  .output = output,
                                  .target = {t->classes ? LIANA_TARGET_CLASSES : LIANA_TARGET_VALUES, target},
                                  .present = more ? present : (liana_tensor){0}};
    liana_tensor each = liana__times_rows(liana__loss_elements(choice.loss, &call), present);
    const liana_shape elements = liana_tensor_shape(each);
    const double count = (double)liana_shape_size(&elements) / (double)rows.dims[0] * (double)(rows.dims[0] - more);
    liana_tensor sum = liana_op_reduce_sum(each, LIANA_ALL_AXES, false);
    liana_tensor mean = liana_op_multiply(sum, liana__scalar_like(sum, 1 / count));
    liana_gradients(mean, &output, 1, &gradient);
    liana_graph_output(graph, "loss", mean);
    liana_graph_output(graph, "gradient", gradient);
    assert_ok(liana_graph_status(graph), &context->error);
    float there[8];
    for (int64_t i = 0; i < rows.dims[0]; i++) there[i] = i < rows.dims[0] - more;
    liana__test_value inputs[] = {value_of(t->output, &t->outputs, LIANA_F32, more),
                                  value_of(t->target, &t->targets, of_target, more),
                                  {LIANA_F32, column, there}};
    liana__test_value results[2];
    liana__test_run(device, graph, inputs, results);
    assert_near(((const float *)results[0].data)[0], t->value, 2e-6 * (1 + fabs(t->value)));
    const liana_shape own = shape_of(&t->outputs, 0);
    for (int64_t i = 0; i < liana_shape_size(&own); i++) {
        const double got = (double)((const float *)results[1].data)[i];
        if (fabs(got - t->gradient[i]) <= 5e-6 * (1 + fabs(t->gradient[i]))) continue;
        fail_msg("%s: gradient[%d] is %.9g, Keras says %.9g", t->loss, (int)i, got, t->gradient[i]);
    }
    liana__test_free_values(inputs, 2);
    liana__test_free_values(results, 2);
    liana_graph_destroy(graph);
}

static void test_losses_are_those_of_keras(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        for (int device = 0; device < 2; device++) {
            try_loss(&trials[i], devices[device], 0);
            try_loss(&trials[i], devices[device], 2);
        }
    }
}

/* The nodes of CTC and its gradient. */
static size_t count_nodes(int64_t steps)
{
    liana_graph *graph;
    liana_tensor gradient;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor output = liana_graph_input(graph, "output", LIANA_F32, liana_shape_of(2, steps, 5));
    const liana_loss_call call = {.output = output,
                                  .target = {LIANA_TARGET_CLASSES,
                                             liana_graph_input(graph, "target", LIANA_S32, liana_shape_of(2, 4))}};
    liana_tensor sum = liana_op_reduce_sum(liana__loss_elements(&liana__loss_ctc, &call), LIANA_ALL_AXES, false);
    liana_gradients(sum, &output, 1, &gradient);
    assert_ok(liana_graph_status(graph), &context->error);
    const size_t count = graph->num_nodes;
    liana_graph_destroy(graph);
    return count;
}

/* The steps are a loop. */
static void test_the_graph_of_ctc_does_not_grow_with_the_steps(void **state)
{
    (void)state;
    const size_t few = count_nodes(3), many = count_nodes(100);
    print_message("%zu nodes for 3 steps, %zu for 100\n", few, many);
    assert_compare(few, ==, many);
}

static void check_refused(const char *written, const char *first, const char *second)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *value;
    liana__loss_choice choice;
    assert_ok(liana__yaml_parse(written, strlen(written), "loss", &arena, &value, &error), &error);
    assert_fails(liana__loss_read(NULL, value, "train.loss", &arena, &choice, &error), LIANA_INVALID_CONFIG, &error,
                 "train.loss", first, second);
    liana__arena_free(&arena);
}

static void test_mistakes_are_named(void **state)
{
    (void)state;
    check_refused("{name: dice, axis: x}", "axis", "[1, 2, 3]");
    check_refused("{name: dice, axis: []}", "axis", "null");
    check_refused("{name: mse, reduction: none}", "reduction", "mean_with_sample_weight");
    check_refused("{name: mse, reduction: 3}", "reduction", "sum_over_batch_size");
    check_refused("{name: sparse_categorical_crossentropy, axis: 1}", "axis", "-1");
    check_refused("{name: categorical_generalized_cross_entropy, q: 0}", "q", "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_losses_are_those_of_keras),
                                       cmocka_unit_test(test_the_graph_of_ctc_does_not_grow_with_the_steps),
                                       cmocka_unit_test(test_mistakes_are_named)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
