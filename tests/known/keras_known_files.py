"""Compares the known files of weights with those that keras.applications asks for.

    keras_known_files.py ROWS.tsv

A row: name, address, hash (MD5, SHA-256 or -). Every file of the listed architectures must be the same one. Nothing is fetched."""
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
from keras.src.utils import file_utils

SIZES = {"MobileNet": [128, 160, 192, 224], "MobileNetV2": [96, 128, 160, 192, 224],
         "MobileNetV3Small": [224], "MobileNetV3Large": [224]}
WIDTHS = {"MobileNet": ["0.25", "0.5", "0.75", "1.0"], "MobileNetV2": ["0.35", "0.5", "0.75", "1.0", "1.3", "1.4"],
          "MobileNetV3Small": ["0.75", "1.0"], "MobileNetV3Large": ["0.75", "1.0"]}
OTHERS = ["ResNet50", "ResNet101", "ResNet152", "ResNet50V2", "ResNet101V2", "ResNet152V2", "DenseNet121", "DenseNet169",
          "DenseNet201", "InceptionV3", "InceptionResNetV2"] + ["EfficientNetB%d" % i for i in range(8)]
OTHERS += ["EfficientNetV2" + size for size in ("B0", "B1", "B2", "B3", "S", "M", "L")]
OTHERS += ["ConvNeXt" + size for size in ("Tiny", "Small", "Base", "Large", "XLarge")]
OTHERS += ["VGG16", "VGG19", "Xception"]


class Asked(Exception):
    pass


def get_file(fname, origin, file_hash=None, **others):
    raise Asked(origin, file_hash or "-")


def ask(architecture, **options):
    try:
        getattr(keras.applications, architecture)(weights="imagenet", **options)
    except Asked as asked:
        return asked.args
    sys.exit("%s asked for no file" % architecture)


file_utils.get_file = get_file
# The networks are built before they ask; their first values are not needed.
keras.initializers.VarianceScaling.__call__ = lambda self, shape, dtype=None: keras.ops.zeros(shape, dtype=dtype)
rows = dict((row[0], row[1:]) for row in (line.rstrip("\n").split("\t") for line in open(sys.argv[1])))
expected = {}
for top in True, False:
    end = "" if top else "/no_top"
    for architecture, widths in WIDTHS.items():
        for width in widths:
            # Files of wide ones are asked for at other sizes as well, where no server has any.
            for size in SIZES[architecture] if float(width) <= 1 else [224]:
                name = "imagenet/%s/%s/%d%s" % (architecture, width, size, end)
                expected[name] = ask(architecture, alpha=float(width), input_shape=(size, size, 3), include_top=top)
    for architecture in "MobileNetV3Small", "MobileNetV3Large":
        name = "imagenet/%s/minimalistic/1.0/224%s" % (architecture, end)
        expected[name] = ask(architecture, minimalistic=True, input_shape=(224, 224, 3), include_top=top)
    for architecture in OTHERS:
        expected["imagenet/" + architecture + end] = ask(architecture, include_top=top)
wrong = [name for name in expected if tuple(rows.get(name, ())) != tuple(expected[name])]
unknown = [name for name in rows if name.startswith("imagenet/") and name not in expected]
for name in wrong:
    print(name, "found", rows.get(name), "expected", expected[name])
print(len(expected), "files agree but for", len(wrong), "; Keras does not have", unknown)
sys.exit(1 if wrong or unknown else 0)
