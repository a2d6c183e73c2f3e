/* device_list.h - the inside of liana_device_list_create, for callers with an error of their own. */
#ifndef LIANA_PROGRAM_DEVICE_LIST_H
#define LIANA_PROGRAM_DEVICE_LIST_H

#include "backends/device_list.h"

/* Destroy the list in any case. */
liana_status liana__device_list_make(liana_context *context, const char *name, liana_device_list **list,
                                     liana__error *error) LIANA_MUST_USE;

#endif
