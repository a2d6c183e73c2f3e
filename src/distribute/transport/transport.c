/* The list of transports. */
#include "distribute/transport/transport.h"

#include "base/text.h"

#include <string.h>

void liana__message_parts_copy(const liana__message_part *parts, size_t offset, size_t size, void *to)
{
    char *end = to;
    for (const liana__message_part *part = parts; size; part++) {
        if (offset >= part->size) {
            offset -= part->size;
            continue;
        }
        const size_t left = part->size - offset, count = left < size ? left : size;
        memcpy(end, (const char *)part->data + offset, count);
        end += count;
        size -= count;
        offset = 0;
    }
}

void liana__message_free(liana__message *message)
{
    if (message->memory.release) message->memory.release(message->memory.owner);
    *message = (liana__message){0};
}

/* ---- the list ---- */

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
