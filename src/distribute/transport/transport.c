/* The list of transports. */
#include "distribute/transport/transport.h"

#include "base/text.h"

#include <string.h>

#define LIANA__TRANSPORT(stem, name) extern const liana__transport liana__transport_##name;
#include "distribute/transports.def"
#undef LIANA__TRANSPORT

static const liana__transport *const transports[] = {
#define LIANA__TRANSPORT(stem, name) &liana__transport_##name,
#include "distribute/transports.def"
#undef LIANA__TRANSPORT
    NULL,
};

static const char *name_at(size_t index)
{
    return transports[index]->name;
}

const liana__transport *liana__transport_find(const char *name, liana__error *error)
{
    size_t count = sizeof transports / sizeof *transports - 1;
    const char *names[sizeof transports / sizeof *transports] = {NULL};
    for (size_t i = 0; i < count; i++) {
        names[i] = name_at(i);
        if (strcmp(names[i], name) == 0) return transports[i];
    }
    const char *nearest = liana__nearest(name, names, count);
    liana__fail(error, LIANA_INVALID_CONFIG, "unknown transport '%.100s'%s", name, liana__hint(nearest).text);
    return NULL;
}
