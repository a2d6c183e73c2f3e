/* try_requests.h - feeds any requests to a server's state for a client of its devices. */
#ifndef LIANA_TESTS_TRY_REQUESTS_H
#define LIANA_TESTS_TRY_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of many requests, one after the other: u8 kind, u16 size (little-endian), that many bytes. A session with the
 * device reference:0 answers them. Aborts if an answer is wrong, or if memory is still held at the end. Returns whether
 * the last answer was OK. */
bool liana__try_requests(const uint8_t *bytes, size_t size);

#endif
