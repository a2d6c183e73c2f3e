/* Formats and tells notes. */
#include "base/notes.h"

#include "base/format.h"

#include <stdarg.h>

void liana__note(const liana__notes *notes, const char *format, ...)
{
    if (!notes->tell) return;
    char note[2304];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(note, sizeof note, format, arguments);
    va_end(arguments);
    liana__escape_controls(note, sizeof note);
    notes->tell(notes->user, note);
}
