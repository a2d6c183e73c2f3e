/* Requests to a server, and its answers, which come in the same order. */
#include "backends/remote/device.h"

#include "base/memory.h"
#include "base/scoped.h"

#include <stdlib.h>

/* ---- numbers ---- */

liana_status liana__served_take_number(liana__served_numbers *numbers, uint32_t *number, liana__error *error)
{
    if (numbers->num_free) {
        *number = numbers->free[--numbers->num_free];
        return LIANA_OK;
    }
    if (numbers->next >= LIANA__SERVED_MOST_OBJECTS) {
        return liana__fail(error, LIANA_OUT_OF_MEMORY, "a remote device holds at most %d buffers",
                           LIANA__SERVED_MOST_OBJECTS);
    }
    *number = numbers->next++;
    return LIANA_OK;
}

/* Where there is no memory to note it, the number is not used again. */
void liana__served_give_number(liana__served_numbers *numbers, uint32_t number)
{
    if (!liana__grow(&numbers->free, numbers->num_free, &numbers->capacity, sizeof *numbers->free)) return;
    numbers->free[numbers->num_free++] = number;
}

/* ---- sending; called with the mutex ---- */

static liana_status fail_lost(const liana__served_device *device, liana__error *error)
{
    return liana__fail(error, device->lost.status, "%s", device->lost.message);
}

/* After an error of the connection nothing more is sent. */
static liana_status lose(liana__served_device *device, liana__error *error)
{
    device->lost = *error;
    liana__fail_within(&device->lost, "%s", device->name);
    return liana__fail_within(error, "%s", device->name);
}

static liana_status send(liana__served_device *device, uint32_t kind, const liana__text *bytes, const void *more,
                         size_t num_more, liana__error *error)
{
    liana__error reason = {0};
    const liana__service_message message = {.number = device->asked + 1,
                                            .kind = kind,
                                            .bytes = (uint8_t *)bytes->data,
                                            .size = bytes->length};
    if (device->lost.status != LIANA_OK) return fail_lost(device, error);
    if (bytes->failed) return liana__fail_memory(error, "a request to a server");
    if (liana__link_send(device->link, &message, more, num_more, &reason) != LIANA_OK) {
        lose(device, &reason);
        return fail_lost(device, error);
    }
    device->asked++;
    return LIANA_OK;
}

/* Tells the server of buffers that are not needed any more. */
static liana_status send_dropped(liana__served_device *device, liana__error *error)
{
    LIANA__SCOPED(liana__text) text = {0};
    if (device->num_dropped == 0) return LIANA_OK;
    liana__wire_put_u32(&text, (uint32_t)device->num_dropped);
    for (size_t i = 0; i < device->num_dropped; i++) {
        liana__wire_put_u32(&text, device->dropped[i]);
        liana__served_give_number(&device->buffers, device->dropped[i]);
    }
    device->num_dropped = 0;
    return send(device, LIANA__SERVED_FREE, &text, NULL, 0, error);
}

/* ---- answers; called with the mutex ---- */

/* Reads the head of every answer. */
static liana_status read_answer(const liana__served_device *device, const liana__service_message *answer,
                                liana__wire *wire, liana__error *error)
{
    char text[LIANA__SERVED_TEXT];
    *wire = (liana__wire){.next = answer->bytes, .end = answer->bytes + answer->size};
    uint32_t status = liana__wire_u32(wire);
    liana__wire_text(wire, text);
    if (wire->failed || status > LIANA_INTERNAL) {
        return liana__fail(error, LIANA_INVALID_DATA, "%s: the server has sent what is no answer", device->name);
    }
    if (status == LIANA_OK) return LIANA_OK;
    return liana__fail(error, (liana_status)status, "%s: %s", device->name, text);
}

static liana_status receive(liana__served_device *device, liana__service_message *answer, liana__error *error)
{
    liana__error reason = {0};
    if (device->lost.status != LIANA_OK) return fail_lost(device, error);
    liana_status status = liana__link_receive(device->link, answer, &reason);
    if (status == LIANA_OK && answer->number != device->answered + 1) {
        free(answer->bytes);
        status = liana__fail(&reason, LIANA_INVALID_DATA, "an answer is missing");
    }
    if (status == LIANA_OK) {
        device->answered++;
        return LIANA_OK;
    }
    lose(device, &reason);
    return fail_lost(device, error);
}

static void note_failure(liana__served_device *device, const liana__service_message *answer)
{
    liana__wire wire;
    liana__error error;
    if (read_answer(device, answer, &wire, &error) != LIANA_OK && device->failed.status == LIANA_OK) {
        device->failed = error;
    }
}

static liana_status fail_earlier(liana__served_device *device, liana__error *error)
{
    liana_status status = liana__fail(error, device->failed.status, "%s", device->failed.message);
    device->failed = (liana__error){0};
    return status;
}

/* Takes answers until that of `number` has come. `last` is it; its bytes are NULL if it came before. */
static liana_status receive_until(liana__served_device *device, uint64_t number, liana__service_message *last,
                                  liana__error *error)
{
    *last = (liana__service_message){0};
    while (device->answered < number) {
        LIANA_TRY(receive(device, last, error));
        if (device->answered == number) break;
        note_failure(device, last);
        free(last->bytes);
        *last = (liana__service_message){0};
    }
    return LIANA_OK;
}

/* ---- the whole ---- */

liana_status liana__served_ask(liana__served_device *device, liana__served_kind kind, liana__text *bytes,
                               const void *more, size_t num_more, uint64_t *number, liana__error *error)
{
    pthread_mutex_lock(&device->mutex);
    liana_status status = send_dropped(device, error);
    if (status == LIANA_OK) status = send(device, kind, bytes, more, num_more, error);
    if (number) *number = device->asked;
    pthread_mutex_unlock(&device->mutex);
    liana__text_free(bytes);
    return status;
}

liana_status liana__served_await(liana__served_device *device, uint64_t number, uint8_t **answer, liana__wire *wire,
                                 liana__error *error)
{
    liana__service_message last;
    liana__wire ignored;
    pthread_mutex_lock(&device->mutex);
    liana_status status = receive_until(device, number, &last, error);
    if (status == LIANA_OK && device->failed.status != LIANA_OK) {
        status = fail_earlier(device, error);
    } else if (status == LIANA_OK && last.bytes) {
        status = read_answer(device, &last, wire ? wire : &ignored, error);
    }
    pthread_mutex_unlock(&device->mutex);
    if (answer && status == LIANA_OK) {
        *answer = last.bytes;
    } else {
        free(last.bytes);
    }
    return status;
}

liana_status liana__served_check_answer(const liana__served_device *device, const liana__wire *wire,
                                        liana__error *error)
{
    if (!wire->failed) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "%s: the server's answer cannot be read", device->name);
}

liana_status liana__served_run_ahead(liana__served_device *device, uint64_t number, liana__error *error)
{
    pthread_mutex_lock(&device->mutex);
    uint64_t *oldest = &device->ahead[device->num_ahead++ % LIANA__SERVED_AHEAD];
    liana_status status = LIANA_OK;
    while (status == LIANA_OK && device->answered < *oldest) {
        liana__service_message answer;
        status = receive(device, &answer, error);
        if (status == LIANA_OK) {
            note_failure(device, &answer);
            free(answer.bytes);
        }
    }
    *oldest = number;
    if (status == LIANA_OK && device->failed.status != LIANA_OK) status = fail_earlier(device, error);
    pthread_mutex_unlock(&device->mutex);
    return status;
}

liana_status liana__served_call(liana__served_device *device, liana__served_kind kind, liana__text *bytes,
                                const void *more, size_t num_more, uint8_t **answer, liana__wire *wire,
                                liana__error *error)
{
    uint64_t number;
    LIANA_TRY(liana__served_ask(device, kind, bytes, more, num_more, &number, error));
    return liana__served_await(device, number, answer, wire, error);
}
