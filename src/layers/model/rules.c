/* Regularisers and constraints of a model: the options X_regularizer and X_constraint of its layers, where X is a
 * weight ("kernel", "depthwise" for depthwise_kernel) or "activity". */
#include "base/scoped.h"
#include "layers/activations.h"
#include "layers/model.h"

#include "ir/graph.h"
#include "ir/shape.h"

#include <stdio.h>
#include <string.h>

static const char regularizer_end[] = "_regularizer", constraint_end[] = "_constraint",
                  initializer_end[] = "_initializer";
static const char activity_option[] = "activity_regularizer";

/* ---- options ---- */

/* Reads the part that an option names, by the end of the option's own name. */
static liana_status read_option(const liana_context *context, const char *name, const char *text, liana__arena *arena,
                                liana__regularizer *regularizer, liana__error *error)
{
    liana__constraint constraint;
    liana__initializer initializer;
    liana__activation activation;
    if (liana__ends_with(name, regularizer_end)) {
        return liana__regularizer_read(context, text, arena, regularizer, error);
    }
    if (liana__ends_with(name, constraint_end)) return liana__constraint_read(context, text, arena, &constraint, error);
    if (liana__ends_with(name, initializer_end)) return liana__initializer_parse(context, text, &initializer, error);
    if (liana__ends_with(name, "activation")) return liana__activation_read(context, text, arena, &activation, error);
    return LIANA_OK;
}

static liana_status check_option(liana_check *check, const liana_option *field, liana__arena *arena)
{
    const char *text = *(const char *const *)((const char *)check->options + field->offset);
    liana__regularizer regularizer;
    liana__error reason = {0};
    if (!text && field->default_text && liana__ends_with(field->name, initializer_end)) {
        return liana_option_refuse(check, field->name, "an initialiser is needed, such as zeros");
    }
    if (!text) return LIANA_OK;
    const liana_status status = read_option(check->context, field->name, text, arena, &regularizer, &reason);
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(check->error, field->name);
    if (status != LIANA_OK) return liana_option_refuse(check, field->name, "%s", reason.message);
    if (strcmp(field->name, activity_option) != 0 || regularizer.type->is_by_element) return LIANA_OK;
    return liana_option_refuse(
        check, field->name,
        "found '%s', which reads several examples at once; expected one that works by element, such as l1, l2 or l1_l2",
        text);
}

liana_status liana__check_named_parts(liana_check *check, const liana_options *fields)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    for (size_t i = 0; i < fields->count; i++) {
        const liana_option *field = &fields->items[i];
        if (field->kind == LIANA_OPTION_STRING) LIANA_TRY(check_option(check, field, &arena));
    }
    return LIANA_OK;
}

const char *liana__layer_option_text(const liana__layer *layer, const char *name)
{
    const liana_option *field = liana__fields_find(&layer->type->part.options, name);
    if (!field || field->kind != LIANA_OPTION_STRING) return NULL;
    return *(const char *const *)((const char *)layer->options + field->offset);
}

/* Keras names the options of depthwise_kernel and pointwise_kernel without "_kernel". */
static const char *weight_option(const liana__layer *layer, const liana__weight *weight, const char *end, char *name,
                                 size_t size)
{
    static const char suffix[] = "_kernel";
    const char *slash = strrchr(weight->short_name, '/'), *own = slash ? slash + 1 : weight->short_name;
    size_t length = strlen(own);
    if (liana__ends_with(own, suffix)) length -= strlen(suffix);
    snprintf(name, size, "%.*s%s", (int)length, own, end);
    return liana__layer_option_text(layer, name);
}

liana_status liana__read_activity_rule(liana_model *model, liana__layer *layer, liana__error *error)
{
    const char *text = liana__layer_option_text(layer, activity_option);
    if (layer->type->activity_regularizer) {
        char written[256] = "";
        layer->type->activity_regularizer(layer->options, written, sizeof written);
        text = liana__arena_string(&model->arena, written);
        if (!text) return liana__fail_memory(error, "a model");
    }
    if (!text) return LIANA_OK;
    return liana__regularizer_read(model->context, text, &model->arena, &layer->activity_regularizer, error);
}

static liana_status read_regularizer(liana_model *model, liana__weight *weight, const char *option, const char *text,
                                     liana__error *error)
{
    liana__regularizer *made = &weight->regularizer;
    LIANA_TRY(liana__regularizer_read(model->context, text, &model->arena, made, error));
    const char *expected = made->type->refuse ? made->type->refuse(made->options, &weight->shape) : NULL;
    if (!expected) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "%s: the weight '%s' is %s, but %s needs %s", option,
                       weight->short_name, liana__shape_print(&weight->shape).text, made->type->part.name, expected);
}

static liana_status read_constraint(liana_model *model, liana__weight *weight, const char *option, const char *text,
                                    liana__error *error)
{
    liana__constraint *made = &weight->constraint;
    LIANA_TRY(liana__constraint_read(model->context, text, &model->arena, made, error));
    liana_status status = liana__constraint_fits(made, &weight->shape, error);
    if (status == LIANA_OK) return LIANA_OK;
    return liana__fail_within(error, "%s: %s of the weight '%s' %s", option, made->type->part.name, weight->short_name,
                              liana__shape_print(&weight->shape).text);
}

liana_status liana__read_weight_rules(liana_layer_build *build, liana__weight *weight)
{
    char option[128];
    const liana__layer *whole = &build->model->layers[build->layer];
    const liana__layer held = {.type = build->held ? build->held->type : NULL,
                               .options = (void *)(uintptr_t)build->options};
    const liana__layer *layer = build->held ? &held : whole;
    const char *text = weight_option(layer, weight, regularizer_end, option, sizeof option);
    if (!text) text = build->regularizer;
    if (text) LIANA_TRY(read_regularizer(build->model, weight, option, text, build->error));
    text = weight_option(layer, weight, constraint_end, option, sizeof option);
    if (!text) text = build->constraint;
    return text ? read_constraint(build->model, weight, option, text, build->error) : LIANA_OK;
}

/* ---- questions ---- */

/* Whether a layer that it holds, and calls as a layer, has a penalty. */
static bool holds_penalty(const liana__layer *layer)
{
    const liana_held_layer *held;
    bool found = false;
    for (size_t next = 0; layer->type == &liana__layer_bidirectional &&
                          (held = liana__held_next(layer->type, layer->options, &next, NULL)) != NULL;) {
        const liana__layer inner = {.type = held->type, .options = (void *)(uintptr_t)held->options};
        found = found || liana__layer_option_text(&inner, activity_option);
    }
    return found;
}

bool liana__model_is_regularized(const liana_model *model)
{
    bool found = false;
    for (size_t i = 0; i < model->num_weights; i++) found |= model->weights[i].regularizer.type != NULL;
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        found |= layer->activity_regularizer.type || layer->type->adds_loss || holds_penalty(layer);
    }
    return found;
}

/* Keras 3's rule: weights that training does not change have no penalty. */
bool liana__weight_is_regularized(const liana_model *model, size_t weight)
{
    return model->weights[weight].regularizer.type && liana__weight_trainable(model, weight);
}

bool liana__weight_is_needed_whole(const liana_model *model, size_t weight)
{
    const liana__weight *item = &model->weights[weight];
    bool regularizer = liana__weight_is_regularized(model, weight) && !item->regularizer.type->is_by_element;
    return regularizer || (item->constraint.type && !item->constraint.type->is_by_element);
}
