/* Keeps the program's function among the context's registered things. */
#include "base/waiting.h"

#include "base/context.h"

static const char KIND[] = "waiting";

liana_status liana__waiting_set_stop(liana_context *context, bool (*stop)(void *user), void *user)
{
    return liana__context_register(context, KIND, KIND, (void (*)(void))stop, user);
}

bool liana__waiting_stops(const liana_context *context)
{
    const liana__registered *found = liana__context_registered(context, KIND, KIND);
    return found && ((bool (*)(void *))found->function)(found->user);
}
