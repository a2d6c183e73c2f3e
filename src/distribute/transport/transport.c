/* The list of transports. */
#include "distribute/transport/transport.h"

#include "base/named.h"

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

liana_status liana__transport_send(const liana__transport *transport, liana__transport_instance *instance, size_t to,
                                   liana__message_key key, const void *data, size_t size, liana__error *error)
{
    return transport->send(instance, to, key, &(liana__message_part){data, size}, 1, error);
}

liana_status liana__transport_receive(const liana__transport *transport, liana__transport_instance *instance,
                                      size_t from, liana__message_key key, void *data, size_t size, double deadline,
                                      liana__error *error)
{
    return transport->receive(instance, from, key, &(liana__receipt){data, NULL, size}, deadline, error);
}

/* ---- the list ---- */

#define LIANA__TRANSPORT(stem, name) extern const liana__transport liana__transport_##name;
#include "distribute/transport/transports.def"
#undef LIANA__TRANSPORT

const liana__transport *const liana__transports[] = {
#define LIANA__TRANSPORT(stem, name) &liana__transport_##name,
#include "distribute/transport/transports.def"
#undef LIANA__TRANSPORT
    NULL,
};

enum { NUM_TRANSPORTS = sizeof liana__transports / sizeof *liana__transports - 1 };

const liana__transport *liana__transport_find(const char *name, liana__error *error)
{
    const char *nearest;
    const size_t index =
        liana__named_find(LIANA__NAMED_POINTERS(liana__transport, liana__transports, NUM_TRANSPORTS), name, &nearest);
    if (index < NUM_TRANSPORTS) return liana__transports[index];
    liana__fail(error, LIANA_INVALID_CONFIG,
                "there is no transport '%.100s' among those that 'liana list transports' shows%s", name,
                liana__hint(nearest).text);
    return NULL;
}
