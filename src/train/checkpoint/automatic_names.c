/* Takes layers with automatic names in the order of their numbers: what a program made before shifts them. */
#include "train/checkpoint/automatic_names.h"

#include <stdlib.h>
#include <string.h>

/* The number in an automatic name: 0 of "conv2d", 3 of "conv2d_3". -1: the name is another one. */
static long number_of(const char *name, const char *stem)
{
    const size_t length = strlen(stem);
    if (strncmp(name, stem, length) != 0) return -1;
    if (!name[length]) return 0;
    char *end;
    const bool has_number = name[length] == '_' && name[length + 1] >= '1' && name[length + 1] <= '9';
    const long number = has_number ? strtol(name + length + 1, &end, 10) : -1;
    return has_number && !*end ? number : -1;
}

typedef struct numbered {
    long number;
    size_t layer;
} numbered;

static int compare_numbers(const void *a, const void *b)
{
    const numbered *one = a, *other = b;
    return (one->number > other->number) - (one->number < other->number);
}

/* The layers of one class, on both sides, in the order of their numbers. */
typedef struct pairs {
    numbered *ours, *theirs;
    size_t num_ours, num_theirs;
} pairs;

static void list_ours(const liana_model *model, size_t num_layers, const liana_layer_type *type, const char *stem,
                      pairs *found)
{
    found->num_ours = 0;
    for (size_t i = 0; i < num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        const bool counts = layer->type == type && layer->num_weights && layer->within == LIANA__NONE;
        const long number = counts ? number_of(layer->name, stem) : -1;
        if (number >= 0) found->ours[found->num_ours++] = (numbered){number, i};
    }
    qsort(found->ours, found->num_ours, sizeof *found->ours, compare_numbers);
}

static void list_theirs(const liana__weight_source *source, const char *stem, pairs *found)
{
    found->num_theirs = 0;
    for (size_t i = 0; i < source->num_layers; i++) {
        const liana__source_layer *layer = &source->layers[i];
        const long number = layer->num_weights ? number_of(layer->name, stem) : -1;
        if (number >= 0) found->theirs[found->num_theirs++] = (numbered){number, i};
    }
    qsort(found->theirs, found->num_theirs, sizeof *found->theirs, compare_numbers);
}

/* Whether the numbers are shifted: names are missing, and all shapes agree one by one. */
static bool are_shifted(const liana_model *model, const liana__weight_source *source, const pairs *found)
{
    bool same = true;
    if (found->num_ours != found->num_theirs) return false;
    for (size_t i = 0; i < found->num_ours; i++) {
        const liana__source_layer *from = &source->layers[found->theirs[i].layer];
        same = same && found->ours[i].number == found->theirs[i].number;
        if (!liana__source_layer_fits(model, &model->layers[found->ours[i].layer], from)) return false;
    }
    return !same;
}

static bool is_first_of_class(const liana_model *model, size_t layer)
{
    for (size_t i = 0; i < layer; i++) {
        if (model->layers[i].type == model->layers[layer].type) return false;
    }
    return true;
}

liana_status liana__take_automatic_names(liana__weight_source *source, const liana_model *model, size_t num_required,
                                         liana__error *error)
{
    const size_t num_layers = num_required ? num_required : model->num_layers;
    pairs found = {.ours = liana__arena_allocate(&source->arena, (num_layers + 1) * sizeof *found.ours),
                   .theirs = liana__arena_allocate(&source->arena, (source->num_layers + 1) * sizeof *found.theirs)};
    if (!found.ours || !found.theirs) return liana__fail_memory(error, source->path);
    for (size_t i = 0; i < num_layers; i++) {
        char stem[64];
        if (!is_first_of_class(model, i)) continue;
        liana__snake_case(model->layers[i].type->part.name, stem, sizeof stem);
        list_ours(model, num_layers, model->layers[i].type, stem, &found);
        list_theirs(source, stem, &found);
        if (!are_shifted(model, source, &found)) continue;
        for (size_t k = 0; k < found.num_ours; k++) {
            liana__source_layer *from = &source->layers[found.theirs[k].layer];
            from->name = liana__arena_string(&source->arena, model->layers[found.ours[k].layer].name);
            if (!from->name) return liana__fail_memory(error, source->path);
        }
    }
    return LIANA_OK;
}
