/* device.h - devices: what programs run on. */
#ifndef LIANA_DEVICE_H
#define LIANA_DEVICE_H

#include <liana/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_device liana_device;

/* Opens a device by name: "cpu" (also for NULL), or another of `liana list devices`. It uses the context's threads. The
 * context must outlive it. Errors: INVALID_CONFIG (no such device; the message has the nearest name), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_device_open(liana_context *context, const char *name,
                                                        liana_device **device);

/* Closes a device, after all variables and programs on it have been destroyed. NULL is allowed. */
LIANA_API void liana_device_close(liana_device *device);

/* The name that it was opened by. Static. */
LIANA_API const char *liana_device_name(const liana_device *device);

#ifdef __cplusplus
}
#endif
#endif
