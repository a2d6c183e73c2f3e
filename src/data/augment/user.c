/* Functions of the program's own among the stages. */
#include "base/context.h"
#include "data/augment/augment.h"

#include <stdlib.h>
#include <string.h>

static liana_status check_name(const liana_context *context, const char *name, liana__error *error)
{
    if (!name || !*name || strlen(name) > 100) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "an augmentation needs a name of at most 100 bytes, for use in lists of augmentations");
    }
    if (liana__augmentation_find(name)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "there is an augmentation '%s' already; choose another name",
                           name);
    }
    if (liana__context_registered(context, "augmentation", name)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the augmentation '%s' is registered already", name);
    }
    return LIANA_OK;
}

liana_status liana_augmentation_register(liana_context *context, const char *name, liana_augment_function function,
                                         void *user)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, name);
    LIANA__REQUIRE(&context->error, function);
    LIANA_TRY(check_name(context, name, &context->error));
    return liana__context_register(context, "augmentation", name, (void (*)(void))function, user);
}

double liana_example_uniform(const liana_example_address *address, uint32_t index)
{
    if (!address) return 0;
    liana__draws draws = liana__draws_begin(address, LIANA__DRAWS_USER);
    draws.counter[3] = index / 4;
    for (uint32_t i = 0; i < index % 4; i++) liana__draw_word(&draws);
    return liana__draw_uniform(&draws);
}
