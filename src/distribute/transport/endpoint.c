/* The part of a transport that does not depend on how bytes travel. */
#include "distribute/transport/endpoint.h"

static liana__endpoint *own_of(const liana__transport_instance *instance)
{
    return (liana__endpoint *)(uintptr_t)instance;
}

/* ---- sending ---- */

liana_status liana__endpoint_send(liana__endpoint *own, size_t to, const liana__mail_piece *message, bool *travels,
                                  liana__error *error)
{
    *travels = false;
    if (to >= own->num_ranks) return liana__fail(error, LIANA_INTERNAL, "there is no rank %zu", to);
    if (to == own->rank) return liana__mailbox_put(own->mailbox, message, error);
    *travels =
        message->key.generation >= liana__mailbox_generation(own->mailbox) && !liana__mailbox_is_gone(own->mailbox, to);
    return LIANA_OK;
}

void liana__endpoint_count_sent(liana__endpoint *own, size_t size)
{
    own->messages_sent++;
    own->bytes_sent += size;
}

liana__mail_piece liana__endpoint_cut(const liana__mail_piece *message, size_t offset, size_t most)
{
    const uint8_t *bytes = message->bytes;
    const size_t left = message->num_bytes - offset;
    liana__mail_piece piece = *message;
    piece.offset = offset;
    piece.bytes = bytes ? bytes + offset : NULL;
    piece.num_bytes = left < most ? left : most;
    return piece;
}

/* ---- receiving ---- */

liana_status liana__endpoint_take(liana__endpoint *own, const liana__frame *frame, liana__error *error)
{
    const liana__mail_piece piece = {frame->sender, frame->key,   frame->size,
                                     frame->offset, frame->bytes, frame->num_bytes};
    own->bytes_received += frame->num_bytes;
    if (frame->offset + frame->num_bytes == frame->size) own->messages_received++;
    return liana__mailbox_put(own->mailbox, &piece, error);
}

liana_status liana__endpoint_receive(liana__transport_instance *instance, size_t from, liana__message_key key,
                                     void *data, size_t size, double deadline, liana__error *error)
{
    const liana__endpoint *own = own_of(instance);
    if (from >= own->num_ranks) return liana__fail(error, LIANA_INTERNAL, "there is no rank %zu", from);
    return liana__mailbox_receive(own->mailbox, from, key, data, size, deadline, error);
}

bool liana__endpoint_peek(liana__transport_instance *instance, size_t from, liana__message_key key, size_t *size)
{
    const liana__endpoint *own = own_of(instance);
    return from < own->num_ranks && liana__mailbox_peek(own->mailbox, from, key, size);
}

/* ---- who is there ---- */

bool liana__endpoint_is_gone(const liana__transport_instance *instance, size_t rank)
{
    const liana__endpoint *own = own_of(instance);
    return rank >= own->num_ranks || liana__mailbox_is_gone(own->mailbox, rank);
}

void liana__endpoint_set_generation(liana__transport_instance *instance, uint64_t generation, const bool *members)
{
    liana__mailbox_set_generation(own_of(instance)->mailbox, generation, members);
}

void liana__endpoint_counters(const liana__transport_instance *instance, liana__transport_counters *counters)
{
    const liana__endpoint *own = own_of(instance);
    *counters =
        (liana__transport_counters){own->messages_sent, own->bytes_sent, own->messages_received, own->bytes_received};
}
