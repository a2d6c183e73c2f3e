/* Puts the pieces of a message together. Its input comes from a network: nothing in it is believed. */
#include "distribute/transport/frame.h"
#include "distribute/transport/service.h"

#include <stdlib.h>
#include <string.h>

static liana_status begin(liana__assembly *assembly, const liana__frame *frame,
                          bool (*has_room)(void *user, size_t size), void *user, liana__error *error)
{
    if (frame->size > SIZE_MAX / 2) return liana__fail(error, LIANA_INVALID_DATA, "a message has too many bytes");
    *assembly = (liana__assembly){.is_under_way = true};
    assembly->message =
        (liana__service_message){.number = frame->key.step, .kind = frame->key.kind, .size = (size_t)frame->size};
    assembly->is_dropped = has_room && !has_room(user, (size_t)frame->size);
    if (assembly->is_dropped) return LIANA_OK;
    assembly->message.bytes = malloc(assembly->message.size + 1);
    return assembly->message.bytes ? LIANA_OK : liana__fail_memory(error, "a message");
}

liana_status liana__assembly_add(liana__assembly *assembly, const liana__frame *frame,
                                 bool (*has_room)(void *user, size_t size), void *user, bool *whole,
                                 liana__error *error)
{
    *whole = false;
    liana__service_message *message = &assembly->message;
    if (!assembly->is_under_way && frame->offset == 0) LIANA_TRY(begin(assembly, frame, has_room, user, error));
    bool follows = assembly->is_under_way && frame->offset == assembly->num_there && frame->size == message->size &&
                   frame->key.step == message->number && frame->key.kind == message->kind;
    if (!follows) return liana__fail(error, LIANA_INVALID_DATA, "a piece of a message does not follow the one before");
    if (!assembly->is_dropped && frame->num_bytes) {
        memcpy(message->bytes + assembly->num_there, frame->bytes, frame->num_bytes);
    }
    assembly->num_there += frame->num_bytes;
    *whole = assembly->num_there == message->size;
    assembly->is_under_way = !*whole;
    return LIANA_OK;
}

void liana__assembly_free(liana__assembly *assembly)
{
    if (assembly->is_under_way) free(assembly->message.bytes);
    *assembly = (liana__assembly){0};
}
