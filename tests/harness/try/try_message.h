/* try_message.h - feeds any bytes to the readers of messages between the processes of a training. */
#ifndef LIANA_TESTS_TRY_MESSAGE_H
#define LIANA_TESTS_TRY_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

/* The first byte chooses the reader. Aborts if a promise is broken. */
void liana__try_message(const uint8_t *bytes, size_t size);

#endif
