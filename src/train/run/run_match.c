/* The component of the data for each input of the model, and the targets of its outputs. */
#include "known/known_weights.h"
#include "models/imagenet.h"
#include "train/run/run_internal.h"

#include <string.h>

/* The names that the configuration gives to inputs and targets. */
static void find_names(const liana__run *run, const liana_model *model, liana__data_names *names)
{
    const liana__data_config *data = &run->config->data;
    const liana__component_map *inputs = &data->model_inputs, *targets = &data->model_targets;
    *names =
        (liana__data_names){.weight = data->example_weight, .inputs_key = "data.inputs", .targets_key = "data.targets"};
    size_t num_inputs = liana__model_num_inputs(model), num_outputs = liana__model_num_outputs(model);
    for (size_t i = 0; inputs->count && i < num_inputs && i < LIANA__MAX_INPUTS; i++) {
        names->inputs[i] = liana__component_for(inputs, liana__model_input(model, i).name, num_inputs == 1);
    }
    for (size_t i = 0; targets->count && i < num_outputs && i < LIANA__MAX_OUTPUTS; i++) {
        names->targets[i] = liana__component_for(targets, liana__model_output(model, i).name, num_outputs == 1);
    }
}

/* The column that is an output's target, as far as the configuration tells without data. NULL: none. */
static const liana__column *target_column(const liana__run *run, size_t output)
{
    const liana__columns *columns = &run->config->data.components;
    liana__data_names names;
    liana__data_match match;
    liana__column_components components;
    if (!columns->count) return NULL;
    find_names(run, run->model, &names);
    const char *given = names.targets[output] ? names.targets[output] : liana__model_output(run->model, output).name;
    const liana__column *column = liana__columns_get(columns, given);
    if (column || names.targets[output]) return column;
    bool found =
        liana__columns_components(columns, &components, NULL) == LIANA_OK &&
        liana__data_match_list(run->model, components.items, components.count, &names, true, &match, NULL) == LIANA_OK;
    return found && match.targets[output].name ? liana__columns_get(columns, match.targets[output].name) : NULL;
}

bool liana__run_compares_label(const liana__run *run, size_t output)
{
    liana__data_names names;
    const size_t count = liana__model_num_outputs(run->model);
    if (output >= count || output >= LIANA__MAX_OUTPUTS) return false;
    find_names(run, run->model, &names);
    if (names.targets[output]) return strcmp(names.targets[output], "label") == 0;
    return count == 1 || strcmp(liana__model_output(run->model, output).name, "label") == 0;
}

/* A network as Keras gives it, with its own classifier. A run may have trained one for 1,000 classes of its own, unless
 * it began with weights that are known by a name. */
static bool says_imagenet(const liana__run *run)
{
    const liana__model_config *config = &run->config->model;
    const bool is_known = config->weights && liana__weights_are_named(config->weights, config->weights);
    return !run->class_names.count && (is_known || run->untrained) && liana__has_imagenet_classifier(run->model);
}

static liana__strings label_names(const liana__run *run)
{
    if (!says_imagenet(run)) return run->class_names;
    return (liana__strings){LIANA_IMAGENET_CLASSES, liana__imagenet_names};
}

/* Columns of 0 and 1 are several labels, for a sigmoid each. */
static bool has_labels(const liana__run *run, size_t output, const liana__column *column)
{
    if (!run->core.trainer) return false;
    const liana__objective_output *of = &liana__trainer_objective(run->core.trainer)->outputs[output];
    return of->activation == LIANA_LOGITS_SIGMOID && liana_shape_size(&of->shape) == (int64_t)column->from.count &&
           column->from.count > 1;
}

liana__strings liana__run_output_names(const liana__run *run, size_t output)
{
    const liana__column *column = output < LIANA__MAX_OUTPUTS ? target_column(run, output) : NULL;
    if (column && column->category) return column->vocabulary;
    if (column && column->stacked && has_labels(run, output, column)) return column->from;
    /* Where no column is the label, data.class_names are the names of the only output's classes. */
    const liana__columns *columns = &run->config->data.components;
    const bool only = liana__model_num_outputs(run->model) == 1 && column && !liana__columns_get(columns, "label");
    return only || liana__run_compares_label(run, output) ? label_names(run) : (liana__strings){0};
}

liana_status liana__run_match_part(liana__run *run, liana__run_data *part, liana__error *error)
{
    liana__data_names names;
    bool labelled = part == &run->training || part == &run->validation || part == &run->examples;
    find_names(run, run->model, &names);
    if (!labelled) memset(names.targets, 0, sizeof names.targets);
    return liana__data_match_find(run->model, part->source, &names, labelled, &part->match, error);
}

size_t liana__run_find_truth(const liana__run *run, const liana__source *source)
{
    const liana__column *column = target_column(run, 0);
    if (!column) return source->has_labels && liana__run_compares_label(run, 0) ? LIANA_MAX_COMPONENTS : SIZE_MAX;
    for (size_t i = 0; i < source->num_components; i++) {
        const liana_component *component = &source->components[i];
        const bool is_number = component->dtype != LIANA_STRING && liana_shape_size(&component->shape) == 1;
        if (is_number && strcmp(component->name, column->name) == 0) return i;
    }
    return SIZE_MAX;
}

liana_status liana__run_match_inputs(const liana__run *run, const liana_model *model, const liana__source *source,
                                     liana__data_match *match, liana__error *error)
{
    liana__data_names names;
    find_names(run, model, &names);
    memset(names.targets, 0, sizeof names.targets);
    return liana__data_match_find(model, source, &names, false, match, error);
}

/* The model must have the inputs and outputs that the configuration names. */
static liana_status check_map(const liana__run *run, const liana__component_map *map, bool of_inputs,
                              liana__error *error)
{
    const liana_model *model = run->model;
    const char *key = of_inputs ? "data.inputs" : "data.targets", *kind = of_inputs ? "input" : "output";
    const size_t count = of_inputs ? liana__model_num_inputs(model) : liana__model_num_outputs(model);
    const liana__place place = liana__config_place(run->config, key);
    if (map->count == 1 && !map->names[0]) {
        if (count == 1) return LIANA_OK;
        return liana__fail_at(error, &place, key, "the model has %zu %ss; say which one is '%.100s': {%s: %.100s}",
                              count, kind, map->components[0],
                              (of_inputs ? liana__model_input(model, 0) : liana__model_output(model, 0)).name,
                              map->components[0]);
    }
    for (size_t i = 0; i < map->count; i++) {
        liana__nearest_search search = liana__nearest_begin(map->names[i]);
        bool found = false;
        for (size_t k = 0; k < count; k++) {
            const char *name = (of_inputs ? liana__model_input(model, k) : liana__model_output(model, k)).name;
            found = found || strcmp(name, map->names[i]) == 0;
            liana__nearest_add(&search, name);
        }
        if (found) continue;
        return liana__fail_at(error, &place, key, "the model has no %s '%.100s' for the component '%.100s'%s", kind,
                              map->names[i], map->components[i], liana__hint(search.nearest).text);
    }
    return LIANA_OK;
}

/* Inputs that take images of any size take those of the run. */
static liana_status take_image_size(liana__run *run, liana__error *error)
{
    liana_shape shapes[LIANA_MAX_LAYER_INPUTS] = {{0}};
    for (size_t i = 0; i < liana__model_num_inputs(run->model) && run->image_shape[0]; i++) {
        const liana__model_port port = liana__model_input(run->model, i);
        const bool is_image = port.shape.rank == 4 && port.dtype == LIANA_F32;
        if (!is_image || !port.free) continue;
        shapes[i] = liana_shape_of(1, run->image_shape[0], run->image_shape[1], run->image_shape[2]);
    }
    return liana__model_set_input_shapes(run->model, shapes, error);
}

liana_status liana__run_find_match(liana__run *run, liana__error *error)
{
    LIANA_TRY(check_map(run, &run->config->data.model_inputs, true, error));
    LIANA_TRY(check_map(run, &run->config->data.model_targets, false, error));
    LIANA_TRY(take_image_size(run, error));
    liana__run_data *part = run->training.source ? &run->training : &run->validation;
    if (!part->source) return LIANA_OK;
    LIANA_TRY(liana__run_match_part(run, part, error));
    return liana__data_match_take_sizes(run->model, &part->match, error);
}
