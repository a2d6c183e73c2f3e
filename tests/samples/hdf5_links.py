"""Files of h5py in the classic layout with newer parts: a link within the file, and groups that keep their order.

    python tests/samples/hdf5_links.py tests/samples

h5py 3.15. Each has the layer "a" with the weight kernel [2, 3]: 0, 1, 2, 3, 4, 5.
"""
import sys

import h5py
import numpy as np

folder = sys.argv[1]
for name, ordered in (("hdf5_soft_link.h5", False), ("hdf5_ordered.h5", True)):
    with h5py.File(f"{folder}/{name}", "w", track_order=ordered) as file:
        file.attrs["layer_names"] = np.array([b"a"])
        group = file.create_group("a", track_order=ordered)
        group.attrs["weight_names"] = np.array([b"a/kernel:0"])
        inner = group.create_group("a", track_order=ordered)
        values = np.arange(6, dtype="<f4").reshape(2, 3)
        if ordered:
            inner["kernel:0"] = values
        else:
            file["elsewhere"] = values
            inner["kernel:0"] = h5py.SoftLink("/elsewhere")
