/* liana synth: a data set of drawn flowers. */
#include "cli/session.h"
#include "data/synth/synth_flowers.h"

#include <inttypes.h>
#include <liana/context.h>
#include <string.h>

static const liana__option options[] = {
    {LIANA__OPTION_OUT("the folder for train/, val/, test/ and classes.txt (required)")},
    {LIANA__OPTION_JSON},
    {0},
};

static const liana__place command_line = {.file = "command line"};

static liana_status read_overrides(liana__invocation *invocation, liana__synth_options *synth)
{
    liana__arena *arena = &invocation->arena;
    liana__value *map = liana__value_map(arena);
    for (size_t i = 0; i < invocation->num_overrides; i++) {
        const char *word = invocation->overrides[i];
        size_t length = strcspn(word, "=");
        char *key = liana__arena_format(arena, "%.*s", (int)length, word);
        liana__value *value = liana__value_from_word(arena, word + length + 1);
        if (!key || !value) return liana__fail_memory(&invocation->error, "the arguments");
        value->place = command_line;
        liana__value_set(arena, map, key, value);
    }
    if (!map || arena->failed) return liana__fail_memory(&invocation->error, "the arguments");
    for (size_t i = 0; i < map->count; i++) map->key_places[i] = command_line;
    return liana__fields_read(&liana__synth_fields, map, "", NULL, arena, synth, &invocation->error);
}

static void print_counts(liana__invocation *invocation, const char *folder, const liana__synth_options *synth,
                         const liana__synth_counts *counts)
{
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out,
                "%s: %" PRId64 " images of %" PRId64 " classes, %" PRId64 "x%" PRId64 " pixels\n"
                "  train %" PRId64 ", val %" PRId64 ", test %" PRId64 " (without classes)\n",
                folder, synth->images, synth->classes, synth->image_size, synth->image_size, counts->train,
                counts->validation, counts->test);
        return;
    }
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__session_event(invocation, "drawn");
    liana__value_set(arena, event, "output", liana__value_string(arena, folder));
    liana__value_set(arena, event, "classes", liana__value_int(arena, synth->classes));
    liana__value_set(arena, event, "train", liana__value_int(arena, counts->train));
    liana__value_set(arena, event, "validation", liana__value_int(arena, counts->validation));
    liana__value_set(arena, event, "test", liana__value_int(arena, counts->test));
    liana__invocation_print_json(invocation, event);
}

static liana_status run(liana__invocation *invocation)
{
    const char *what = invocation->operands[0], *folder = liana__invocation_text(invocation, "out");
    if (strcmp(what, "flowers") != 0) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "synth: found '%.100s', expected 'flowers'", what);
    }
    LIANA_TRY(liana__invocation_require(invocation, "out", "the folder for the shards"));
    liana__synth_options synth;
    int num_threads;
    LIANA_TRY(read_overrides(invocation, &synth));
    LIANA_TRY(liana__session_count_threads(&num_threads, &invocation->error));
    liana__counter counter = liana__counter_begin(invocation, "images");
    liana__signals_catch();
    liana__synth_counts counts;
    LIANA_TRY(
        liana__synth_flowers(folder, &synth, num_threads, liana__counter_show, &counter, &counts, &invocation->error));
    print_counts(invocation, folder, &synth, &counts);
    return LIANA_OK;
}

const liana__command liana__subcommand_synth = {
    .name = "synth",
    .operands = "flowers [key=value ...]",
    .summary = "Draw a labelled data set to train on",
    .help = "Draws flowers on cluttered backgrounds into TFRecord shards of JPEGs, with the features image, class\n"
            "and id (test has no class). The classes differ in the shape of the flowers, not in colour. The keys:\n"
            "  classes=10         number of classes, 2 to 1000\n"
            "  images=2000        number of images in all splits together\n"
            "  image_size=96      width and height in pixels\n"
            "  validation=0.15    share of the images for DIR/val\n"
            "  test=0.15          share of the images for DIR/test\n"
            "  shards=4           number of files in DIR/train\n"
            "  seed=1             another seed draws other images\n"
            "  quality=90         quality of the JPEGs, 1 to 100\n"
            "  overwrite=false    replace the shards in DIR\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .overrides = true,
    .own_keys = true,
    .run = run,
};
