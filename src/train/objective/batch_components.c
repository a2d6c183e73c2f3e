/* Finds the components of the data for the inputs and targets of a model, and a trainer's inputs in a batch. */
#include "train/objective/batch_components.h"

#include "base/named.h"
#include "base/scoped.h"
#include "ir/shape.h"
#include "layers/preprocessing/texts.h"

#include <string.h>

/* ---- the components of the data ---- */

/* All components of a source: those of files with images are not listed there. */
typedef struct component_list {
    liana_component items[LIANA_MAX_COMPONENTS + 3];
    size_t count;
} component_list;

static const liana_component *find(const component_list *list, const char *name)
{
    for (size_t i = 0; name && i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) return &list->items[i];
    }
    return NULL;
}

static component_list list_components(const liana__source *source)
{
    component_list list = {.count = source->num_components};
    for (size_t i = 0; i < source->num_components; i++) list.items[i] = source->components[i];
    if (!source->lacks_images && !find(&list, "image")) {
        list.items[list.count++] = (liana_component){"image", LIANA_STRING, LIANA_SCALAR};
    }
    if (source->has_labels && !find(&list, "label")) {
        list.items[list.count++] = (liana_component){"label", LIANA_S64, LIANA_SCALAR};
    }
    return list;
}

/* ---- finding ---- */

/* A search; `used` says which components something else uses. */
typedef struct search {
    const liana_model *model;
    component_list list;
    bool used[LIANA_MAX_COMPONENTS + 3];
    bool labels_are_components; /* records have no label apart from their components */
    const liana__data_names *names;
    liana__data_match *match;
    liana__error *error;
} search;

static const liana_component *use(search *own, const liana_component *component)
{
    if (component) own->used[component - own->list.items] = true;
    return component;
}

static liana_status fail_missing(const search *own, const char *what, const char *port, const char *named,
                                 const char *key)
{
    LIANA__SCOPED(liana__text) known = {0};
    for (size_t i = 0; i < own->list.count; i++) {
        liana__text_add(&known, "%s'%s'", i ? ", " : "", own->list.items[i].name);
    }
    const liana__named list = LIANA__NAMED(liana_component, own->list.items, own->list.count);
    return named
               ? liana__fail(own->error, LIANA_INVALID_ARGUMENT,
                             "the %s '%s' is to be the component '%.100s', which the data do not have; they have %s%s",
                             what, port, named, known.data ? known.data : "nothing",
                             liana__hint(liana__named_nearest(list, named)).text)
               : liana__fail(own->error, LIANA_INVALID_ARGUMENT,
                             "the data have no component for the %s '%s'; they have %s; say which one it is with %s",
                             what, port, known.data ? known.data : "nothing", key ? key : "inputs and targets");
}

/* Those that have names of their own are never taken for something else. */
static bool is_free(const search *own, const liana_component *component)
{
    static const char *const reserved[] = {"id", "image", "label", "valid", "mask"};
    if (own->used[component - own->list.items]) return false;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (strcmp(component->name, reserved[i]) == 0) return false;
    }
    return !own->names->weight || strcmp(component->name, own->names->weight) != 0;
}

static const liana_component *first_free(search *own)
{
    for (size_t i = 0; i < own->list.count; i++) {
        if (is_free(own, &own->list.items[i])) return &own->list.items[i];
    }
    return NULL;
}

/* By names alone; NULL: missing. */
static const liana_component *by_name(search *own, const char *given, const char *port, const char *usual)
{
    if (given) return find(&own->list, given);
    const liana_component *found = find(&own->list, port);
    return found ? found : find(&own->list, usual);
}

static liana_status find_inputs(search *own)
{
    size_t count = liana__model_num_inputs(own->model);
    for (size_t i = 0; i < count; i++) {
        liana__model_port port = liana__model_input(own->model, i);
        bool only = count == 1;
        const char *given = own->names->inputs[i];
        const liana_component *found = by_name(own, given, port.name, only && port.shape.rank == 4 ? "image" : NULL);
        if (!found && !given && only && port.shape.rank != 4) found = first_free(own);
        if (!found) return fail_missing(own, "input", port.name, given, own->names->inputs_key);
        own->match->inputs[i] = *use(own, found);
        bool is_image = strcmp(found->name, "image") == 0 && port.shape.rank == 4;
        own->match->has_image |= is_image;
        if (found->dtype == LIANA_STRING && !is_image && !port.texts) {
            return liana__fail(
                own->error, LIANA_INVALID_ARGUMENT,
                "the component '%s' holds strings, which the input '%s' does not read; give its values numbers, "
                "or the model an input of dtype string with a StringLookup, TextVectorization or Hashing",
                found->name, port.name);
        }
    }
    return LIANA_OK;
}

static liana_status find_targets(search *own, bool wanted)
{
    size_t count = liana__model_num_outputs(own->model);
    for (size_t i = 0; i < count; i++) {
        liana__model_port port = liana__model_output(own->model, i);
        const char *given = own->names->targets[i];
        const liana_component *found = by_name(own, given, port.name, count == 1 ? "label" : NULL);
        if (!found && !given && count == 1 && wanted) found = first_free(own);
        if (!found && wanted) return fail_missing(own, "output", port.name, given, own->names->targets_key);
        const bool is_label = found && strcmp(found->name, "label") == 0;
        /* Where labels are not wanted, a column of them may have anything. */
        if (!found || (!wanted && is_label && own->labels_are_components)) continue;
        if (found->dtype == LIANA_STRING) {
            return liana__fail(own->error, LIANA_INVALID_ARGUMENT,
                               "the component '%s' holds strings, which nothing can be compared with", found->name);
        }
        own->match->targets[i] = *use(own, found);
        own->match->has_label |= i == 0 && is_label && !own->labels_are_components;
    }
    return LIANA_OK;
}

static liana_status search_list(search *own, bool wants_targets)
{
    *own->match = (liana__data_match){0};
    LIANA_TRY(find_inputs(own));
    LIANA_TRY(find_targets(own, wants_targets));
    const char *name = own->names->weight;
    if (!name) return LIANA_OK;
    const liana_component *weight = find(&own->list, name);
    if (!weight && wants_targets) {
        return fail_missing(own, "weight", "of the examples", name, "data.example_weight");
    }
    own->match->weight = weight ? weight->name : NULL;
    return LIANA_OK;
}

static const liana__data_names no_names;

liana_status liana__data_match_list(const liana_model *model, const liana_component *components, size_t count,
                                    const liana__data_names *names, bool wants_targets, liana__data_match *match,
                                    liana__error *error)
{
    search own = {.model = model, .names = names ? names : &no_names, .match = match, .error = error};
    if (count > LIANA_MAX_COMPONENTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "found %zu components, expected at most %d", count,
                           LIANA_MAX_COMPONENTS);
    }
    for (size_t i = 0; i < count; i++) own.list.items[own.list.count++] = components[i];
    return search_list(&own, wants_targets);
}

liana_status liana__data_match_find(const liana_model *model, const liana__source *source,
                                    const liana__data_names *names, bool wants_targets, liana__data_match *match,
                                    liana__error *error)
{
    search own = {.model = model,
                  .list = list_components(source),
                  .labels_are_components = !source->has_labels,
                  .names = names ? names : &no_names,
                  .match = match,
                  .error = error};
    return search_list(&own, wants_targets);
}

liana_status liana__data_match_take_sizes(liana_model *model, const liana__data_match *match, liana__error *error)
{
    liana_shape shapes[LIANA_MAX_LAYER_INPUTS] = {{0}};
    for (size_t i = 0; i < liana__model_num_inputs(model); i++) {
        const liana__model_port port = liana__model_input(model, i);
        const liana_shape *example = &match->inputs[i].shape;
        bool known = match->inputs[i].name && port.free && example->rank == port.shape.rank - 1;
        for (int d = 0; d < example->rank && known; d++) known = example->dims[d] > 0;
        if (!known) continue;
        shapes[i] = (liana_shape){.rank = example->rank + 1, .dims = {1}};
        memcpy(shapes[i].dims + 1, example->dims, (size_t)example->rank * sizeof *example->dims);
    }
    return liana__model_set_input_shapes(model, shapes, error);
}

/* ---- the loader's components ---- */

static bool is_image(const liana_model *model, const liana__data_match *match, size_t input)
{
    return match->has_image && strcmp(match->inputs[input].name, "image") == 0 &&
           liana__model_input(model, input).shape.rank == 4;
}

void liana__data_match_inputs(const liana_model *model, const liana__data_match *match,
                              liana__trainer_input inputs[LIANA__MAX_INPUTS])
{
    for (size_t i = 0; i < liana__model_num_inputs(model); i++) {
        bool image = is_image(model, match, i);
        inputs[i] = (liana__trainer_input){image ? LIANA_U8 : liana__model_input(model, i).dtype, image};
    }
}

/* The shape of an example, without the batch. */
static liana_shape example_shape(liana_shape shape)
{
    for (int i = 1; i < shape.rank; i++) shape.dims[i - 1] = shape.dims[i];
    if (shape.rank) shape.rank--;
    return shape;
}

static liana_status add(liana__batch_plan *plan, liana__component_name name, liana__wanted_component item,
                        liana__error *error)
{
    if (plan->count == LIANA_MAX_COMPONENTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "a batch has more than %d components", LIANA_MAX_COMPONENTS);
    }
    plan->names[plan->count] = name;
    item.name = plan->names[plan->count].text;
    plan->items[plan->count++] = item;
    return LIANA_OK;
}

/* Values outside the domain of the loss are found where the record is known. Steps that a mask leaves out may have any
 * value. */
static liana_status check_target(const liana__wanted_component *component, const void *values, liana__error *error)
{
    const liana_loss_type *loss = component->check_options;
    const liana_shape *shape = &component->shape;
    const int64_t classes = shape->rank ? shape->dims[shape->rank - 1] : 1;
    return liana__target_check(loss->range, values, liana_shape_size(shape), classes, component->from, loss->part.name,
                               error);
}

liana__row_of_texts liana__port_texts(const liana__model_port *port)
{
    if (!port->texts) return (liana__row_of_texts){0};
    return (liana__row_of_texts){.run = port->texts->run,
                                 .state = port->text_state,
                                 .count = liana_shape_size(&port->texts_shape),
                                 .fingerprint = port->text_fingerprint};
}

static liana_status add_target(const liana__trainer *trainer, const liana__data_match *match, size_t index,
                               liana__batch_plan *plan, liana__error *error)
{
    const liana__trainer_options *options = liana__trainer_options_of(trainer);
    const liana__objective_output *output = &options->objective->outputs[index];
    if (match->has_label && index == 0 && output->target == LIANA_TARGET_CLASSES && output->target_shape.rank > 1) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the model's output is %s, but the data have one label for each example, so it must be "
                           "[batch, classes]; end the model in a pooling or Flatten layer and a Dense layer",
                           liana__shape_print(&output->shape).text);
    }
    const bool is_label =
        index == 0 && match->has_label && output->target == LIANA_TARGET_CLASSES && output->target_shape.rank == 1;
    const liana_loss_type *loss = output->choice.loss;
    const bool checked = output->target == LIANA_TARGET_VALUES && loss->range != LIANA_RANGE_ANY && !output->masked;
    plan->partners[index] = liana__partner_component(options->objective, index);
    return add(plan, liana__target_component(options->objective, index),
               (liana__wanted_component){.maker = is_label ? LIANA__MAKE_LABEL : LIANA__MAKE_VALUES,
                                         .from = match->targets[index].name,
                                         .dtype = output->target_dtype,
                                         .shape = example_shape(output->target_shape),
                                         .partners = plan->partners[index].text,
                                         .check = checked ? check_target : NULL,
                                         .check_options = loss,
                                         .check_name = loss->part.name},
               error);
}

liana_status liana__batch_plan_make(const liana__trainer *trainer, const liana__data_match *match,
                                    liana__batch_plan *plan, liana__loader_options *loader, liana__error *error)
{
    const liana__trainer_options *options = liana__trainer_options_of(trainer);
    *plan = (liana__batch_plan){0};
    loader->image.fractions = options->fractions;
    for (size_t i = 0; i < liana__model_num_inputs(options->model); i++) {
        liana__model_port port = liana__model_input(options->model, i);
        bool image = is_image(options->model, match, i);
        LIANA_TRY(add(plan, liana__input_component(options->model, i),
                      (liana__wanted_component){.maker = image ? LIANA__MAKE_IMAGE : LIANA__MAKE_VALUES,
                                                .from = match->inputs[i].name,
                                                .dtype = port.dtype,
                                                .shape = example_shape(port.shape),
                                                .texts = liana__port_texts(&port)},
                      error));
    }
    for (size_t i = 0; i < options->objective->num_outputs; i++) {
        if (!options->objective->outputs[i].choice.loss || !match->targets[i].name) continue;
        LIANA_TRY(add_target(trainer, match, i, plan, error));
    }
    if (options->weighted && match->weight) {
        LIANA_TRY(add(plan, (liana__component_name){LIANA__WEIGHTS},
                      (liana__wanted_component){.maker = LIANA__MAKE_VALUES, .from = match->weight, .dtype = LIANA_F32},
                      error));
    }
    loader->components = plan->items;
    loader->num_components = plan->count;
    return LIANA_OK;
}

/* ---- batches ---- */

/* Numbers of a batch that must be in [0, limit). */
typedef struct bounded {
    const char *what; /* of the model */
    const char *name;
    const char *component; /* of the batch */
    liana_shape shape;     /* of one example, or with the batch's dimension before it */
    int64_t limit;
} bounded;

static liana_status check_bounded(const liana__batch *batch, const liana__loader *loader, const bounded *numbers,
                                  liana__error *error)
{
    const int32_t *values = liana__batch_rows_of(batch, numbers->component);
    const int64_t each = liana_shape_size(&numbers->shape), count = values ? batch->count * each : 0;
    int64_t at = 0;
    while (at < count && values[at] >= 0 && values[at] < numbers->limit) at++;
    if (at == count) return LIANA_OK;
    liana__fail(error, LIANA_OUT_OF_RANGE, "%s '%s': found %d, expected a number in [0, %lld)", numbers->what,
                numbers->name, values[at], (long long)numbers->limit);
    const char *column = liana__loader_column(loader, numbers->component);
    if (column) liana__fail_within(error, "column '%.100s'", column);
    const liana_source_record none = {0};
    return liana__source_fail_within(liana__loader_source(loader), batch->records[at / each], &none, error);
}

liana_status liana__batch_check(const liana__trainer *trainer, const liana__batch *batch, const liana__loader *loader,
                                liana__error *error)
{
    const liana__trainer_options *options = liana__trainer_options_of(trainer);
    for (size_t i = 0; i < trainer->num_inputs; i++) {
        const liana__model_port *port = &trainer->inputs[i];
        const liana__component_name name = liana__port_component(port);
        const bounded ids = {"input", port->name, name.text, port->shape, port->num_ids};
        if (port->num_ids && port->dtype == LIANA_S32) LIANA_TRY(check_bounded(batch, loader, &ids, error));
    }
    for (size_t i = 0; i < options->objective->num_outputs; i++) {
        const liana__objective_output *output = &options->objective->outputs[i];
        const liana__component_name name = liana__target_component(options->objective, i);
        const int64_t limit = output->shape.dims[output->shape.rank - 1];
        const bounded classes = {"target", output->name, name.text, output->target_shape, limit};
        if (output->target == LIANA_TARGET_CLASSES) LIANA_TRY(check_bounded(batch, loader, &classes, error));
    }
    return LIANA_OK;
}
