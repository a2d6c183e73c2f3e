/* try_keras.h - feeds any bytes to the readers of Keras's architectures and compile settings: for the fuzz target and
 * for mutation tests. */
#ifndef LIANA_TESTS_TRY_KERAS_H
#define LIANA_TESTS_TRY_KERAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text is JSON: an architecture, with compile settings under "compile_config" or "training_config". An accepted one
 * is written, reads back, and is written as the same text. A refusal has a message that names the file. Returns whether
 * the architecture was accepted; aborts where a promise is broken. */
bool liana__try_keras(const uint8_t *bytes, size_t size);

#endif
