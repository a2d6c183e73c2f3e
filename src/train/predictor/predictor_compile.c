/* Compiles a predictor, and finds its inputs, outputs and facts. */
#include "batch/cut.h"
#include "ir/shape.h"
#include "models/preprocessing.h"
#include "train/checkpoint/weights.h"
#include "train/job/job.h"
#include "train/model/model_objective.h"
#include "train/predictor/predictor.h"

#include <stdlib.h>
#include <string.h>

/* ---- inputs ---- */

static bool has_image_shape(const liana_shape *shape)
{
    return shape->rank == 4 && (shape->dims[3] == 1 || shape->dims[3] == 3);
}

/* An only input of images, or the one of several that is called so. */
static bool is_image(const liana_model *model, size_t index, const liana_predictor_options *options)
{
    const liana__model_port port = liana__model_input(model, index);
    if (options->prepared_images || port.texts || port.dtype != LIANA_F32 || !has_image_shape(&port.shape)) {
        return false;
    }
    return liana__model_num_inputs(model) == 1 || strcmp(port.name, "image") == 0;
}

static liana_shape without_batch(liana_shape shape)
{
    for (int i = 1; i < shape.rank; i++) shape.dims[i - 1] = shape.dims[i];
    shape.rank--;
    return shape;
}

static liana_shape with_batch(const liana_shape *example)
{
    liana_shape shape = {.rank = example->rank + 1, .dims = {LIANA_UNKNOWN_DIM}};
    for (int i = 0; i < example->rank; i++) shape.dims[i + 1] = example->dims[i];
    return shape;
}

static void find_input(const liana_predictor *own, size_t index, const liana_predictor_options *options,
                       const liana__data_match *match, liana__predictor_input *input)
{
    const liana_model *model = own->shared->model;
    const liana__model_port port = liana__model_input(model, index);
    const bool image = is_image(model, index, options);
    *input = (liana__predictor_input){.component = liana__input_component(model, index),
                                      .dtype = port.dtype,
                                      .shape = without_batch(port.shape),
                                      .row_size = liana__byte_size(port.dtype, &port.shape),
                                      .texts = liana__port_texts(&port, match)};
    const liana_shape *given = port.texts ? &port.texts_shape : &input->shape;
    input->port = (liana_predictor_port){.name = port.name,
                                         .dtype = port.texts ? (int)LIANA_STRING
                                                  : image    ? (int)LIANA_U8
                                                             : (int)port.dtype,
                                         .shape = with_batch(given),
                                         .num_values = liana_shape_size(given),
                                         .num_ids = port.dtype == LIANA_S32 && !port.texts ? port.num_ids : 0,
                                         .is_image = image};
}

static liana_status find_inputs(liana_predictor *own, const liana_predictor_options *options, liana__error *error)
{
    const liana_model *model = own->shared->model;
    const size_t count = liana__model_num_inputs(model);
    liana__data_match match = {0};
    if (count > LIANA__MAX_INPUTS) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "the model has %zu inputs, expected at most %d", count,
                           (int)LIANA__MAX_INPUTS);
    }
    own->inputs = liana__arena_allocate(&own->arena, (count + 1) * sizeof *own->inputs);
    if (!own->inputs) return liana__fail_memory(error, "a predictor");
    own->facts.num_inputs = count;
    for (size_t i = 0; i < count; i++) match.inputs[i].name = liana__model_input(model, i).name;
    for (size_t i = 0; i < count; i++) find_input(own, i, options, &match, &own->inputs[i]);
    return LIANA_OK;
}

/* ---- outputs ---- */

static liana_status find_outputs(liana_predictor *own, const liana__objective *objective, liana__error *error)
{
    const liana_preprocessing *known = &own->facts.preprocessing;
    const liana__strings names = {known->class_names ? known->num_class_names : 0, known->class_names};
    own->outputs = liana__arena_allocate(&own->arena, (objective->num_outputs + 1) * sizeof *own->outputs);
    if (!own->outputs) return liana__fail_memory(error, "a predictor");
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana__objective_output *output = &objective->outputs[i];
        const liana__output_classes classes = liana__output_classes_of(objective, i, names);
        const liana_shape example = without_batch(output->shape);
        const bool named = classes.count && names.count;
        own->outputs[i] = (liana_predictor_port){.name = output->name,
                                                 .dtype = LIANA_F32,
                                                 .shape = with_batch(&example),
                                                 .num_values = liana_shape_size(&example),
                                                 .offset = own->facts.num_values,
                                                 .class_names = named ? names.items : NULL,
                                                 .num_class_names = named ? names.count : 0};
        own->facts.num_values += own->outputs[i].num_values;
    }
    own->facts.num_outputs = objective->num_outputs;
    return LIANA_OK;
}

static void find_facts(liana_predictor *own, const liana_predictor_options *options)
{
    liana_model *model = own->shared->model;
    const liana__layer *keeper = liana__model_stateful_layer(model);
    int64_t batch_size = options->batch_size ? options->batch_size : 1;
    if (keeper) batch_size = liana__model_batch_size(model);
    own->facts = (liana_predictor_facts){.name = liana__model_name(model),
                                         .batch_size = batch_size,
                                         .preprocessing = liana_model_preprocessing(model)};
    if (options->scale != LIANA_SCALE_AUTO) own->facts.preprocessing.scale = options->scale;
    const liana_scale known = own->facts.preprocessing.scale;
    own->scale = known != LIANA_SCALE_AUTO ? known : liana__scale_assumed(model);
}

static void find_image(liana_predictor *own)
{
    const liana__predictor_input *input = &own->inputs[0];
    if (own->facts.num_inputs != 1 || !input->port.is_image) return;
    own->facts.takes_images = true;
    own->facts.height = input->shape.dims[0];
    own->facts.width = input->shape.dims[1];
    own->facts.channels = (int)input->shape.dims[2];
}

/* ---- compiling ---- */

/* The options of a prediction of this model: its precision, and the losses that say whether it gives logits. */
static liana_status open_training(liana_predictor *own, const liana_predictor_options *options, liana__error *error)
{
    liana_model *model = own->shared->model;
    const liana_evaluate_options given = {.device = options->device, .batch_size = own->facts.batch_size};
    const liana__objective *objective;
    liana__job_options job;
    liana__trainer_input *inputs = liana__arena_allocate(&own->arena, LIANA__MAX_INPUTS * sizeof *inputs);
    if (!inputs) return liana__fail_memory(error, "a predictor");
    for (size_t i = 0; i < own->facts.num_inputs; i++) {
        inputs[i] = (liana__trainer_input){own->inputs[i].dtype, own->inputs[i].port.is_image};
    }
    LIANA_TRY(liana__shared_model_take_weights(own->shared, error));
    LIANA_TRY(liana__job_take(&liana__job_evaluate_door, &given, NULL, &own->arena, &job, error));
    job.precision = (int)model->precision;
    liana__objective_request asked = {.model = model, .predicts = liana__model_has_no_loss(model)};
    LIANA_TRY(liana__model_find_objective(&job, NULL, false, &own->arena, &asked, &objective, error));
    liana__training_options wanted = {.trainer = {.model = model,
                                                  .objective = objective,
                                                  .inputs = inputs,
                                                  .scale = own->scale,
                                                  .fractions = true,
                                                  .values = own->shared->weights,
                                                  .unprepared = true},
                                      .context = own->context};
    own->is_compiled = true;
    LIANA_TRY(liana__job_compile(&job, NULL, &wanted, &own->arena, &own->training, error));
    return find_outputs(own, objective, error);
}

/* The next size of a shard that is compiled: 1, 2, 3, 4, 6, 8, 12, 16, ... At most a third of a shard is copies. */
static int64_t round_up(int64_t size)
{
    int64_t power = 1;
    while (power < size) power *= 2;
    return power >= 4 && power / 4 * 3 >= size ? power / 4 * 3 : power;
}

/* A batch is cut into shards of one size. */
static int64_t find_computed(const liana_predictor *own, int64_t count)
{
    const int64_t microbatch = liana__trainer_microbatch(own->training.trainer);
    const liana__cut cut = liana__cut_batch(count, microbatch);
    const int64_t size = round_up(liana__cut_size(&cut, 0));
    const int64_t computed = cut.count * (size < microbatch ? size : microbatch);
    return computed < own->facts.batch_size ? computed : own->facts.batch_size;
}

static liana_status prepare_sizes(liana_predictor *own, liana__error *error)
{
    const int64_t batch_size = own->facts.batch_size;
    liana__step *step = own->training.trainer->step;
    own->computed = malloc((size_t)(batch_size + 1) * sizeof *own->computed);
    if (!own->computed) return liana__fail_memory(error, "a predictor");
    const bool is_stateful = liana__model_stateful_layer(own->shared->model) != NULL;
    int64_t last = 0;
    for (int64_t count = 1; count <= batch_size; count++) {
        own->computed[count] = is_stateful ? batch_size : find_computed(own, count);
        if (own->computed[count] != last) LIANA_TRY(liana__step_prepare(step, own->computed[count], false, error));
        last = own->computed[count];
    }
    return LIANA_OK;
}

static liana_status make_room(liana_predictor *own, liana__error *error)
{
    const size_t count = (size_t)own->facts.batch_size;
    own->positions = malloc(count * sizeof *own->positions);
    own->rows = malloc(count * (size_t)own->facts.num_values * sizeof *own->rows);
    bool enough = own->positions && own->rows;
    for (size_t i = 0; i < own->facts.num_inputs; i++) {
        liana__predictor_input *input = &own->inputs[i];
        input->rows = liana__allocate_zeroed(count * input->row_size);
        enough = enough && input->rows;
    }
    if (!enough) return liana__fail_memory(error, "a predictor");
    for (size_t i = 0; i < count; i++) own->positions[i] = i;
    return LIANA_OK;
}

static bool knows_scale(const liana_predictor *own)
{
    return own->facts.takes_images && own->facts.preprocessing.scale != LIANA_SCALE_AUTO;
}

liana_status liana__predictor_compile(liana_predictor *own, const liana_predictor_options *options, liana__error *error)
{
    LIANA_TRY(liana__model_check(own->shared->model, error));
    find_facts(own, options);
    LIANA_TRY(find_inputs(own, options, error));
    find_image(own);
    LIANA_TRY(open_training(own, options, error));
    LIANA_TRY(prepare_sizes(own, error));
    LIANA_TRY(make_room(own, error));
    if (!knows_scale(own)) return LIANA_OK;
    const liana_status status = liana_image_decoder_create(own, NULL, &own->decoder);
    return status == LIANA_OK ? LIANA_OK : liana__fail_as(error, &own->context->error);
}
