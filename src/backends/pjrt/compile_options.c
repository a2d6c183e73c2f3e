/* Writes XLA's CompileOptionsProto. The numbers of fields are those of xla/pjrt/proto/compile_options.proto. */
#include "backends/pjrt/compile_options.h"

#include <string.h>

/* Of CompileOptionsProto. */
enum { BUILD_OPTIONS = 3, PORTABLE = 4, FLAGS = 7 };
/* Of ExecutableBuildOptionsProto. */
enum { DEVICE_ORDINAL = 1, SETTINGS = 3, NUM_REPLICAS = 4, NUM_PARTITIONS = 5, ASSIGNMENT = 9, EFFORT = 20 };
/* Of DeviceAssignmentProto, and of its ComputationDevice. */
enum { REPLICA_COUNT = 1, COMPUTATION_COUNT = 2, COMPUTATION_DEVICES = 3, REPLICA_IDS = 1 };
/* Of an entry of FLAGS, and of OptionOverrideProto. */
enum { FLAG_NAME = 1, FLAG_VALUE = 2, FLAG_BOOL = 2, FLAG_NUMBER = 3 };
/* Of DebugOptions, and of an entry of it. */
enum { DISABLED_PASSES = 30, BACKEND_EXTRA_OPTIONS = 500, EXTRA_NAME = 1, EXTRA_VALUE = 2 };

static void add_varint(liana__text *bytes, uint64_t value)
{
    do {
        char byte = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        liana__text_add_bytes(bytes, &byte, 1);
        value >>= 7;
    } while (value);
}

static void add_number(liana__text *bytes, uint64_t field, int64_t value)
{
    add_varint(bytes, field << 3);
    add_varint(bytes, (uint64_t)value);
}

static void add_bytes(liana__text *bytes, uint64_t field, const char *data, size_t size)
{
    add_varint(bytes, field << 3 | 2);
    add_varint(bytes, size);
    liana__text_add_bytes(bytes, data, size);
}

static void add_float(liana__text *bytes, uint64_t field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_varint(bytes, field << 3 | 5);
    for (int i = 0; i < 4; i++) liana__text_add_bytes(bytes, &(char){(char)(bits >> 8 * i & 0xff)}, 1);
}

/* A message within a message, which is freed. */
static void add_message(liana__text *bytes, uint64_t field, liana__text *message)
{
    if (message->failed) bytes->failed = true;
    add_bytes(bytes, field, message->data ? message->data : "", message->length);
    liana__text_free(message);
}

static void add_assignment(liana__text *bytes, const liana__pjrt_compile_options *options)
{
    liana__text assignment = {0}, devices = {0}, ids = {0};
    for (size_t i = 0; i < options->num_replicas; i++) add_varint(&ids, (uint64_t)options->devices[i]);
    add_message(&devices, REPLICA_IDS, &ids);
    add_number(&assignment, REPLICA_COUNT, (int64_t)options->num_replicas);
    add_number(&assignment, COMPUTATION_COUNT, 1);
    add_message(&assignment, COMPUTATION_DEVICES, &devices);
    add_message(bytes, ASSIGNMENT, &assignment);
}

static void add_flag(liana__text *bytes, const liana__pjrt_flag *flag)
{
    liana__text entry = {0}, value = {0};
    add_number(&value, flag->is_number ? FLAG_NUMBER : FLAG_BOOL, flag->value);
    add_bytes(&entry, FLAG_NAME, flag->name, strlen(flag->name));
    add_message(&entry, FLAG_VALUE, &value);
    add_message(bytes, FLAGS, &entry);
}

static void add_settings(liana__text *bytes, const liana__pjrt_compile_options *options)
{
    static const char join[] = "xla_cpu_use_multi_output_fusion", cut[] = "tree_reduction_rewriter",
                      drop[] = "cse_barrier_expander";
    liana__text settings = {0}, entry = {0};
    if (options->settings) liana__text_add_bytes(&settings, options->settings, options->settings_size);
    if (options->fewer_loops) {
        add_bytes(&settings, DISABLED_PASSES, cut, strlen(cut));
        add_bytes(&entry, EXTRA_NAME, join, strlen(join));
        add_bytes(&entry, EXTRA_VALUE, "", 0);
        add_message(&settings, BACKEND_EXTRA_OPTIONS, &entry);
    }
    if (options->keeps_barriers) add_bytes(&settings, DISABLED_PASSES, drop, strlen(drop));
    add_message(bytes, SETTINGS, &settings);
}

void liana__pjrt_compile_options_write(const liana__pjrt_compile_options *options, liana__text *bytes)
{
    bool portable = options->num_replicas <= 1 && !options->devices;
    liana__text build = {0};
    add_number(&build, DEVICE_ORDINAL, -1);
    if (options->fewer_loops || options->keeps_barriers) add_settings(&build, options);
    add_number(&build, NUM_REPLICAS, options->num_replicas ? (int64_t)options->num_replicas : 1);
    add_number(&build, NUM_PARTITIONS, 1);
    if (options->devices) add_assignment(&build, options);
    if (options->is_quick) add_float(&build, EFFORT, -1); /* the least there is; 0 is usual */
    add_message(bytes, BUILD_OPTIONS, &build);
    if (portable) add_number(bytes, PORTABLE, 1);
    for (size_t i = 0; i < options->num_flags; i++) add_flag(bytes, &options->flags[i]);
}
