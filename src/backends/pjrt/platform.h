/* platform.h - the kind of a plugin's devices. */
#ifndef LIANA_BACKENDS_PJRT_PLATFORM_H
#define LIANA_BACKENDS_PJRT_PLATFORM_H

#include "backends/backend.h"
#include "base/text.h"

/* The platform of a plugin's device: "tpu", "cuda", "cpu"; NULL: the device is another backend's. */
const char *liana__pjrt_platform_of(const liana__device *device);

/* A plugin's name of its device ("TPU v5 lite"), cut at `size` bytes, and the bytes of its memory. -1: it is another
 * backend's, or the plugin does not say; then the text may be empty. */
int64_t liana__pjrt_describe_memory(const liana__device *device, char *kind, size_t size);

/* The bytes that are free on a plugin's device (liana__pjrt_device_room). 0: the device is another backend's. */
size_t liana__pjrt_room(const liana__device *device, size_t count);

/* Whether programs compiled from now on for a plugin's device have its own default products of f32, which may round
 * their operands to TF32 or bf16 (XLA's precision DEFAULT). false, as it begins: they are computed in f32 (HIGHEST).
 * Other devices have one way only: nothing is done. */
void liana__pjrt_set_products(liana__device *device, bool by_default);

/* Whether programs compiled from now on for a plugin's device must give the same bits each time (repeatable.h); false,
 * as it begins: it may choose the fastest way. Other devices are repeatable: nothing is done. Adds a sentence about it
 * to `text`, if that is not NULL. */
void liana__pjrt_set_exact(liana__device *device, bool is_exact, liana__text *text);

/* Whether a plugin has failed to run a program or to move bytes, so that its devices may be gone. false for other
 * devices. */
bool liana__pjrt_has_failed(const liana__device *device);

/* Checks that a device's plugin has all devices of the slice in this process. Errors: UNIMPLEMENTED, with the variables
 * to set for a slice of several hosts. */
liana_status liana__pjrt_check_slice(const liana__device *device, liana__error *error) LIANA_MUST_USE;

#endif
