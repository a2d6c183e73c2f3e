/* Finds pretrained weights by name. */
#include "train/checkpoint/named_weights.h"

#include "base/scoped.h"
#include "known/download.h"
#include "models/origin.h"

#include <string.h>

liana_status liana__named_weights_fetch(const liana__weights_wanted *wanted, liana__remote *remote,
                                        liana_context *context, const liana__notes *notes, liana__arena *arena,
                                        const char **path, liana__error *error)
{
    const liana__known_file *file;
    const char *note;
    LIANA_TRY(liana__weights_choose(wanted, arena, &file, &note, error));
    if (note) liana__note(notes, "%s", note);
    return remote ? liana__known_fetch_by(remote, context, file, notes, arena, path, error)
                  : liana__known_fetch(context, file, notes, arena, path, error);
}

/* Keras puts a second Rescaling into an EfficientNet that it makes with its own weights: else pixels enter wrongly. */
static liana_status check_rescaling(const liana_model *model, const liana__weights_wanted *wanted, liana__error *error)
{
    const liana__architecture *architecture = liana__architecture_find(wanted->architecture, NULL);
    const bool rescales = liana__fields_find(architecture->options, "imagenet_rescaling") != NULL;
    const liana__known_file *file;
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *note;
    LIANA_TRY(liana__weights_choose(wanted, &arena, &file, &note, error));
    if (!rescales || strcmp(file->set, "imagenet") != 0) return LIANA_OK;
    size_t count = 0;
    for (size_t i = 0; i < model->num_layers; i++) count += model->layers[i].type == &liana__layer_rescaling;
    if (count > 1) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "with the weights '%s' Keras puts a second Rescaling into %s, which this model does not have: "
                       "build it with .imagenet_rescaling = true, or by model.base in a configuration",
                       wanted->set, wanted->architecture);
}

liana__weights_wanted liana__named_weights_for(const char *name, const liana__model_origin *origin)
{
    return (liana__weights_wanted){.set = name,
                                   .architecture = origin->architecture,
                                   .alpha = origin->alpha,
                                   .depth_multiplier = origin->depth_multiplier,
                                   .is_minimalistic = origin->is_minimalistic,
                                   .height = origin->shape[0],
                                   .width = origin->shape[1],
                                   .channels = origin->shape[2],
                                   .include_top = origin->include_top,
                                   .classes = origin->classes};
}

liana_status liana__named_weights_of(const liana_model *model, const char *name, liana__weights_wanted *wanted,
                                     size_t *num_layers, liana__error *error)
{
    liana__model_origin origin;
    if (!liana__model_find_origin(model, &origin)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the weights '%s' belong to an architecture by its name (model.base, 'liana list models'), "
                           "and the model begins with none of them; if a file is meant, write ./%s",
                           name, name);
    }
    *num_layers = origin.num_layers;
    *wanted = liana__named_weights_for(name, &origin);
    return check_rescaling(model, wanted, error);
}
