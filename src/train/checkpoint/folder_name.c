/* Refuses names of folders that end as files of other formats do. */
#include "train/checkpoint/temporary.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *ending;
    const char *what;
} formats[] = {
    {".h5", "a Keras HDF5 file"},
    {".hdf5", "a Keras HDF5 file"},
    {".keras", "a Keras file"},
    {".onnx", "an ONNX file"},
    {".tflite", "a TensorFlow Lite file"},
    {".tfjs", "a model of TensorFlow.js"},
    {".pb", "a TensorFlow graph"},
    {".pbtxt", "a TensorFlow graph"},
    {".safetensors", "a safetensors file"},
    {".pt", "a PyTorch file"},
    {".pth", "a PyTorch file"},
    {".ckpt", "a checkpoint file"},
    {".json", "a JSON file"},
    {".yaml", "a YAML file"},
    {".yml", "a YAML file"},
};

liana_status liana__folder_name_check(const char *folder, const char *written, liana__error *error)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t size = strlen(formats[i].ending);
        /* ".h5" alone is the name of a hidden folder. */
        if (length <= size || strncasecmp(folder + length - size, formats[i].ending, size) != 0 ||
            folder[length - size - 1] == '/') {
            continue;
        }
        return liana__fail(error, LIANA_UNIMPLEMENTED,
                           "'%s' is named as %s, which is not written here; what is written is %s: give the name of a "
                           "folder, such as '%.*s'",
                           folder, formats[i].what, written, (int)(length - size), folder);
    }
    return LIANA_OK;
}
