/* Makes and sends a subcommand's folder. */
#include "cli/sending.h"

#include "base/file.h"

liana_status liana__sending_start(liana__invocation *invocation, const char *folder, liana__sending *sending)
{
    liana__error *error = &invocation->error;
    *sending = (liana__sending){.folder = folder};
    if (!liana__path_is_remote(folder)) return liana__folder_make(folder, error);
    LIANA_TRY(liana__outlet_open(&(liana__outlet_options){.url = folder, .fresh = true}, &sending->outlet, error));
    sending->folder = liana__outlet_folder(sending->outlet);
    return LIANA_OK;
}

liana_status liana__sending_end(liana__invocation *invocation, liana__sending *sending, liana_status status)
{
    if (sending->outlet && status == LIANA_OK) status = liana__outlet_flush(sending->outlet, &invocation->error);
    liana__outlet_close(sending->outlet);
    sending->outlet = NULL;
    return status;
}
