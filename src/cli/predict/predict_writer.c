/* Writes predictions to a file, in the form that its name asks for. */
#include "cli/predict/predict.h"

#include "remote/store.h"

static const liana__predict_form *const forms[] = {&liana__predict_jsonl, &liana__predict_npy,
                                                   &liana__predict_tfrecord};

const liana__predict_form *liana__predict_find_form(const char *path)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (liana__ends_with(path, forms[i]->ending)) return forms[i];
    }
    const bool is_folder = liana__ends_with(path, "/") || liana__folder_exists(path);
    return is_folder ? &liana__predict_folder : &liana__predict_csv;
}

liana_status liana__predict_find_place(liana__invocation *invocation, const char *path, liana__sending *sending,
                                       bool *is_sending, const char **local)
{
    *is_sending = false;
    *local = path;
    if (!liana__path_is_remote(path)) return LIANA_OK;
    const char *name = liana__path_name(path), *folder = liana__path_folder(&invocation->arena, path);
    if (!folder) return liana__fail_memory(&invocation->error, path);
    LIANA_TRY(liana__sending_start(invocation, folder, sending));
    *is_sending = true;
    *local = liana__path_join(&invocation->arena, sending->folder, name);
    return *local ? LIANA_OK : liana__fail_memory(&invocation->error, path);
}

/* A folder of pictures is sent as it is; the name of any other form is one in a folder. */
static liana_status find_place(liana__predict_writer *writer)
{
    liana__invocation *invocation = writer->facts->invocation;
    if (writer->form != &liana__predict_folder) {
        return liana__predict_find_place(invocation, writer->name, &writer->sending, &writer->is_sending,
                                         &writer->path);
    }
    LIANA_TRY(liana__sending_start(invocation, writer->name, &writer->sending));
    writer->is_sending = true;
    writer->path = writer->sending.folder;
    return LIANA_OK;
}

static liana_status begin(liana__predict_writer *writer, liana__error *error)
{
    if (writer->form->of_text) return writer->form->begin(writer, error);
    if (!writer->facts->is_chief) return LIANA_OK;
    LIANA_TRY(find_place(writer));
    writer->is_open = true;
    return writer->form->begin(writer, error);
}

liana_status liana__predict_writer_begin(liana__predict_writer *writer, const liana__predict_facts *facts,
                                         const char *path, liana__error *error)
{
    *writer =
        (liana__predict_writer){.facts = facts, .form = liana__predict_find_form(path), .name = path, .path = path};
    return liana__cluster_agree_status(facts->run->core.cluster, begin(writer, error), error);
}

liana_status liana__predict_writer_add(void *user, const liana__prediction *one, liana__error *error)
{
    liana__predict_writer *writer = user;
    if (!writer->form->of_text && !writer->is_open) return LIANA_OK;
    LIANA_TRY(writer->form->add(writer, one, error));
    return writer->text.failed ? liana__fail_memory(error, "the predictions") : LIANA_OK;
}

static liana_status write_text(void *user, bool is_chief, liana__error *error)
{
    const liana__predict_writer *writer = user;
    if (!is_chief) return LIANA_OK;
    return liana__store_replace(writer->name, writer->text.data ? writer->text.data : "", writer->text.length, error);
}

/* A chief that has died had the files. */
static liana_status finish_files(liana__predict_writer *writer, liana__error *error)
{
    liana__cluster *cluster = writer->facts->run->core.cluster;
    if (!liana__cluster_is_chief(cluster)) return LIANA_OK;
    if (!writer->is_open) {
        return liana__fail(error, LIANA_UNAVAILABLE, "the process that wrote the predictions is gone; start again");
    }
    liana_status status = writer->form->finish(writer, error);
    if (status == LIANA_OK) writer->is_open = false;
    if (status == LIANA_OK && writer->is_sending) {
        writer->is_sending = false;
        status = liana__sending_end(writer->facts->invocation, &writer->sending, status);
    }
    return status;
}

liana_status liana__predict_writer_finish(liana__predict_writer *writer, liana__error *error)
{
    liana__cluster *cluster = writer->facts->run->core.cluster;
    if (writer->form->of_text) return liana__chief_does(cluster, write_text, writer, error);
    return liana__cluster_agree_status(cluster, finish_files(writer, error), error);
}

void liana__predict_writer_free(liana__predict_writer *writer)
{
    if (writer->is_open) writer->form->abandon(writer);
    if (writer->is_sending) liana__outlet_close(writer->sending.outlet);
    liana__text_free(&writer->text);
    liana__example_builder_free(&writer->builder);
    *writer = (liana__predict_writer){0};
}
