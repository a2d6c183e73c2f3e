/* Names of a model's layers. */
#include "layers/model.h"

#include "base/named.h"

#include <ctype.h>
#include <string.h>

void liana__snake_case(const char *class_name, char *snake, size_t size)
{
    size_t length = 0;
    /* Keras calls the layer so, but Python's class, by which it makes names, otherwise. */
    if (strcmp(class_name, "GroupQueryAttention") == 0) class_name = "GroupedQueryAttention";
    for (size_t i = 0; class_name[i] && length + 2 < size; i++) {
        unsigned char letter = (unsigned char)class_name[i], next = (unsigned char)class_name[i + 1];
        bool begins = i > 0 && isupper(letter) && (islower(next) || islower((unsigned char)class_name[i - 1]));
        if (begins) snake[length++] = '_';
        snake[length++] = (char)tolower(letter);
    }
    snake[length] = 0;
}

static bool is_taken(const liana_model *model, const char *name)
{
    const liana__named calls = LIANA__NAMED(liana__model_end, model->calls, model->num_calls);
    return liana__named_find(calls, name, NULL) < calls.count || liana__model_find_layer(model, name) >= 0 ||
           liana__model_find_nested(model, name) >= 0;
}

/* NULL: out of memory. */
static liana__name_stem *find_stem(liana_model *model, const char *name)
{
    const liana__named list = LIANA__NAMED(liana__name_stem, model->stems, model->num_stems);
    const size_t index = liana__named_find(list, name, NULL);
    if (index < list.count) return &model->stems[index];
    if (!liana__grow(&model->stems, model->num_stems, &model->stem_capacity, sizeof *model->stems)) return NULL;
    model->stems[index] = (liana__name_stem){.name = liana__arena_string(&model->arena, name)};
    return model->stems[index].name ? &model->stems[model->num_stems++] : NULL;
}

const char *liana__model_free_name(liana_model *model, const char *stem, bool is_input)
{
    liana__name_stem inputs = {"input", 1}, *own = is_input ? &inputs : find_stem(model, stem);
    const char *name = NULL;
    if (!own) return NULL;
    do {
        const int number = own->next++;
        name = number ? liana__arena_format(&model->arena, "%s_%d", own->name, number) : own->name;
    } while (name && is_taken(model, name));
    return name;
}

/* In files a layer's weight is named "layer/weight": the text before the last '/' is the layer's name. */
liana_status liana__model_check_name(const liana_model *model, const char *name, liana__error *error)
{
    size_t length = strlen(name);
    bool path_like = length > 0 && name[0] != '/' && name[length - 1] != '/' && !strstr(name, "//");
    if (!path_like || strchr(name, '\n')) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the layer name '%.60s' is empty, has a line break, or has a '/' at an end or two in a row",
                           name);
    }
    if (liana__starts_with(name, "optimizer/")) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "the layer name '%.60s' begins with 'optimizer/', which is for the optimizer's values in checkpoints",
            name);
    }
    if (!is_taken(model, name)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "there is a layer '%.60s' already; give this one another name",
                       name);
}

liana_status liana__model_name_layer(liana_model *model, const liana__layer_request *request, liana__layer *layer,
                                     liana__error *error)
{
    char stem[64];
    liana__snake_case(request->type->part.name, stem, sizeof stem);
    layer->name = request->name ? liana__arena_string(&model->arena, request->name)
                                : liana__model_free_name(model, stem, request->type->max_inputs == 0);
    if (!layer->name) return liana__fail_memory(error, "a model");
    return liana__model_check_name(model, layer->name, error);
}
