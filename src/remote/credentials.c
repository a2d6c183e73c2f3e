/* Reads the environment, answers of servers and files of the system. */
#include "remote/credentials.h"

#include "base/file.h"
#include "base/scoped.h"
#include "base/text.h"

const char *liana__credentials_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

const char *liana__credentials_text(const liana__value *map, const char *key)
{
    const liana__value *value = liana__value_get(map, key);
    return value && value->kind == LIANA__VALUE_STRING && *value->string ? value->string : NULL;
}

bool liana__machine_says(const char *path, const char *start)
{
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size;
    return liana__file_read(path, 8192, &text, &size, NULL) == LIANA_OK && liana__starts_with(text, start);
}
