/* Losses that a program registers. */
#include "ir/own_result.h"
#include "losses/loss.h"

typedef struct own_loss {
    liana__own_part part;
    liana__loss loss;
    liana_loss_type given;
} own_loss;

static liana_tensor call_elements(const liana__loss_call *call)
{
    const own_loss *own = (const own_loss *)liana__own_part_of(call->options);
    const liana_loss_call given = {
        .options = liana__own_options_of(&own->part, call->options),
        .output = call->output,
        .logits = call->logits,
        .target = call->target.tensor,
        .target_is_classes = call->target.kind == LIANA__TARGET_CLASSES,
    };
    liana_shape expected = liana_tensor_shape(call->output);
    expected.rank--;
    return liana__own_result(&own->part, "elements", own->given.elements(&given), call->output.graph,
                             liana_tensor_dtype(call->output), &expected);
}

liana_status liana_register_loss(liana_context *context, const liana_loss_type *type)
{
    static const char *const reserved[] = {"from_logits", NULL};
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, type);
    own_loss *own = liana__own_part_allocate(context, sizeof *own);
    if (!own) return LIANA_OUT_OF_MEMORY;
    const liana__own_request request = {
        .kind = LIANA__PART_LOSS, .given = type, .size = sizeof *type, .shift = LIANA__OWN_SHIFT, .reserved = reserved};
    LIANA_TRY(liana__own_part_begin(context, &request, &own->part, &own->given));
    if (!own->given.elements) return liana__own_part_refuse(context, &own->part, "its function 'elements' is NULL");
    if (!own->given.takes_classes && !own->given.takes_values) {
        return liana__own_part_refuse(context, &own->part, "it takes neither classes nor values");
    }
    if ((unsigned)own->given.predictions > LIANA_PREDICTIONS_BINARY_PROBABILITIES) {
        return liana__own_part_refuse(context, &own->part, "its predictions are of the unknown kind %d",
                                      (int)own->given.predictions);
    }
    own->loss = (liana__loss){
        .name = own->part.name,
        .doc = own->part.doc,
        .options = &own->part.options,
        .own = &own->part,
        .activation = (liana__activation_kind)own->given.predictions,
        .targets = (own->given.takes_classes ? LIANA__TARGET_CLASSES : 0u) |
                   (own->given.takes_values ? LIANA__TARGET_VALUES : 0u),
        .elements = call_elements,
    };
    return liana__own_part_add(context, &own->part, liana__loss_find(NULL, own->part.name, NULL) != NULL, &own->loss);
}
