/* liana convert: data of any form as TFRecord shards. */
#include "data/convert/convert.h"

#include "base/file.h"
#include "cli/remote_files.h"
#include "cli/session.h"
#include "formats/image.h"

#include <inttypes.h>

static const liana__option options[] = {
    {LIANA__OPTION_OUT("the folder for the shards and classes.txt (required)")},
    {"validation", "SHARE", "share of the records for DIR/val, 0 to 1 (default 0)"},
    {"test", "SHARE", "share of the records for DIR/test, without labels (default 0)"},
    {"shuffle", NULL, "shuffle the records, so that each shard has all classes"},
    {"seed", "N", "seed of the shuffled order (default 0)"},
    {"shards", "N", "number of shards"},
    {"records", "N", "number of records in a shard (default 1000)"},
    {"prefix", "NAME", "first part of the shards' names (default part)"},
    {"no-labels", NULL, "the data have no labels, or the labels are left out"},
    {"overwrite", NULL, "replace the shards of an earlier conversion in DIR"},
    {LIANA__OPTION_JSON},
    {0},
};

static liana_status read_options(liana__invocation *invocation, liana__convert_options *convert)
{
    int64_t seed = 0, shards = 0, records = 0;
    LIANA_TRY(liana__invocation_int(invocation, "seed", 0, INT64_MAX, &seed));
    LIANA_TRY(liana__invocation_int(invocation, "shards", 1, 100000, &shards));
    LIANA_TRY(liana__invocation_int(invocation, "records", 1, INT32_MAX, &records));
    LIANA_TRY(liana__invocation_float(invocation, "validation", 0, 1, &convert->validation_fraction));
    LIANA_TRY(liana__invocation_float(invocation, "test", 0, 1, &convert->test_fraction));
    LIANA_TRY(liana__invocation_require(invocation, "out", "the folder for the shards"));
    convert->output = liana__invocation_text(invocation, "out");
    convert->prefix = liana__invocation_text(invocation, "prefix");
    convert->shuffle = liana__invocation_has(invocation, "shuffle");
    convert->overwrite = liana__invocation_has(invocation, "overwrite");
    convert->seed = (uint64_t)seed;
    convert->num_shards = (size_t)shards;
    convert->records_per_shard = (size_t)records;
    convert->source.ignore_labels = liana__invocation_has(invocation, "no-labels");
    convert->inputs = invocation->operands;
    convert->num_inputs = invocation->num_operands;
    return LIANA_OK;
}

static void print_summary(liana__invocation *invocation, const liana__convert_summary *summary, const char *output)
{
    const struct {
        const char *name;
        uint64_t count;
    } members[] = {
        {"classes", summary->num_classes},       {"records", summary->num_records}, {"train", summary->num_train},
        {"validation", summary->num_validation}, {"test", summary->num_test},       {"shards", summary->num_shards},
        {"ignored", summary->num_ignored},
    };
    if (liana__invocation_has(invocation, "json")) {
        liana__arena *arena = &invocation->arena;
        liana__value *event = liana__session_event(invocation, "converted");
        liana__value_set(arena, event, "output", liana__value_string(arena, output));
        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
            liana__value_set(arena, event, members[i].name, liana__value_int(arena, (int64_t)members[i].count));
        }
        liana__invocation_print_json(invocation, event);
        return;
    }
    fprintf(invocation->out, "%s: %" PRIu64 " records", output, summary->num_records);
    if (summary->num_classes) fprintf(invocation->out, " of %" PRIu64 " classes", summary->num_classes);
    fprintf(invocation->out, " in %" PRIu64 " shard%s\n", summary->num_shards, summary->num_shards == 1 ? "" : "s");
    if (summary->num_validation || summary->num_test) {
        fprintf(invocation->out, "  train %" PRIu64 ", val %" PRIu64 ", test %" PRIu64 "\n", summary->num_train,
                summary->num_validation, summary->num_test);
    }
    if (summary->num_ignored) {
        fprintf(invocation->out, "  left out: %" PRIu64 " that are no images (" LIANA__IMAGE_KINDS ")\n",
                summary->num_ignored);
    }
}

static liana_status run(liana__invocation *invocation)
{
    liana__convert_options convert = {0};
    LIANA_TRY(read_options(invocation, &convert));
    liana__counter counter = liana__counter_begin(invocation, "records");
    convert.progress = liana__counter_show;
    convert.user = &counter;
    liana__signals_catch();
    liana__convert_summary summary;
    LIANA_TRY(liana__fetching_start(invocation, NULL, 0, &convert.source.remote));
    liana_status status = liana__convert(&convert, &summary, &invocation->error);
    liana__remote_destroy(convert.source.remote);
    if (status == LIANA_OK) print_summary(invocation, &summary, convert.output);
    return status;
}

const liana__command liana__subcommand_convert = {
    .name = "convert",
    .operands = "DATA ...",
    .summary = "Turn class folders, IDX files or TFRecords into TFRecord shards",
    .help = "DATA is the same as for data.train: a folder with a folder of .jpg, .jpeg and .png files for each class;\n"
            "IDX files of images and labels (MNIST's format); or TFRecords, to make other shards of them. JPEGs and\n"
            "PNGs are copied byte for byte. Shards are named NAMEnn-COUNT.tfrec. Their records have the features\n"
            "image, class and id. The names of the classes are written to DIR/classes.txt. DIR may be\n"
            "gs://bucket/folder or s3://bucket/folder.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
