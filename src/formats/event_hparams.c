/* Writes the hyperparameters of a run into an event file. */
#include "formats/event_hparams.h"

#include "base/memory.h"
#include "base/scoped.h"
#include "base/text.h"
#include "base/value_read.h"
#include "formats/event_writer.h"
#include "formats/hparams.pb-c.h"

#include <stdlib.h>

typedef Liana__Hparams__PluginData plugin_data;

static char *unconst(const char *text)
{
    return (char *)(uintptr_t)text;
}

static bool set_value(liana__arena *arena, const liana__value *from, Liana__Hparams__Value *to)
{
    liana__hparams__value__init(to);
    if (from->kind == LIANA__VALUE_BOOL) {
        to->kind_case = LIANA__HPARAMS__VALUE__KIND_BOOL_VALUE;
        to->bool_value = from->boolean;
        return true;
    }
    if (liana__value_is_number(from)) {
        to->kind_case = LIANA__HPARAMS__VALUE__KIND_NUMBER_VALUE;
        to->number_value = from->kind == LIANA__VALUE_INT ? (double)from->integer : from->number;
        return true;
    }
    to->kind_case = LIANA__HPARAMS__VALUE__KIND_STRING_VALUE;
    if (from->kind == LIANA__VALUE_STRING) {
        to->string_value = unconst(from->string);
        return true;
    }
    LIANA__SCOPED(liana__text) json = {0};
    liana__value_write_json(from, 0, &json);
    to->string_value = json.failed ? NULL : liana__arena_string(arena, json.data);
    return to->string_value != NULL;
}

/* NULL: there is no memory. */
static Liana__Hparams__Entry **make_entries(liana__arena *arena, const liana__event_session *session)
{
    Liana__Hparams__Entry **list = liana__arena_allocate(arena, (session->count + 1) * sizeof *list);
    for (size_t i = 0; list && i < session->count; i++) {
        Liana__Hparams__Value *value = liana__arena_allocate(arena, sizeof *value);
        list[i] = liana__arena_allocate(arena, sizeof *list[i]);
        if (!value || !list[i] || !set_value(arena, session->hparams[i].value, value)) return NULL;
        liana__hparams__entry__init(list[i]);
        list[i]->key = unconst(session->hparams[i].name);
        list[i]->value = value;
    }
    return list;
}

/* Such a value has all it says in its metadata. */
static liana_status add(liana__event_writer *writer, const char *tag, const plugin_data *data, liana__arena *arena,
                        liana__error *error)
{
    const size_t size = liana__hparams__plugin_data__get_packed_size(data);
    uint8_t *bytes = liana__arena_allocate(arena, size + 1);
    if (!bytes) return liana__fail_memory(error, "hyperparameters");
    liana__hparams__plugin_data__pack(data, bytes);
    const liana__summary_value value = {.tag = tag,
                                        .kind = LIANA__SUMMARY_HPARAMS,
                                        .content = bytes,
                                        .content_size = size};
    return liana__event_writer_add(writer, 0, &value, 1, error);
}

static liana_status add_session(liana__event_writer *writer, const liana__event_session *session, liana__arena *arena,
                                liana__error *error)
{
    plugin_data begins = LIANA__HPARAMS__PLUGIN_DATA__INIT, ends = LIANA__HPARAMS__PLUGIN_DATA__INIT;
    Liana__Hparams__SessionStart begin = LIANA__HPARAMS__SESSION_START__INIT;
    Liana__Hparams__SessionEnd end = LIANA__HPARAMS__SESSION_END__INIT;
    begin.hparams = make_entries(arena, session);
    if (!begin.hparams) return liana__fail_memory(error, "hyperparameters");
    begin.n_hparams = session->count;
    begin.group_name = unconst(session->group);
    begin.start_time_secs = session->begin;
    end.status = session->has_failed ? LIANA__HPARAMS__STATUS__STATUS_FAILURE : LIANA__HPARAMS__STATUS__STATUS_SUCCESS;
    end.end_time_secs = session->end;
    begins.data_case = LIANA__HPARAMS__PLUGIN_DATA__DATA_SESSION_START_INFO;
    begins.session_start_info = &begin;
    ends.data_case = LIANA__HPARAMS__PLUGIN_DATA__DATA_SESSION_END_INFO;
    ends.session_end_info = &end;
    LIANA_TRY(add(writer, "_hparams_/session_start_info", &begins, arena, error));
    return add(writer, "_hparams_/session_end_info", &ends, arena, error);
}

static bool keeps_nothing(void *user, int64_t step, const char *tag)
{
    (void)user, (void)step, (void)tag;
    return false;
}

liana_status liana__event_session_write(const char *folder, const liana__event_session *session, liana__error *error)
{
    liana__event_writer *writer;
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA_TRY(liana__event_folder_trim(folder, keeps_nothing, NULL, error));
    LIANA_TRY(liana__event_writer_open(folder, &writer, error));
    const liana_status status = add_session(writer, session, &arena, error);
    const liana_status closed = liana__event_writer_close(writer, status ? NULL : error);
    return status ? status : closed;
}
