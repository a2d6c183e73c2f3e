/* Callbacks that a program registers under a name. */
#include "base/own_part.h"
#include "train/callbacks/user.h"

#include <string.h>

typedef struct own_callback {
    liana__own_part part;
    liana__callback callback;
    liana_callback_type given;
} own_callback;

enum { LARGEST_SELF = 1 << 30 };

const liana_callback *liana__own_callback_functions(const liana__callback_item *item)
{
    const own_callback *own = (const own_callback *)item->type->own;
    const void *options = liana__own_options_of(&own->part, item->options);
    memcpy(item->self, &options, sizeof options);
    return &own->given.functions;
}

static void close_item(liana__callback_item *item)
{
    const own_callback *own = (const own_callback *)item->type->own;
    (void)liana__own_callback_functions(item);
    own->given.close(item->self);
}

static liana_status check_functions(liana_context *context, const own_callback *own)
{
    const liana_callback_type *given = &own->given;
    if (given->functions.size != sizeof given->functions) {
        return liana__own_part_refuse(context, &own->part,
                                      "the size of its functions is %zu, expected sizeof(liana_callback), which is %zu",
                                      given->functions.size, sizeof given->functions);
    }
    if (given->self_size < sizeof(void *) || given->self_size > LARGEST_SELF) {
        return liana__own_part_refuse(context, &own->part, "its self_size is %zu, expected %zu to %d bytes",
                                      given->self_size, sizeof(void *), LARGEST_SELF);
    }
    return LIANA_OK;
}

/* An event that the part has no function for is not called. */
static void choose_events(const liana_callback *functions, liana__callback *callback)
{
    const bool has[LIANA__NUM_CALLBACK_EVENTS] = {
        [LIANA__ON_TRAIN_BEGIN] = functions->train_begin != NULL,
        [LIANA__ON_TRAIN_END] = functions->train_end != NULL,
        [LIANA__ON_EPOCH_BEGIN] = functions->epoch_begin != NULL,
        [LIANA__ON_EPOCH_END] = functions->epoch_end != NULL,
        [LIANA__ON_STEP_BEGIN] = functions->step_begin != NULL,
        [LIANA__ON_STEP_END] = functions->step_end != NULL,
        [LIANA__ON_VALIDATION_BEGIN] = functions->validation_begin != NULL,
        [LIANA__ON_VALIDATION_END] = functions->validation_end != NULL,
    };
    for (int event = 0; event < LIANA__NUM_CALLBACK_EVENTS; event++) {
        if (!has[event]) callback->on[event] = NULL;
    }
    if (!functions->save) callback->save = NULL;
    if (!functions->load) callback->load = NULL;
}

liana_status liana_register_callback(liana_context *context, const liana_callback_type *type)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, type);
    own_callback *own = liana__own_part_allocate(context, sizeof *own);
    if (!own) return LIANA_OUT_OF_MEMORY;
    const liana__own_request request = {.kind = LIANA__PART_CALLBACK,
                                        .given = type,
                                        .size = sizeof *type,
                                        .shift = LIANA__OWN_SHIFT};
    LIANA_TRY(liana__own_part_begin(context, &request, &own->part, &own->given));
    LIANA_TRY(check_functions(context, own));
    own->callback = liana__user_callback;
    own->callback.name = own->part.name;
    own->callback.doc = own->part.doc;
    own->callback.options = &own->part.options;
    own->callback.own = &own->part;
    own->callback.size = own->given.self_size;
    own->callback.close = own->given.close ? close_item : NULL;
    choose_events(&own->given.functions, &own->callback);
    bool builtin = false;
    for (size_t i = 0; liana__callbacks[i]; i++) builtin |= strcmp(liana__callbacks[i]->name, own->part.name) == 0;
    return liana__own_part_add(context, &own->part, builtin, &own->callback);
}
