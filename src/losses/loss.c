/* The list of losses, finding one by its name, and reading its options. */
#include "losses/loss.h"

#include "base/choice.h"
#include "base/own_part.h"

#include <string.h>

const liana__loss *const liana__losses[] = {
#define LIANA__LOSS(stem, name) &liana__loss_##name,
#include "losses/losses.def"
#undef LIANA__LOSS
    NULL,
};

enum { NUM_LOSSES = sizeof liana__losses / sizeof *liana__losses - 1 };

const liana__loss *liana__loss_find(const liana_context *context, const char *name, const char **nearest)
{
    for (size_t i = 0; i < NUM_LOSSES; i++) {
        const char *const *aliases = liana__losses[i]->aliases;
        for (size_t k = 0; k < LIANA__MAX_ALIASES && aliases[k]; k++) {
            if (strcmp(aliases[k], name) == 0) return liana__losses[i];
        }
    }
    const liana__named list = LIANA__NAMED_POINTERS(liana__loss, liana__losses, NUM_LOSSES);
    return liana__part_find(context, LIANA__PART_LOSS, list, name, nearest);
}

/* ---- reading ---- */

static liana_status read_from_logits(const liana__value *value, const char *where, liana__loss_choice *choice,
                                     liana__error *error)
{
    char found[128];
    if (!value || value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    if (choice->loss->activation == LIANA__ACTIVATION_NONE) {
        return liana__fail_at(error, &value->place, where,
                              "from_logits: the loss '%s' compares numbers, not probabilities; remove this key",
                              choice->loss->name);
    }
    if (value->kind != LIANA__VALUE_BOOL) {
        return liana__fail_at(error, &value->place, where, "from_logits: found %s, expected true or false",
                              liana__value_describe(value, found, sizeof found));
    }
    choice->from_logits = value->boolean;
    return LIANA_OK;
}

/* As Keras's class, which has no such argument: who smooths labels asks for another loss. */
static liana_status refuse_smoothing(const liana__loss *loss, const liana__value *map, const char *where,
                                     liana__error *error)
{
    const liana__value *smoothing = map ? liana__value_get(map, "label_smoothing") : NULL;
    if (!smoothing || loss != &liana__loss_sparse_categorical_crossentropy) return LIANA_OK;
    return liana__fail_at(error, &smoothing->place, where,
                          "label_smoothing: as in Keras, '%s' has no such option; categorical_crossentropy has it, and "
                          "takes the numbers of classes, too: {name: categorical_crossentropy, label_smoothing: ...}",
                          loss->name);
}

liana_status liana__loss_read(const liana_context *context, const liana__value *value, const char *where,
                              liana__arena *arena, liana__loss_choice *choice, liana__error *error)
{
    static const char *const ignored[] = {"name", "from_logits", NULL};
    const char *name, *nearest = NULL;
    const liana__value *map;
    *choice = (liana__loss_choice){0};
    LIANA_TRY(liana__choice_read(value, where, "the name of a loss, or a mapping such as {name: huber, delta: 2.0}",
                                 &name, &map, error));
    choice->loss = liana__loss_find(context, name, &nearest);
    if (!choice->loss) {
        return liana__fail_at(error, &value->place, where, "there is no loss '%.100s'; 'liana list' shows them%s", name,
                              liana__hint(nearest).text);
    }
    LIANA_TRY(refuse_smoothing(choice->loss, map, where, error));
    LIANA_TRY(read_from_logits(liana__value_get(map, "from_logits"), where, choice, error));
    LIANA_TRY(liana__choice_options(choice->loss->options, map, where, ignored, arena, &choice->options, error));
    return liana__own_part_finish(choice->loss->own, choice->options, &value->place, where, error);
}
