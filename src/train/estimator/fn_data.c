/* The data of an estimator. */
#include "train/estimator/fn_data.h"

#include "ir/shape.h"

#include <string.h>

/* ---- the components of a dataset ---- */

static bool is_named(const char *const *names, const char *name)
{
    for (size_t i = 0; i < LIANA_MAX_OUTPUTS && names[i]; i++) {
        if (strcmp(names[i], name) == 0) return true;
    }
    return false;
}

static bool has_image_shape(const liana_estimator_input *given)
{
    return given->image_shape[0] || given->image_shape[1] || given->image_shape[2];
}

static bool is_image(const liana_component *data)
{
    if (strcmp(data->name, "image") != 0) return false;
    return data->dtype == LIANA_STRING || (data->dtype == LIANA_U8 && data->shape.rank == 3);
}

static void describe_image(const liana_estimator_input *given, liana__fn_component *made)
{
    made->is_image = true;
    made->shape = (liana_shape){4, {1}};
    const int64_t *dims = has_image_shape(given) ? given->image_shape : made->data.shape.dims;
    for (int i = 0; i < 3; i++) made->shape.dims[1 + i] = dims[i];
    bool known = has_image_shape(given) || made->data.dtype != LIANA_STRING;
    /* Resized pixels have fractions; those of files may be of any size. */
    bool exact =
        made->data.dtype == LIANA_U8 && made->data.shape.dims[0] == dims[0] && made->data.shape.dims[1] == dims[1];
    made->dtype = exact ? LIANA_U8 : LIANA_F32;
    if (!known)
        made->refusal = "holds image files, which may be of any size; say to which .image_shape they are resized";
    int64_t channels = made->shape.dims[3];
    if (known && channels != 1 && channels != 3) made->refusal = "has other than 1 or 3 channels";
}

static void describe_values(liana__fn_component *made)
{
    const liana_component *data = &made->data;
    bool is_float = data->dtype != LIANA_STRING && liana__dtype_is_float((liana_dtype)data->dtype);
    made->dtype = is_float ? LIANA_F32 : LIANA_S32;
    made->shape = (liana_shape){data->shape.rank + 1, {1}};
    if (data->dtype == LIANA_STRING) made->refusal = "holds strings, which stay on the host; give its values numbers";
    if (data->shape.rank + 1 > LIANA_MAX_RANK) made->refusal = "has too many dimensions";
    for (int i = 0; !made->refusal && i < data->shape.rank; i++) {
        made->shape.dims[i + 1] = data->shape.dims[i];
        if (data->shape.dims[i] < 0) {
            made->refusal = "has a dimension that is not known: the dataset is batched; give it single examples, the "
                            "estimator makes batches (.batch_size of its configuration)";
        }
    }
    if (made->refusal) made->shape = liana_shape_of(1);
}

liana_status liana__fn_input_describe(const liana_estimator_input *given, const char *const *labels, const char *key,
                                      liana__fn_input *input, liana__error *error)
{
    *input = (liana__fn_input){.given = given};
    if (!given->dataset) return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s.input.dataset is NULL", key);
    for (int i = 0; i < 3 && has_image_shape(given); i++) {
        if (given->image_shape[i] >= 1 && given->image_shape[i] <= INT32_MAX) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s.input.image_shape[%d] is %lld, expected height, width and channels of at least 1", key,
                           i, (long long)given->image_shape[i]);
    }
    const liana_dataset_facts facts = liana_dataset_info(given->dataset);
    const liana_component *components = facts.components;
    liana__fn_data *offered = &input->offered;
    offered->count = facts.num_components;
    offered->scale = given->dataset->scale ? given->dataset->scale : LIANA_SCALE_ZERO_ONE;
    for (size_t i = 0; i < offered->count; i++) {
        liana__fn_component *made = &offered->items[i];
        made->data = components[i];
        made->is_label = is_named(labels, components[i].name);
        if (is_image(&components[i])) {
            describe_image(given, made);
            input->has_images = true;
        } else {
            describe_values(made);
        }
    }
    return LIANA_OK;
}

/* ---- opening ---- */

liana_status liana__fn_input_open(liana__fn_input *input, liana__error *error)
{
    const liana_dataset *dataset = input->given->dataset;
    return input->has_images ? liana__dataset_view(dataset, 0, &input->source, error)
                             : liana__dataset_view_values(dataset, 0, &input->source, error);
}

static const liana__fn_component *find(const liana__fn_input *input, const char *name)
{
    for (size_t i = 0; i < input->offered.count; i++) {
        if (strcmp(input->offered.items[i].data.name, name) == 0) return &input->offered.items[i];
    }
    return NULL;
}

/* The components of other data must be those that the function was called with. */
static liana_status check_component(const liana__fn_component *wanted, const liana__fn_component *found,
                                    liana__error *error)
{
    const char *name = wanted->data.name;
    if (!found) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the data have no component '%s', which the model function asks for", name);
    }
    if (found->refusal)
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the component '%s' %s", name, found->refusal);
    bool widens = found->is_image && wanted->dtype == LIANA_F32;
    bool same = found->is_image == wanted->is_image && (found->dtype == wanted->dtype || widens) &&
                liana_shape_equal(&found->shape, &wanted->shape);
    if (same) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the component '%s' of these data is %s, but the model function was called with %s", name,
                       liana__type_print(found->dtype, &found->shape).text,
                       liana__type_print(wanted->dtype, &wanted->shape).text);
}

/* Whether it is the label of files, which are checked and counted from the dataset's offset. */
static bool is_file_label(const liana__fn_input *input, const liana__fn_component *component)
{
    return input->source->has_labels && strcmp(component->data.name, "label") == 0 && component->shape.rank == 1 &&
           component->dtype == LIANA_S32;
}

static void add_component(liana__fn_input *input, size_t index, const liana__fn_component *component)
{
    liana__wanted_component *item = &input->items[index];
    *item = (liana__wanted_component){.name = input->names[index].text,
                                      .from = component->data.name,
                                      .dtype = component->dtype,
                                      .shape = component->shape};
    for (int i = 1; i < item->shape.rank; i++) item->shape.dims[i - 1] = item->shape.dims[i];
    item->shape.rank--;
    item->maker = component->is_image               ? LIANA__MAKE_IMAGE
                  : is_file_label(input, component) ? LIANA__MAKE_LABEL
                                                    : LIANA__MAKE_VALUES;
}

liana_status liana__fn_input_load(liana__fn_input *input, const liana__function_model *model,
                                  liana__loader_options options, liana__error *error)
{
    const liana_dataset *dataset = input->given->dataset;
    const size_t count = model->function.num_inputs;
    for (size_t i = 0; i < count; i++) {
        const liana__fn_component *wanted = &model->data->items[model->components[i]];
        const liana__fn_component *found = find(input, wanted->data.name);
        LIANA_TRY(check_component(wanted, found, error));
        input->names[i] = liana__port_component(&model->inputs[i]);
        add_component(input, i, found);
        input->items[i].dtype = wanted->dtype;
        if (found->is_image) {
            options.image = (liana__decode_options){.height = found->shape.dims[1],
                                                    .width = found->shape.dims[2],
                                                    .channels = (int)found->shape.dims[3],
                                                    .antialias = dataset->antialias,
                                                    .fractions = wanted->dtype == LIANA_F32};
        }
        if (input->items[i].maker == LIANA__MAKE_LABEL) {
            options.num_classes = model->inputs[i].num_ids;
        }
    }
    options.components = input->items;
    options.num_components = count;
    options.label_offset = dataset->label_offset;
    if (input->source->streams) options.shuffle = false;
    return liana__loader_create(input->source, &options, &input->loader, error);
}

void liana__fn_input_close(liana__fn_input *input)
{
    liana__loader_destroy(input->loader);
    liana__dataset_close_view(input->source);
    *input = (liana__fn_input){0};
}
