/* Where the decoded images of a run are kept, and the messages about it. */
#include "train/run/run_internal.h"

#include "base/memory.h"
#include "base/scoped.h"

#include <string.h>

/* Training data are read in each epoch, and so are validation data; test data once. */
static const char *cached_part(const liana__run *run, const liana__run_data *part)
{
    return part == &run->training ? "training" : part == &run->validation ? "validation" : NULL;
}

static void add_strings(liana__text *text, const char *name, const liana__strings *strings)
{
    for (size_t i = 0; i < strings->count; i++) liana__text_add(text, "%s %s\n", name, strings->items[i]);
}

/* All settings on which a label or an id depends; the loader adds those of the pixels. */
static const char *describe_settings(liana__run *run)
{
    const liana__data_config *data = &run->config->data;
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "image %s\nlabel %s\nid %s\n", data->features.image ? data->features.image : "",
                    data->features.label ? data->features.label : "", data->features.id ? data->features.id : "");
    liana__text_add(&text, "offset %lld\nclasses %lld\ntake %lld\n", (long long)data->label_offset,
                    (long long)run->num_classes, (long long)data->take);
    if (data->validation_split > 0) {
        liana__text_add(&text, "split %.17g seed %lld\n", data->validation_split, (long long)run->config->job.seed);
    }
    add_strings(&text, "class", &run->class_names);
    return text.failed ? NULL : liana__arena_string(&run->arena, text.data);
}

static liana_status choose_file(liana__run *run, const char *part, const char *folder, liana__loader_options *options,
                                liana__error *error)
{
    const liana__source_config *where = strcmp(part, "training") == 0 || run->config->data.validation_split > 0
                                            ? &run->config->data.train
                                            : &run->config->data.validation;
    liana__image_cache_file_options *file = liana__arena_allocate(&run->arena, sizeof *file);
    const char *settings = describe_settings(run);
    if (!file || !settings) return liana__fail_memory(error, "the cache of decoded images");
    *file =
        (liana__image_cache_file_options){.folder = folder, .name = part, .settings = settings, .files = where->paths};
    if (run->config->data.quarantine) {
        /* Records that are left out change the numbers of the others. */
        size_t count = where->paths.count;
        const char **files = liana__arena_allocate(&run->arena, (count + 1) * sizeof *files);
        if (!files) return liana__fail_memory(error, "the cache of decoded images");
        for (size_t i = 0; i < count; i++) files[i] = where->paths.items[i];
        LIANA_TRY(liana__remote_file(run->remote, run->config->data.quarantine, &run->arena, &files[count], error));
        file->files = (liana__strings){count + 1, files};
    }
    options->cache_file = file;
    return LIANA_OK;
}

liana_status liana__run_choose_cache(liana__run *run, const liana__run_data *part, liana__loader_options *options,
                                     liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    const char *name = cached_part(run, part), *folder = data->cache_dir;
    if (!name || data->cache == LIANA__CACHE_NONE) return LIANA_OK;
    if (!folder && run->folder) folder = liana__path_join(&run->arena, run->folder, "cache");
    if (run->arena.failed) return liana__fail_memory(error, "the cache of decoded images");
    /* IDX files have pixels, which need no decoding, and labels in files of their own. For a choice from several
     * sources, the files alone do not say which records there are. */
    bool decoded =
        strcmp(part->source->kind->part.name, "idx") == 0 || strcmp(part->source->kind->part.name, "dataset") == 0;
    if (data->cache == LIANA__CACHE_FILE && folder && !decoded) {
        return choose_file(run, name, folder, options, error);
    }
    options->cache_memory = liana__machine_memory() / (part == &run->training ? 4 : 16);
    return LIANA_OK;
}

static void note_cache(const liana__run_data *part, const char *name, const liana__run_options *options)
{
    const liana__image_cache *cache = part->loader ? liana__loader_cache(part->loader) : NULL;
    uint64_t count = liana__image_cache_count(cache), size = liana__image_cache_size(cache) >> 20;
    const char *path = liana__image_cache_path(cache);
    if (path) {
        liana__run_note(options, "decoded %s images are kept in '%s': %llu MiB when complete", name, path,
                        (unsigned long long)size);
    } else if (count) {
        liana__run_note(options, "decoded images of %llu of %llu %s examples are kept in memory: %llu MiB",
                        (unsigned long long)count, (unsigned long long)part->source->num_records, name,
                        (unsigned long long)size);
    }
}

void liana__run_note_caches(const liana__run *run, const liana__run_options *options)
{
    note_cache(&run->training, "training", options);
    note_cache(&run->validation, "validation", options);
}

void liana__run_note_cache_events(const liana__run *run, const liana__run_options *options)
{
    const liana__run_data *parts[] = {&run->training, &run->validation};
    for (int i = 0; i < 2; i++) {
        LIANA__SCOPED(liana__text) text = {0};
        bool any = parts[i]->loader && liana__image_cache_take_note(liana__loader_cache(parts[i]->loader), &text);
        if (any && text.data) liana__run_note(options, "%s", text.data);
    }
}
