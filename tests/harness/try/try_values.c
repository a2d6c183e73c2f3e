/* Feeds any bytes to the readers of YAML, JSON and configurations. */
#include "harness/try/try_values.h"

#include "formats/json.h"
#include "formats/yaml.h"
#include "train/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "tried.txt"

static void demand(bool condition, const char *what, const liana__text *text, const liana__error *error)
{
    if (condition) return;
    fprintf(stderr, "broken promise: %s\n%s\n%s\n", what, error->message, text && text->data ? text->data : "");
    abort();
}

static void demand_refusal(liana_status status, liana_status expected, const liana__error *error)
{
    demand(status == expected, "the status says that the text is at fault", NULL, error);
    demand(error->status == status, "status and error agree", NULL, error);
    demand(strstr(error->message, NAME) != NULL, "the message names the file", NULL, error);
}

bool liana__try_yaml(const uint8_t *bytes, size_t size)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *value, *again;
    liana_status status = liana__yaml_parse((const char *)bytes, size, NAME, &arena, &value, &error);
    if (status == LIANA_OK) {
        liana__text text = {0};
        liana__value_write_yaml(value, &text);
        demand(liana__yaml_parse(text.data, text.length, "again", &arena, &again, &error) == LIANA_OK,
               "what is written reads back", &text, &error);
        demand(liana__value_equal(value, again), "what is written reads back equal", &text, &error);
        liana__text_free(&text);
    } else {
        demand_refusal(status, LIANA_INVALID_CONFIG, &error);
    }
    liana__arena_free(&arena);
    return status == LIANA_OK;
}

bool liana__try_json(const uint8_t *bytes, size_t size)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *value, *again;
    liana_status status = liana__json_parse((const char *)bytes, size, NAME, &arena, &value, &error);
    for (int indent = 0; status == LIANA_OK && indent <= 2; indent += 2) {
        liana__text text = {0};
        liana__value_write_json(value, indent, &text);
        demand(liana__json_parse(text.data, text.length, "again", &arena, &again, &error) == LIANA_OK,
               "what is written reads back", &text, &error);
        demand(liana__value_equal(value, again), "what is written reads back equal", &text, &error);
        liana__text_free(&text);
    }
    if (status != LIANA_OK) demand_refusal(status, LIANA_INVALID_DATA, &error);
    liana__arena_free(&arena);
    return status == LIANA_OK;
}

bool liana__try_config(const uint8_t *bytes, size_t size)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__config config, again;
    liana_status status = liana__config_parse(NULL, LIANA__PLUGINS_IGNORED, (const char *)bytes, size, NAME, NULL, 0,
                                              &arena, &config, &error);
    if (status == LIANA_OK) {
        liana__text first = {0}, second = {0};
        liana__config_write(&config, &first);
        demand(liana__config_parse(NULL, LIANA__PLUGINS_IGNORED, first.data, first.length, "/x.yaml", NULL, 0, &arena,
                                   &again, &error) == LIANA_OK,
               "what is written loads", &first, &error);
        liana__config_write(&again, &second);
        demand(strcmp(first.data, second.data) == 0, "what is written loads to the same", &second, &error);
        liana__text_free(&first);
        liana__text_free(&second);
    } else {
        demand_refusal(status, LIANA_INVALID_CONFIG, &error);
    }
    liana__arena_free(&arena);
    return status == LIANA_OK;
}

bool liana__try_override(const uint8_t *bytes, size_t size)
{
    static const char text[] = "model: {layers: [Flatten, {Dense: {units: 1}}]}\n"
                               "train: {optimizer: {name: Adam, learning_rate: {name: CosineDecay}}, metrics: [a]}\n";
    char *override = calloc(1, size + 1);
    if (!override) abort();
    memcpy(override, bytes, size);
    liana__arena arena = {0};
    liana__error error = {0};
    liana__config config;
    liana_status status = liana__config_parse(NULL, LIANA__PLUGINS_IGNORED, text, sizeof text - 1, NAME,
                                              (const char *const[]){override}, 1, &arena, &config, &error);
    demand(status == LIANA_OK || status == LIANA_INVALID_CONFIG, "the status says that the word is at fault", NULL,
           &error);
    liana__arena_free(&arena);
    free(override);
    return status == LIANA_OK;
}
