/* Registers parts of every kind. */
#include "train/model/register.h"
#include "layers/activations.h"
#include "layers/initializers.h"
#include "layers/rules/constraints.h"
#include "layers/rules/regularizers.h"

#include "data/augment/augment.h"
#include "data/dataset/dataset.h"
#include "data/source/source_open.h"
#include "losses/loss.h"
#include "metrics/metric.h"
#include "optimizers/optimizer.h"
#include "train/callbacks/callback.h"

const liana__kind *const liana__kinds[] = {
    [LIANA_PART_LAYER] = &liana__layer_kind,
    [LIANA_PART_LOSS] = &liana__loss_kind,
    [LIANA_PART_METRIC] = &liana__metric_kind,
    [LIANA_PART_OPTIMIZER] = &liana__optimizer_kind,
    [LIANA_PART_SCHEDULE] = &liana__schedule_kind,
    [LIANA_PART_INITIALIZER] = &liana__initializer_kind,
    [LIANA_PART_ACTIVATION] = &liana__activation_kind,
    [LIANA_PART_REGULARIZER] = &liana__regularizer_kind,
    [LIANA_PART_CONSTRAINT] = &liana__constraint_kind,
    [LIANA_PART_CALLBACK] = &liana__callback_kind,
    [LIANA_PART_SOURCE] = &liana__source_kind,
    [LIANA_PART_STAGE] = &liana__stage_kind,
    [LIANA_PART_AUGMENTATION] = &liana__augmentation_kind,
};

liana_status liana_register(liana_context *context, const liana_part *part)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, part);
    if (part->size < sizeof *part) {
        return liana__fail(&context->error, LIANA_INVALID_ARGUMENT,
                           "a part: its size is %zu, expected sizeof its struct, which is more", part->size);
    }
    if (part->version != LIANA_PARTS_VERSION) {
        return liana__fail(
            &context->error, LIANA_INVALID_ARGUMENT,
            "a part was built for version %d of liana's parts, this liana has version %d; build it again "
            "with this liana's headers",
            part->version, LIANA_PARTS_VERSION);
    }
    if (part->kind < LIANA_PART_LAYER || part->kind > LIANA_PART_AUGMENTATION) {
        return liana__fail(&context->error, LIANA_INVALID_ARGUMENT,
                           "a part is of the unknown kind %d, expected one of liana_part_kind", (int)part->kind);
    }
    return liana__part_register(context, liana__kinds[part->kind], part);
}
