/* The sizes of architectures. */
#include "base/scoped.h"
#include "models/models.h"

#include <liana/architectures.h>

LIANA__SCOPED_POINTER(liana_model_destroy, liana_model)

enum { CHANNELS = 3 };

liana_architecture liana_architecture_at(size_t index)
{
    size_t i = 0;
    while (i < index && liana__architectures[i]) i++;
    const liana__architecture *own = liana__architectures[i];
    if (!own) return (liana_architecture){0};
    return (liana_architecture){.name = own->name,
                                .doc = own->doc,
                                .input_shape = liana_shape_of(own->default_size, own->default_size, CHANNELS),
                                .scale = own->scale};
}

static liana_status measure(liana_context *context, const char *name, liana_architecture_size *size)
{
    LIANA__SCOPED_BY(liana_model_destroy_scoped) liana_model *model = NULL;
    const char *nearest = NULL;
    const liana__architecture *architecture = liana__architecture_find(name, &nearest);
    if (!architecture) {
        return liana__fail(&context->error, LIANA_NOT_FOUND, "there is no architecture '%.60s'%s", name,
                           liana__hint(nearest).text);
    }
    LIANA_TRY(liana_model_create(context, NULL, &model));
    LIANA_TRY(liana__architecture_add(model, LIANA_HERE, architecture, NULL, architecture->name));
    const liana_model_facts facts = liana_model_info(model);
    size->num_parameters = facts.num_parameters;
    size->num_trainable_parameters = facts.num_trainable_parameters;
    return liana_model_count_flops(model, &size->flops);
}

liana_status liana_architecture_measure(liana_context *context, const char *name, liana_architecture_size *size)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, name);
    LIANA__REQUIRE(&context->error, size);
    *size = (liana_architecture_size){0};
    LIANA__CONTEXT_CALL(context, measure(context, name, size));
}
