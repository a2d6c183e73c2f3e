"""Predict with models of liana: arrays of numpy in and out, through libliana.so.

    import liana
    model = liana.load("flowers")              # a folder of `liana export`, a run, a .keras or .onnx file
    model.predict("photo.jpg")                 # array of shape (classes,)
    model.predict(["a.jpg", "b.png", frame])   # (3, classes); a frame is an array (height, width, channels), uint8
    model.class_names

The library is the file of LIANA_LIBRARY, else that of the installation or build that this module lies in, else the
system's. Its names are documented in <liana/predictor.h>.
"""

import ctypes
import ctypes.util
import os
import re
import threading
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy

__all__ = ["Error", "Model", "Port", "load", "version"]
# Programs of one major version go on with all later libraries of it.
MAJOR = 1
SONAME = f"libliana.so.{MAJOR}"
SCALES = {None: 0, "0..1": 1, "-1..1": 2, "none": 3, "caffe": 4, "torch": 5}
F32, S32, U8, STRING, MAX_RANK = 0, 3, 5, 13, 8


class Error(RuntimeError):
    """A failure of the library: its message, and `status`, such as "INVALID_DATA"."""

    def __init__(self, status, message):
        super().__init__(message or status)
        self.status = status


# ---- the structs of <liana/array.h>, <liana/preprocessing.h> and <liana/predictor.h> ----


class Shape(Structure):
    _fields_ = [("rank", c_int), ("dims", c_int64 * MAX_RANK)]


class Array(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int), ("shape", Shape), ("data", c_void_p)]


class Bytes(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Pixels(Structure):
    _fields_ = [("data", c_void_p), ("height", c_int64), ("width", c_int64), ("channels", c_int),
                ("row_bytes", c_int64)]


class Preprocessing(Structure):
    _fields_ = [("scale", c_int), ("round", c_bool), ("antialias", c_bool), ("fast_decode", c_bool),
                ("class_names", POINTER(c_char_p)), ("num_class_names", c_size_t)]


class ContextOptions(Structure):
    _fields_ = [("num_threads", c_int), ("log", c_void_p), ("log_user", c_void_p), ("sticky_errors", c_bool),
                ("allow_plugins", c_bool)]


class Options(Structure):
    _fields_ = [("batch_size", c_int64), ("device", c_char_p), ("num_threads", c_int), ("scale", c_int),
                ("prepared_images", c_bool)]


class Facts(Structure):
    _fields_ = [("name", c_char_p), ("batch_size", c_int64), ("num_inputs", c_size_t), ("num_outputs", c_size_t),
                ("num_values", c_int64), ("takes_images", c_bool), ("height", c_int64), ("width", c_int64),
                ("channels", c_int), ("preprocessing", Preprocessing)]


class PortFacts(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int), ("shape", Shape), ("num_values", c_int64), ("offset", c_int64),
                ("num_ids", c_int64), ("is_image", c_bool), ("class_names", POINTER(c_char_p)),
                ("num_class_names", c_size_t)]


FUNCTIONS = {
    "liana_version": (c_char_p,),
    "liana_status_name": (c_char_p, c_int),
    "liana_context_create": (c_int, POINTER(ContextOptions), POINTER(c_void_p)),
    "liana_context_destroy": (None, c_void_p),
    "liana_context_message": (c_char_p, c_void_p),
    "liana_predictor_open": (c_int, c_void_p, c_char_p, POINTER(Options), POINTER(c_void_p)),
    "liana_predictor_close": (None, c_void_p),
    "liana_predictor_message": (c_char_p, c_void_p),
    "liana_predictor_info": (Facts, c_void_p),
    "liana_predictor_input": (PortFacts, c_void_p, c_size_t),
    "liana_predictor_output": (PortFacts, c_void_p, c_size_t),
    "liana_predictor_run": (c_int, c_void_p, POINTER(Array), c_size_t, c_void_p),
    "liana_predictor_run_images": (c_int, c_void_p, POINTER(Pixels), c_size_t, c_void_p),
    "liana_predictor_run_encoded": (c_int, c_void_p, POINTER(Bytes), c_size_t, c_void_p),
}


def _candidates():
    named = os.environ.get("LIANA_LIBRARY")
    if named:
        return [named]
    above = list(Path(__file__).resolve().parents)
    folders = [above[2] / "build"] if above[1].name == "bindings" else []
    if len(above) > 3:
        folders += [above[3] / "lib", *above[3].glob("lib/*-linux-*")]
    found = [str(folder / name) for folder in folders for name in (SONAME, "libliana.so")]
    return [path for path in found if os.path.exists(path)] + [SONAME, ctypes.util.find_library("liana") or "libliana.so"]


def _load_library():
    why = None
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as error:
            why = why or error
    else:
        raise ImportError(f"liana: the library is not found ({why}); set LIANA_LIBRARY to the path of libliana.so")
    for name, (result, *arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"liana: {path} has no {name}: it is another version than {MAJOR}") from None
        function.restype, function.argtypes = result, arguments
    found = library.liana_version().decode()
    if found.split(".")[0] != str(MAJOR):
        raise ImportError(f"liana: {path} is version {found}, and this module is of version {MAJOR}")
    return library


_library = _load_library()
__version__ = _library.liana_version().decode()


def version():
    """The version of the library."""
    return __version__


def _text(value):
    return value.decode(errors="replace") if value else ""


def _names(names, count):
    return [names[i].decode(errors="replace") for i in range(count)]


class Port:
    """An input or output: name, dtype ("float32", "int32", "uint8" for images, "string"), shape with None for the
    batch, and the class_names of an output ([]: none are known)."""

    def __init__(self, facts):
        dtypes = {F32: "float32", S32: "int32", U8: "uint8", STRING: "string"}
        self.name = _text(facts.name)
        self.dtype = dtypes.get(facts.dtype, str(facts.dtype))
        self.shape = (None, *facts.shape.dims[1:facts.shape.rank])
        self.class_names = _names(facts.class_names, facts.num_class_names)
        self.is_image = facts.is_image
        self._offset, self._size = facts.offset, facts.num_values

    def __repr__(self):
        return f"Port(name={self.name!r}, dtype={self.dtype!r}, shape={self.shape})"


class Model:
    """A model that is opened to predict; see load(). Calls of several threads wait for each other."""

    def __init__(self, path, options, allow_plugins):
        self._context, self._predictor, self._lock = c_void_p(), c_void_p(), threading.Lock()
        wanted = ContextOptions(allow_plugins=allow_plugins)
        status = _library.liana_context_create(byref(wanted), byref(self._context))
        if status == 0:
            status = _library.liana_predictor_open(self._context, os.fsencode(path), byref(options),
                                                   byref(self._predictor))
        if status != 0:
            message = _text(_library.liana_context_message(self._context))
            self.close()
            raise Error(_text(_library.liana_status_name(status)), message)
        self._facts = facts = _library.liana_predictor_info(self._predictor)
        self.name = _text(facts.name)
        self.inputs = [Port(_library.liana_predictor_input(self._predictor, i)) for i in range(facts.num_inputs)]
        self.outputs = [Port(_library.liana_predictor_output(self._predictor, i)) for i in range(facts.num_outputs)]
        self.class_names = next((port.class_names for port in self.outputs if port.class_names), [])

    def close(self):
        """Frees the model; it cannot be used any more. The end of the object does it, too."""
        _library.liana_predictor_close(self._predictor)
        _library.liana_context_destroy(self._context)
        self._predictor, self._context = c_void_p(), c_void_p()

    def __del__(self):
        if getattr(self, "_context", None):
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"Model({self.name!r}, inputs={self.inputs}, outputs={self.outputs})"

    def _run(self, function, items, count, first):
        """Runs `count` examples, of which the first is number `first` of a call."""
        rows = numpy.empty((count, self._facts.num_values), numpy.float32)
        with self._lock:
            if not self._predictor:
                raise ValueError("the model is closed")
            status = function(self._predictor, items, len(items), rows.ctypes.data)
            if status != 0:
                message = re.sub(r"^((?:image|example) )(\d+)", lambda found: found[1] + str(int(found[2]) + first),
                                 _text(_library.liana_predictor_message(self._predictor)))
                raise Error(_text(_library.liana_status_name(status)), message)
        return rows

    def _run_images(self, images):
        """Images of any kind: neighbours of one kind are computed together."""
        rows, most = [], self._facts.batch_size
        kinds = [isinstance(image, (bytes, bytearray, memoryview, str, os.PathLike)) for image in images]
        begin = 0
        while begin < len(images):
            end = begin + 1
            while end < len(images) and end - begin < most and kinds[end] == kinds[begin]:
                end += 1
            make, function = ((_encoded, _library.liana_predictor_run_encoded) if kinds[begin] else
                              (_pixels, _library.liana_predictor_run_images))
            kept = [make(image, begin + i) for i, image in enumerate(images[begin:end])]
            rows.append(self._run(function, (type(kept[0][0]) * len(kept))(*(item for item, _ in kept)), len(kept),
                                  begin))
            begin = end
        return numpy.concatenate(rows) if rows else numpy.empty((0, self._facts.num_values), numpy.float32)

    def _run_arrays(self, given):
        arrays = {port.name: _array(port, given[port.name]) for port in self.inputs if port.name in given}
        if set(arrays) != set(given) or len(arrays) != len(self.inputs):
            raise ValueError(f"found the inputs {sorted(given)}, expected {[port.name for port in self.inputs]}")
        counts = {len(values) for values in arrays.values()}
        if len(counts) != 1:
            raise ValueError(f"the inputs have different numbers of examples: {sorted(counts)}")
        rows, most, count = [], self._facts.batch_size, counts.pop()
        for begin in range(0, count, most):
            kept = [_struct(port, arrays[port.name][begin:begin + most]) for port in self.inputs]
            items = (Array * len(kept))(*(item for item, _ in kept))
            rows.append(self._run(_library.liana_predictor_run, items, min(most, count - begin), begin))
        return numpy.concatenate(rows) if rows else numpy.empty((0, self._facts.num_values), numpy.float32)

    def _results(self, rows):
        parts = {port.name: rows[:, port._offset:port._offset + port._size].reshape(-1, *port.shape[1:])
                 for port in self.outputs}
        return parts if len(parts) > 1 else next(iter(parts.values()))

    def predict(self, x):
        """The outputs, float32: an array, or of a model with several outputs a dict by name.

        Of a model of images x is an image, or a list of them: the path of a file, its bytes, or an array (height,
        width[, channels]) of uint8, of any size. A list, and an array (count, height, width, channels), give a row for
        each; one image gives its row alone. Of any other model, and for images that are scaled already, x is an array
        of examples (texts: a list), or a dict of these by the names of the inputs."""
        if isinstance(x, dict):
            return self._results(self._run_arrays(x))
        if not self._facts.takes_images:
            if len(self.inputs) != 1:
                raise ValueError(f"the model has the inputs {[port.name for port in self.inputs]}: give a dict")
            return self._results(self._run_arrays({self.inputs[0].name: x}))
        if isinstance(x, numpy.ndarray) and x.ndim == 4 and x.shape[1:] == self.inputs[0].shape[1:]:
            return self._results(self._run_arrays({self.inputs[0].name: x}))
        several = isinstance(x, (list, tuple)) or (isinstance(x, numpy.ndarray) and x.ndim == 4)
        results = self._results(self._run_images(list(x) if several else [x]))
        if several:
            return results
        return {name: part[0] for name, part in results.items()} if isinstance(results, dict) else results[0]


def _encoded(image, _):
    data = bytes(image) if isinstance(image, (bytes, bytearray, memoryview)) else Path(image).read_bytes()
    return Bytes(ctypes.cast(data, c_void_p), len(data)), data


def _pixels(image, index):
    pixels = numpy.asarray(image)
    if pixels.dtype != numpy.uint8 or pixels.ndim not in (2, 3):
        raise ValueError(f"image {index} is {pixels.dtype} of shape {pixels.shape}, expected uint8 (height, width[, "
                         "channels])")
    pixels = numpy.ascontiguousarray(pixels)
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    return Pixels(pixels.ctypes.data, pixels.shape[0], pixels.shape[1], channels, 0), pixels


def _array(port, values):
    """An array that the library takes, or of texts one of objects."""
    if port.dtype == "string":
        made = numpy.asarray(values, dtype=object)
        return made.reshape(made.shape[0], -1) if made.ndim else made.reshape(1, 1)
    made = numpy.asarray(values)
    if port.is_image and made.dtype == numpy.uint8:
        return made
    wanted = numpy.dtype(numpy.int32 if port.dtype == "int32" else numpy.float32)
    if not numpy.can_cast(made.dtype, wanted, "same_kind") and not (made.dtype.kind in "iub" and wanted.kind == "f"):
        raise ValueError(f"the input '{port.name}' is {made.dtype}, expected {port.dtype}")
    if wanted.kind == "i" and made.size and (made.max() > 2**31 - 1 or made.min() < -2**31):
        raise ValueError(f"the input '{port.name}' has numbers that are no int32")
    return made.astype(wanted)


def _struct(port, values):
    """An Array, and what must stay in memory while it is used."""
    if port.dtype == "string":
        texts = [value if isinstance(value, bytes) else str(value).encode() for value in values.ravel()]
        data = (Bytes * len(texts))(*(Bytes(ctypes.cast(text, c_void_p), len(text)) for text in texts))
        shape, address, dtype, kept = (len(values), *port.shape[1:]), ctypes.addressof(data), STRING, (data, texts)
        if len(texts) != int(numpy.prod(shape)):
            raise ValueError(f"the input '{port.name}' has {len(texts)} texts, expected shape {shape}")
    else:
        kept = numpy.ascontiguousarray(values)
        shape, address = kept.shape, kept.ctypes.data
        dtype = {"uint8": U8, "int32": S32, "float32": F32}[str(kept.dtype)]
    if len(shape) > MAX_RANK:
        raise ValueError(f"the input '{port.name}' has {len(shape)} dimensions, expected {len(port.shape)}")
    return Array(port.name.encode(), dtype, Shape(len(shape), (c_int64 * MAX_RANK)(*shape)), address), kept


def load(path, *, batch_size=32, device=None, threads=0, scale=None, prepared_images=False, allow_plugins=False):
    """Opens a model: a folder of `liana export` or of liana_model_save, a run, one of its checkpoints, a .keras, .h5 or
    .onnx file. batch_size is the largest number of examples that are computed together; threads: 0 is as many as the
    process may use. scale ("0..1", "-1..1", "none", "caffe", "torch") is for a model that does not know how pixels are
    scaled. prepared_images: images are float32, scaled already."""
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}, expected one of {[name for name in SCALES if name]}")
    options = Options(batch_size, device.encode() if device else None, threads, SCALES[scale], prepared_images)
    return Model(path, options, allow_plugins)
