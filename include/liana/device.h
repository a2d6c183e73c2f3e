/* device.h - devices: what programs run on. */
#ifndef LIANA_DEVICE_H
#define LIANA_DEVICE_H

#include <liana/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_device liana_device;

/* Opens a device by name, such as "cpu" (also for NULL), "reference", "gpu", "gpu:1", "tpu", "auto" (a TPU or a GPU if
 * there is one, else the CPU), or "pjrt:/path/plugin.so". Options for the plugin of a GPU or TPU may follow:
 * "gpu?memory_fraction=0.5&preallocate=false". docs/devices.md says more. The CPU uses the context's threads. The context
 * must outlive the device. Errors: INVALID_CONFIG (no such name or number; the message has the nearest name; a file that
 * is no plugin), NOT_FOUND (no plugin), UNAVAILABLE (no such hardware; the plugin cannot open it), UNIMPLEMENTED (a
 * plugin of another version), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_device_open(liana_context *context, const char *name,
                                                        liana_device **device);

/* Closes a device, after all variables and programs on it have been destroyed. NULL is allowed. */
LIANA_API void liana_device_close(liana_device *device);

/* The name of its backend: "cpu", "reference" or "pjrt". Static. */
LIANA_API const char *liana_device_name(const liana_device *device);

#ifdef __cplusplus
}
#endif
#endif
