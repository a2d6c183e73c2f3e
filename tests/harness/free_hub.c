/* Hubs that hold messages of workers that are not in step, or cut a process off. */
#include "harness/free_hub.h"

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

/* ---- slow workers ---- */

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

/* ---- deaths ---- */

void liana__free_cut_off(void *user, const liana__hub_message *message)
{
    liana__free_death *own = user;
    if (message->from != own->rank || (own->kind && message->key.kind != own->kind)) return;
    if (++own->seen == own->last) liana__hub_cut(own->hub, own->rank);
}

bool liana__free_holds_offers(void *user, const liana__hub_message *message)
{
    const liana__free_death *own = user;
    if (own->seen >= own->last || message->from == own->rank) return false;
    return request_kind(message) == LIANA__SPAN_OFFER;
}

void liana__free_let_die(liana__cluster_program *program, liana__free_death *death)
{
    program->may_fail = program->dies = true;
    program->hub = &death->hub;
    program->control = (liana__hub_control){.sent = liana__free_cut_off, .user = death};
}
