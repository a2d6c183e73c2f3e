/* Hubs that hold messages of workers that are not in step. */
#include "harness/cluster/free_hub.h"

#include "distribute/cluster/span.h"

#include <string.h>

/* liana__span_request_kind; 0: it is no request. */
static uint32_t request_kind(const liana__hub_message *message)
{
    liana__span_request request;
    if (message->key.kind != LIANA__MESSAGE_REQUEST) return 0;
    assert_int_equal(message->size, sizeof request);
    memcpy(&request, message->data, sizeof request);
    return request.kind;
}

void liana__free_note_message(void *user, const liana__hub_message *message)
{
    liana__free_course *own = user;
    const bool is_values = message->key.kind == LIANA__MESSAGE_REPLY_DATA;
    own->has_values |= message->from == 2 && message->to == 1 && is_values;
    own->begins += message->from == 0 && request_kind(message) == LIANA__SPAN_BEGIN;
    own->last_begins |= message->from == 2 && request_kind(message) == LIANA__SPAN_FETCH;
    own->gradients += message->from < 2 && message->to == 3 && request_kind(message) == LIANA__SPAN_GRADIENTS;
    if (is_values && message->size > own->largest_fetch) own->largest_fetch = message->size;
}

bool liana__free_holds_second(void *user, const liana__hub_message *message)
{
    const liana__free_course *own = user;
    if (message->from == 0 && request_kind(message) == LIANA__SPAN_BEGIN) return !own->has_values;
    return message->from == 1 && message->key.kind == LIANA__MESSAGE_REQUEST_DATA && own->begins < 7;
}

bool liana__free_holds_last(void *user, const liana__hub_message *message)
{
    const liana__free_course *own = user;
    if (request_kind(message) != LIANA__SPAN_OFFER) return false;
    return message->from == 2 ? own->gradients < 2 : !own->last_begins;
}
