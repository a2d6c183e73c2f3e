/* session.h - a server's state for one client, and the client's requests.
 *
 * Requests come from a network. Everything in them is checked: numbers of buffers, sizes against types, graphs by their
 * reader, memory against the server's limit. A session is used by one thread. */
#ifndef LIANA_BACKENDS_REMOTE_SESSION_H
#define LIANA_BACKENDS_REMOTE_SESSION_H

#include "backends/remote/account.h"
#include "base/text.h"

#include <stdint.h>

typedef struct liana__served_session liana__served_session;

/* `num_threads`: of the session's device, if it is a CPU; 0: as many as there are cores. */
liana_status liana__served_session_create(liana__served_account *account, int num_threads,
                                          liana__served_session **session, liana__error *error) LIANA_MUST_USE;
/* Answers a request: fills `answer`, which was empty. */
void liana__served_session_answer(liana__served_session *session, uint32_t kind, const uint8_t *bytes, size_t size,
                                  liana__text *answer);
/* An answer that is an error. */
void liana__served_answer_error(liana__text *answer, const liana__error *error);
/* Whether the client has opened a device. */
bool liana__served_session_is_open(const liana__served_session *session);
/* The client and its device: "process 12 on host has cpu:0". */
const char *liana__served_session_print(const liana__served_session *session);
/* Frees all that the client held. */
void liana__served_session_destroy(liana__served_session *session);

#endif
