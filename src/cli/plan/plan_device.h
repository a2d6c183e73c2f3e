/* plan_device.h - `liana plan --device tpu` or gpu: the plan of a training on a TPU or a GPU, made without one. */
#ifndef LIANA_CLI_PLAN_DEVICE_H
#define LIANA_CLI_PLAN_DEVICE_H

#include "cli/session.h"

/* Prints it. Options: device, topology, microbatch, all, compile. Errors: INVALID_CONFIG, those of opening a run and,
 * with --compile, of liana__pjrt_compile_ahead. */
liana_status liana__plan_device(liana__invocation *invocation, const liana__session *session) LIANA_MUST_USE;

#endif
