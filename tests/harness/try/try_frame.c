/* Feeds any bytes to the readers of frames and greetings, and accepted ones to a mailbox. */
#include "harness/try/try_frame.h"

#include "distribute/transport/cluster_place.h"
#include "distribute/transport/frame.h"
#include "distribute/transport/mailbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool condition, const char *what, const liana__error *error)
{
    if (condition) return;
    fprintf(stderr, "broken promise: %s\n%s\n", what, error->message);
    abort();
}

static void try_greeting(const uint8_t *bytes, size_t size)
{
    liana__greeting greeting, again;
    liana__error error = {0};
    char text[LIANA__GREETING_SIZE];
    liana_status status = liana__greeting_read(bytes, size, &greeting, &error);
    if (status != LIANA_OK) {
        demand(status == LIANA_INVALID_DATA && *error.message, "the greeting is at fault", &error);
        return;
    }
    size_t length = liana__greeting_write(&greeting, text);
    demand(length > 0, "a greeting that was read can be written", &error);
    status = liana__greeting_read((const uint8_t *)text, length, &again, &error);
    demand(status == LIANA_OK && memcmp(&greeting, &again, sizeof again) == 0, "it is read again as it was", &error);
}

static void try_table(const uint8_t *bytes, size_t size)
{
    char address[LIANA__FRAME_ADDRESS];
    const char *text = (const char *)bytes, *end = text + size;
    liana__error error = {0};
    for (const char *before = text; liana__frame_next_address(&text, end, address); before = text) {
        demand(text > before && text <= end && strlen(address) == (size_t)(text - before) - 1, "an address is a line",
               &error);
    }
}

static void try_invitation(const uint8_t *bytes, size_t size)
{
    enum { RANKS = 3 };
    bool absent[RANKS], absent_again[RANKS];
    liana__cluster_round round, again;
    liana__error error = {0};
    liana__text text = {0};
    const liana_status status = liana__invitation_read(bytes, size, RANKS, &round, absent, &error);
    if (status != LIANA_OK) {
        demand(status == LIANA_INVALID_DATA && *error.message, "the invitation is at fault", &error);
        return;
    }
    demand(round.chief < RANKS && !absent[round.chief], "who leads is there", &error);
    demand(liana__invitation_write(&round, RANKS, &text, &error) == LIANA_OK &&
               liana__invitation_read((const uint8_t *)text.data, text.length, RANKS, &again, absent_again, &error) ==
                   LIANA_OK &&
               again.number == round.number && again.chief == round.chief &&
               memcmp(absent, absent_again, sizeof absent) == 0,
           "it is read again as it was", &error);
    liana__text_free(&text);
}

static void try_piece(const liana__frame *frame)
{
    liana__mailbox *mailbox = NULL;
    liana__error error = {0};
    liana__mail_piece piece = {0, frame->key, frame->size, frame->offset, frame->bytes, frame->num_bytes, NULL};
    if (liana__mailbox_create(1, 1 << 16, &mailbox, &error) != LIANA_OK) return;
    liana_status status = liana__mailbox_put(mailbox, &piece, &error);
    if (status == LIANA_OK) status = liana__mailbox_put(mailbox, &piece, &error);
    demand(frame->num_bytes == 0 || status != LIANA_OK, "a piece comes once", &error);
    liana__mailbox_destroy(mailbox);
}

bool liana__try_frame(const uint8_t *bytes, size_t size)
{
    liana__frame frame;
    liana__error error = {0};
    uint8_t header[LIANA__FRAME_HEADER];
    try_greeting(bytes, size);
    try_table(bytes, size);
    try_invitation(bytes, size);
    liana_status status = liana__frame_read(bytes, size, &frame, &error);
    if (status != LIANA_OK) {
        demand((status == LIANA_INVALID_DATA || status == LIANA_UNAVAILABLE) && *error.message, "the frame is at fault",
               &error);
        return false;
    }
    demand(frame.num_bytes == size - LIANA__FRAME_HEADER && frame.bytes == bytes + LIANA__FRAME_HEADER,
           "a frame has the bytes behind its header", &error);
    liana__frame_write(&frame, header);
    demand(memcmp(header, bytes, sizeof header) == 0, "a header is written as it was read", &error);
    if (frame.kind == LIANA__FRAME_HELLO) try_greeting(frame.bytes, frame.num_bytes);
    if (frame.kind == LIANA__FRAME_TABLE) try_table(frame.bytes, frame.num_bytes);
    if (frame.kind == LIANA__FRAME_INVITE) try_invitation(frame.bytes, frame.num_bytes);
    if (frame.kind == LIANA__FRAME_DATA) try_piece(&frame);
    return true;
}
