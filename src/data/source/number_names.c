/* Gives names to labels that are numbers. */
#include "data/source/number_names.h"

#include "data/source/class_list.h"

liana_status liana__source_name_numbers(liana__source *source, const char *what, const liana__strings *names,
                                        const liana__source_options *options, liana__error *error)
{
    const liana__strings *listed = &options->class_names;
    if (!source->has_labels) return LIANA_OK;
    if (!listed->count || liana__class_list_equal(listed, names)) {
        source->class_names = *names;
        return LIANA_OK;
    }
    if (!options->labels_are_names && listed->count == names->count) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the classes of '%s' are not those that are listed. There are %s; the labels here are of %s",
                       what, liana__class_list_show(listed).text, liana__class_list_show(names).text);
}
