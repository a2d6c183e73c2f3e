/* try_frame.h - feeds any bytes to the readers of frames and greetings. */
#ifndef LIANA_TESTS_TRY_FRAME_H
#define LIANA_TESTS_TRY_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Aborts if a promise of the readers is broken. Returns whether the bytes are a frame. */
bool liana__try_frame(const uint8_t *bytes, size_t size);

#endif
