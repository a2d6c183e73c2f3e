/* The limits of the forms of Keras's architecture files: names, and parts of a model that a form cannot say. */
#include "layers/keras/keras_form.h"

#include "base/scoped.h"
#include "layers/keras/keras_activation.h"
#include "layers/keras/keras_older.h"
#include "layers/keras/tfjs_form.h"

#include <liana/layers/preprocessing.h>
#include <string.h>

static const liana__keras_kind kinds[] = {
    {"_initializer", &liana__initializer_kind, "keras.initializers", "an initialiser of liana"},
    {"_regularizer", &liana__regularizer_kind, "keras.regularizers", "a regulariser of liana"},
    {"_constraint", &liana__constraint_kind, "keras.constraints", "a constraint of liana"},
    {"activation", &liana__activation_kind, "keras.activations", "an activation of liana"},
};

const liana__keras_kind *liana__keras_kind_of(const char *key)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (liana__ends_with(key, kinds[i].ending)) return &kinds[i];
    }
    return NULL;
}

const char *liana__keras_output_name(const liana_model *model, size_t scope, size_t index)
{
    return scope == LIANA__NONE ? liana__model_output(model, index).name : model->nested[scope].output_names[index];
}

bool liana__keras_names_outputs(const liana_model *model, size_t scope)
{
    liana__scope_result results[LIANA_MAX_MODEL_OUTPUTS];
    size_t count = model->num_nodes ? liana__scope_outputs(model, scope, results) : 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = liana__keras_output_name(model, scope, i);
        const char *layer = liana__scope_item_name(model, results[i].item);
        size_t length = strlen(layer);
        /* "dense", or "dense_1" where a layer has several outputs. */
        bool usual = strncmp(name, layer, length) == 0 &&
                     (!name[length] ||
                      (name[length] == '_' && strspn(name + length + 1, "0123456789") == strlen(name + length + 1)));
        if (!usual) return true;
    }
    return false;
}

bool liana__keras_is_functional(const liana_model *model, size_t scope)
{
    bool said = scope == LIANA__NONE ? model->functional : model->nested[scope].functional;
    /* A Sequential has no operations, and no names of outputs. */
    liana__scope_item item;
    for (size_t next = 0; liana__scope_next(model, scope, &next, &item);) {
        said = said || (!item.is_nested && model->layers[item.index].type == &liana__layer_operation);
    }
    return said || !liana__scope_is_sequential(model, scope) || liana__keras_names_outputs(model, scope);
}

/* Whether a name is this one, '/' or not. */
static bool is_same(const char *name, const char *without)
{
    while (*name && (*name == '/' ? '_' : *name) == *without) {
        name++;
        without++;
    }
    return *name == *without;
}

static size_t count_items(const liana_model *model, size_t scope, const char *without)
{
    size_t count = 0;
    liana__scope_item item;
    for (size_t next = 0; liana__scope_next(model, scope, &next, &item);) {
        count += is_same(liana__scope_item_name(model, item), without);
    }
    return count;
}

const char *liana__keras_item_name(const liana_model *model, size_t scope, liana__scope_item item,
                                   liana__keras_form form, liana__arena *arena)
{
    const char *name = liana__scope_item_name(model, item);
    if (form == LIANA__TFJS) return item.is_nested ? model->nested[item.index].name : model->layers[item.index].name;
    if (form == LIANA__KERAS2 || !strchr(name, '/')) return name;
    char *made = liana__arena_string(arena, name);
    for (char *c = made; c && *c; c++) {
        if (*c == '/') *c = '_';
    }
    return made && count_items(model, scope, made) > 1 ? name : made;
}

/* ---- limits of a form ---- */

/* All that was found, one after the other. */
typedef struct findings {
    liana__keras_form form;
    size_t count;
    liana__text text;
} findings;

enum { MOST_FINDINGS = 20 };

static void add(findings *found, const char *layer, const char *what, const char *name, const char *advice)
{
    if (found->count++ >= MOST_FINDINGS) return;
    liana__text_add(&found->text, "; layer '%.60s': %s%.60s%s%s", layer, what, name, *advice ? ": " : "", advice);
}

static void check_activation(findings *found, const liana_model *model, const char *layer, const char *text)
{
    const char *why;
    LIANA__SCOPED(liana__arena) arena = {0};
    if (liana__activation_to_keras(model->context, &arena, text, found->form, &why)) return;
    add(found, layer, "the activation ", text, why ? why : "out of memory");
}

static void check_options(findings *found, const liana_model *model, const liana__layer *layer, const char *name)
{
    const liana_options *table = &layer->type->part.options;
    for (size_t i = 0; i < table->count; i++) {
        const liana__keras_kind *kind = liana__keras_kind_of(table->items[i].name);
        if (!kind || table->items[i].kind != LIANA_OPTION_STRING) continue;
        const char *text = liana__layer_option_text(layer, table->items[i].name);
        if (!text || !*text) continue;
        if (liana__keras_is_own(kind->kind, text)) add(found, name, table->items[i].name, " of a program's own", "");
        if (kind->kind == &liana__activation_kind) check_activation(found, model, name, text);
    }
}

/* A layer, and those that it holds. */
static void check_layer(findings *found, const liana_model *model, const liana__layer *layer, const char *name)
{
    const char *class_name = layer->type->part.name;
    const liana_held_layer *held;
    if (liana__keras_is_own(&liana__layer_kind, class_name)) {
        add(found, name, "its class ", class_name, "Keras has no such layer");
    }
    if (found->form != LIANA__KERAS3 && layer->type == &liana__layer_operation) {
        add(found, name, "the operation ", liana__layer_option_text(layer, "function"), "Keras 3 has such nodes");
        return;
    }
    if (found->form == LIANA__KERAS2 && liana__keras_is_newer(layer->type)) {
        add(found, name, "its class ", class_name, "Keras 2 has no such layer");
    }
    const char *newer =
        found->form == LIANA__KERAS2 ? liana__keras_find_newer_option(layer->type, layer->options) : NULL;
    if (newer) add(found, name, "the option ", newer, "Keras 2's layer does not have it");
    check_options(found, model, layer, name);
    for (size_t next = 0; (held = liana__held_next(layer->type, layer->options, &next, NULL)) != NULL;) {
        const liana__layer inner = {.type = held->type, .options = (void *)(uintptr_t)held->options};
        check_layer(found, model, &inner, name);
    }
}

static void check_item(findings *found, const liana_model *model, size_t scope, liana__scope_item item)
{
    const char *name = liana__scope_item_name(model, item);
    if (found->form == LIANA__KERAS3 && liana__scope_item_infers(model, item)) {
        add(found, name, "training: false", "", "a fit of Keras 3 calls every layer as in training");
    }
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *own = liana__keras_item_name(model, scope, item, found->form, &arena);
    if (found->form == LIANA__KERAS3 && (!own || strchr(own, '/'))) {
        add(found, name, "its name has a '/'", "", "and the name with '_' in its place is taken");
    }
    if (found->form == LIANA__TFJS && !liana__tfjs_takes_name(own)) {
        add(found, name, "its name", "",
            "TensorFlow.js takes letters, digits, '.', '-', '_' and '/', and a letter or digit first");
    }
    if (item.is_nested) return;
    const liana__layer *layer = &model->layers[item.index];
    check_layer(found, model, layer, name);
    if (found->form != LIANA__TFJS) return;
    const liana__tfjs_fault fault = liana__tfjs_find_fault(model, item.index);
    if (fault.what) add(found, name, fault.what, fault.name, fault.advice);
}

static void check_scope(findings *found, const liana_model *model, size_t scope)
{
    liana__scope_item item;
    for (size_t next = 0; liana__scope_next(model, scope, &next, &item);) {
        check_item(found, model, scope, item);
        if (item.is_nested) check_scope(found, model, item.index);
    }
    if (found->form == LIANA__KERAS3 || !liana__keras_names_outputs(model, scope)) return;
    liana__scope_result results[LIANA_MAX_MODEL_OUTPUTS];
    size_t count = liana__scope_outputs(model, scope, results);
    for (size_t i = 0; i < count; i++) {
        const char *name = liana__keras_output_name(model, scope, i);
        const char *layer = liana__scope_item_name(model, results[i].item);
        if (strcmp(name, layer) != 0) add(found, layer, "the name of its output, ", name, "");
    }
}

liana_status liana__model_check_keras(const liana_model *model, liana__keras_form form, liana__error *error)
{
    static const char *const forms[] = {
        [LIANA__KERAS3] = "Keras 3", [LIANA__KERAS2] = "Keras 2", [LIANA__TFJS] = "TensorFlow.js"};
    findings found = {.form = form};
    const char *model_name = liana__model_name(model);
    if (form == LIANA__KERAS3 && strchr(model_name, '/')) add(&found, model_name, "the model's name has a '/'", "", "");
    check_scope(&found, model, LIANA__NONE);
    liana_status status = LIANA_OK;
    if (found.count > MOST_FINDINGS) {
        liana__text_add(&found.text, "; and %zu more", found.count - MOST_FINDINGS);
    }
    if (found.text.failed) {
        status = liana__fail_memory(error, "the check of a model");
    } else if (found.count) {
        status = liana__fail(error, LIANA_UNIMPLEMENTED, "the form of %s cannot say all of the model '%s'%s",
                             forms[form], liana__model_name(model), found.text.data);
    }
    liana__text_free(&found.text);
    return status;
}
