/* A client of a server that says anything. */
#include "harness/try/try_requests.h"

#include "backends/remote/session.h"
#include "backends/remote/wire.h"

#include <liana/context.h>
#include <stdio.h>
#include <stdlib.h>

#define demand(condition)                                                            \
    do {                                                                             \
        if (!(condition)) {                                                          \
            fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            abort();                                                                 \
        }                                                                            \
    } while (0)

enum { LIMIT = 1 << 22, HEAD = 3 };

/* Asks in memory of just that size, for a sanitizer to see a read behind it. */
static bool ask(liana__served_session *session, uint32_t kind, const uint8_t *bytes, size_t size)
{
    liana__text answer = {0};
    uint8_t *exact = malloc(size ? size : 1);
    demand(exact);
    if (size) memcpy(exact, bytes, size);
    liana__served_session_answer(session, kind, exact, size, &answer);
    free(exact);
    char text[LIANA__SERVED_TEXT];
    const uint8_t *data = (const uint8_t *)answer.data;
    liana__wire wire = {.next = data, .end = data + answer.length};
    uint32_t status = liana__wire_u32(&wire);
    liana__wire_text(&wire, text);
    demand(!wire.failed && status <= LIANA_INTERNAL && (status == LIANA_OK) == (text[0] == '\0'));
    liana__text_free(&answer);
    return status == LIANA_OK;
}

static void open_device(liana__served_session *session)
{
    liana__text text = {0};
    liana__wire_put_text(&text, liana_version());
    liana__wire_put_text(&text, "a test");
    liana__wire_put_text(&text, "reference:0");
    demand(ask(session, LIANA__SERVED_OPEN, (const uint8_t *)text.data, text.length));
    liana__text_free(&text);
}

bool liana__try_requests(const uint8_t *bytes, size_t size)
{
    liana__served_account account = {.limit = LIMIT};
    liana__served_session *session;
    liana__error error;
    bool is_ok = false;
    demand(liana__served_session_create(&account, 1, &session, &error) == LIANA_OK);
    open_device(session);
    for (size_t at = 0; at + HEAD <= size;) {
        uint32_t kind = bytes[at];
        size_t length = bytes[at + 1] | (size_t)bytes[at + 2] << 8;
        at += HEAD;
        if (length > size - at) length = size - at;
        /* Looking for devices loads plugins. */
        if (kind != LIANA__SERVED_DEVICES) is_ok = ask(session, kind, bytes + at, length);
        at += length;
        demand(account.held <= account.limit);
    }
    liana__served_session_destroy(session);
    demand(account.held == 0);
    return is_ok;
}
