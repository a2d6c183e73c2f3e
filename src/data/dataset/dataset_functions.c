/* Functions of the program's own, by name. */
#include "data/dataset/dataset.h"

#include <string.h>

static liana_status add(liana_context *context, const char *kind, const char *name, void (*function)(void), void *user)
{
    liana__error *error = &context->error;
    if (!*name || strlen(name) > 100) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a %s function needs a name of at most 100 bytes, for use in configurations", kind);
    }
    if (liana__context_registered(context, kind, name)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the %s function '%s' is registered already", kind, name);
    }
    return liana__context_register(context, kind, name, function, user);
}

liana_status liana_map_register(liana_context *context, const char *name, liana_map_function function, void *user)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, name);
    LIANA__REQUIRE(&context->error, function);
    return add(context, "map", name, (void (*)(void))function, user);
}

liana_status liana_filter_register(liana_context *context, const char *name, liana_filter_function function, void *user)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, name);
    LIANA__REQUIRE(&context->error, function);
    return add(context, "filter", name, (void (*)(void))function, user);
}
