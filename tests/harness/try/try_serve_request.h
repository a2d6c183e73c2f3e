/* try_serve_request.h - feeds any bytes to the reader of requests for predictions: the common code of its fuzz target
 * and its mutation test. */
#ifndef LIANA_TESTS_TRY_SERVE_REQUEST_H
#define LIANA_TESTS_TRY_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first byte chooses the kind of request and the model. Returns whether the reader accepted the rest, and aborts
 * where a promise of its header is broken: a refusal has a message, accepted numbers are finite, and a budget is given
 * back. */
bool liana__try_serve_request(const uint8_t *bytes, size_t size);

#endif
