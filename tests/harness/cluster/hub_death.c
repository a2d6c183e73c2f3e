/* Deaths by the count of messages. */
#include "harness/cluster/hub_death.h"
#include "harness/harness.h"

#include "distribute/cluster/span.h"

#include <string.h>

void liana__hub_death_sent(void *death, const liana__hub_message *message)
{
    liana__hub_death *own = death;
    if (message->from != own->rank || (own->kind && message->key.kind != own->kind)) return;
    if (++own->seen == own->last) liana__hub_cut(own->hub, own->rank);
}

bool liana__hub_death_holds_offers(void *death, const liana__hub_message *message)
{
    const liana__hub_death *own = death;
    liana__span_request request;
    if (own->seen >= own->last || message->from == own->rank || message->key.kind != LIANA__MESSAGE_REQUEST)
        return false;
    assert_int_equal(message->size, sizeof request);
    memcpy(&request, message->data, sizeof request);
    return request.kind == LIANA__SPAN_OFFER;
}
