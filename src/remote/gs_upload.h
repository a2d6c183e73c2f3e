/* gs_upload.h - objects of Google Cloud Storage that are written, by resumable uploads of its JSON interface.
 *
 * Source: cloud.google.com/storage/docs/resumable-uploads and .../performing-resumable-uploads. Why not the multipart
 * upload of the XML interface: a resumable upload uses the interface, the endpoint and the token that reading uses, its
 * metadata carry one CRC-32C that the server compares with the whole object, and one that is never finished costs
 * nothing and expires by itself after a week. */
#ifndef LIANA_REMOTE_GS_UPLOAD_H
#define LIANA_REMOTE_GS_UPLOAD_H

#include "remote/remote_internal.h"

/* liana__scheme.put */
liana_status liana__gs_put(liana__remote *remote, const liana__remote_object *object, const liana__upload *upload,
                           liana__error *error);

/* gs.c: makes the request that begins an upload, but for its body. `only_if` is that of liana__upload. */
liana_status liana__gs_begin_upload(liana__remote *remote, const liana__remote_object *object, const char *only_if,
                                    liana__http_request *request, liana__error *error);

#endif
