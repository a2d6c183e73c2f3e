/* The list of losses, finding one by its name, and reading its options. */
#include "losses/loss.h"

#include "base/choice.h"
#include "ir/part_result.h"

#include <string.h>

static liana_status accept(liana_context *context, liana_part *part)
{
    const liana_loss_type *loss = (const liana_loss_type *)part;
    LIANA_TRY(liana__part_needs(context, part, loss->elements != NULL, "elements"));
    if ((unsigned)loss->activation > LIANA_LOGITS_SIGMOID) {
        return liana__part_refuse(context, part, "its activation is of the unknown kind %d", (int)loss->activation);
    }
    if ((unsigned)loss->range > LIANA_RANGE_SHARES) {
        return liana__part_refuse(context, part, "its range is of the unknown kind %d", (int)loss->range);
    }
    return liana__targets_accept(context, part, loss->targets);
}

static const liana_part *const list[] = {
#define LIANA__LOSS(stem, name) &liana__loss_##name.part,
#include "losses/losses.def"
#undef LIANA__LOSS
    NULL,
};

static const char *const reserved[] = {"from_logits", "reduction", NULL};

const liana__kind liana__loss_kind = {
    .kind = LIANA_PART_LOSS, .size = sizeof(liana_loss_type), .builtin = list, .reserved = reserved, .accept = accept};

liana_tensor liana__loss_elements(const liana_loss_type *loss, const liana_loss_call *call)
{
    liana_shape expected = liana_tensor_shape(call->output);
    if (expected.rank) expected.rank--;
    return liana__part_result(&loss->part, "elements", loss->elements(call), call->output.graph,
                              liana_tensor_dtype(call->output), &expected);
}

bool liana__leaves_out(const liana__loss_choice *choice)
{
    return choice->loss->leaves_out && choice->loss->leaves_out(choice->options);
}

/* ---- reading ---- */

static liana_status read_from_logits(const liana__value *value, const char *where, liana__loss_choice *choice,
                                     liana__error *error)
{
    char found[128];
    if (!value || value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    if (choice->loss->activation == LIANA_LOGITS_NONE) {
        return liana__fail_at(error, &value->place, where,
                              "from_logits: the loss '%s' compares numbers, not probabilities; remove this key",
                              choice->loss->part.name);
    }
    if (value->kind != LIANA__VALUE_BOOL) {
        return liana__fail_at(error, &value->place, where, "from_logits: found %s, expected true or false",
                              liana__value_describe(value, found, sizeof found));
    }
    choice->from_logits = value->boolean;
    return LIANA_OK;
}

static liana_status read_reduction(const liana__value *value, const char *where, liana__loss_choice *choice,
                                   liana__error *error)
{
    static const struct {
        const char *name;
        liana__reduction reduction;
    } rows[] = {{"sum_over_batch_size", LIANA__REDUCE_MEAN},
                {"mean", LIANA__REDUCE_MEAN},
                {"auto", LIANA__REDUCE_MEAN},
                {"sum", LIANA__REDUCE_SUM},
                {"mean_with_sample_weight", LIANA__REDUCE_WEIGHTED_MEAN}};
    char found[128];
    for (size_t i = 0; value && value->kind == LIANA__VALUE_STRING && i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, value->string) != 0) continue;
        choice->reduction = rows[i].reduction;
        return LIANA_OK;
    }
    if (!value) return LIANA_OK;
    return liana__fail_at(
        error, &value->place, where,
        "reduction: found %s, expected sum_over_batch_size, mean, sum or mean_with_sample_weight: one "
        "number is trained on",
        liana__value_describe(value, found, sizeof found));
}

/* As Keras's class, which has no such argument: a user who smooths labels asks for another loss. */
static liana_status refuse_smoothing(const liana_loss_type *loss, const liana__value *map, const char *where,
                                     liana__error *error)
{
    const liana__value *smoothing = map ? liana__value_get(map, "label_smoothing") : NULL;
    if (!smoothing || loss != &liana__loss_sparse_categorical_crossentropy) return LIANA_OK;
    return liana__fail_at(error, &smoothing->place, where,
                          "label_smoothing: as in Keras, '%s' has no such option; categorical_crossentropy has it, and "
                          "takes the numbers of classes, too: {name: categorical_crossentropy, label_smoothing: ...}",
                          loss->part.name);
}

liana_status liana__loss_read(const liana_context *context, const liana__value *value, const char *where,
                              liana__arena *arena, liana__loss_choice *choice, liana__error *error)
{
    static const char *const ignored[] = {"name", "from_logits", "reduction", NULL};
    const char *name, *nearest = NULL;
    const liana__value *map;
    *choice = (liana__loss_choice){0};
    LIANA_TRY(liana__choice_read(value, where, "the name of a loss, or a mapping such as {name: huber, delta: 2.0}",
                                 &name, &map, error));
    choice->loss = liana__part_find(context, &liana__loss_kind, name, &nearest);
    if (!choice->loss) {
        return liana__fail_at(error, &value->place, where, "there is no loss '%.100s'; 'liana list' shows them%s", name,
                              liana__hint(nearest).text);
    }
    LIANA_TRY(refuse_smoothing(choice->loss, map, where, error));
    LIANA_TRY(read_reduction(liana__value_get(map, "reduction"), where, choice, error));
    LIANA_TRY(read_from_logits(liana__value_get(map, "from_logits"), where, choice, error));
    LIANA_TRY(liana__choice_options(&choice->loss->part.options, map, where, ignored, arena, &choice->options, error));
    return liana__part_check(&choice->loss->part, context, choice->options, value, where, error);
}
