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
 * "gpu?memory_fraction=0.5&preallocate=false". A device of another process that runs `liana server` is
 * "/job:worker/task:1/cpu:0", or "host:port/gpu:0". docs/devices.md says more. The CPU uses the context's threads. The
 * context must outlive the device. Errors: INVALID_CONFIG (no such name or number; the message has the nearest name; a
 * file that is no plugin), NOT_FOUND (no plugin), UNAVAILABLE (no such hardware; the plugin cannot open it; the server
 * cannot be reached, has another version or no room), UNIMPLEMENTED (a plugin of another version), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_device_open(liana_context *context, const char *name,
                                                        liana_device **device);

/* Says where the servers of this context's remote devices are. `cluster` is a configuration's section `cluster` in one
 * line: "{workers: [\"first:2222\", \"second:2222\"], keys: /etc/liana/keys}". The job "worker" is its workers, "ps" its
 * servers. Without this call, TF_CONFIG says it. Errors: INVALID_CONFIG, OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_connect_to_cluster(liana_context *context, const char *cluster);

/* Closes a device, after all variables and programs on it have been destroyed. NULL is allowed. */
LIANA_API void liana_device_close(liana_device *device);

/* The name of its backend: "cpu", "reference", "pjrt" or "remote". Static. */
LIANA_API const char *liana_device_name(const liana_device *device);

#ifdef __cplusplus
}
#endif
#endif
