"""Checks ONNX files that a test wrote, with ONNX's checker and onnxruntime.

    onnxruntime_check.py FOLDER PREFIX

Each FOLDER/PREFIX*.case.json names a file, and runs of it: arrays as files of raw numbers, and the outputs that liana
computed. An output may differ by the case's tolerance times the largest number of the output, or 1 if that is smaller.
"""
import collections
import glob
import json
import os
import sys

import numpy as np
import onnx
import onnxruntime

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
          "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "bool": np.bool_}


# onnxruntime has not every op of ONNX for these.
RARE = {"f64", "f16", "s8", "s16", "s64", "u16", "u32", "u64"}


def read(folder, array):
    numbers = np.fromfile(os.path.join(folder, array["file"]), DTYPES[array["dtype"]])
    return numbers.reshape(array["shape"])


def compare(found, expected, tolerance):
    """What differs; None: nothing."""
    if found.shape != expected.shape:
        return f"the shape {list(found.shape)}, expected {list(expected.shape)}"
    if found.dtype != expected.dtype:
        return f"{found.dtype}, expected {expected.dtype}"
    if found.size == 0 or not np.issubdtype(found.dtype, np.floating):
        return None if np.array_equal(found, expected) else f"{found.ravel()[:8]}, expected {expected.ravel()[:8]}"
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    finite = np.abs(expected[np.isfinite(expected)])
    limit = tolerance * max(1, finite.max() if finite.size else 1)
    far = ~same & ~(np.abs(found - expected) <= limit)
    if not far.any():
        return None
    at = np.argmax(np.where(far, np.abs(np.nan_to_num(found - expected, nan=np.inf)), -1))
    return f"{found.ravel()[at]} at {at}, expected {expected.ravel()[at]} +- {limit:.3g} ({far.sum()} of {far.size} differ)"


def count_ops(graph, counts):
    for node in graph.node:
        counts[node.op_type] += 1
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                count_ops(attribute.g, counts)


def check(folder, case):
    """The faults of a case."""
    path = os.path.join(folder, case["file"])
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as error:  # of a library, whose kinds of errors are its own
        return [str(error).strip()[:600]]
    try:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    except Exception as error:
        rare = any(array["dtype"] in RARE for run in case["runs"] for array in run["inputs"] + run["outputs"])
        if rare and "NOT_IMPLEMENTED" in str(error):
            print(f"{case['name']}: not in onnxruntime for these dtypes", flush=True)
            return []
        return [str(error).strip()[:600]]
    graph = onnx.load(path, load_external_data=False).graph
    counts = collections.Counter()
    count_ops(graph, counts)
    for op, most in case.get("most", {}).items():
        if counts[op] > most:
            return [f"{counts[op]} nodes {op}, expected at most {most}: {dict(counts)}"]
    faults = []
    for run in case["runs"]:
        feeds = {array["name"]: read(folder, array) for array in run["inputs"]}
        # ONNX has one name for one value: an output that is called as an input gets a number.
        names = [array["name"] + "_1" * (array["name"] in feeds) for array in run["outputs"]]
        try:
            found = session.run(names, feeds)
        except Exception as error:
            return [f"batch {run['batch']}: {str(error).strip()[:600]}"]
        for array, value in zip(run["outputs"], found):
            fault = compare(value, read(folder, array), case["tolerance"])
            if fault:
                faults.append(f"batch {run['batch']}, output '{array['name']}': {fault}")
    return faults


def main():
    folder, prefix = sys.argv[1:]
    onnxruntime.set_default_logger_severity(3)
    paths = sorted(glob.glob(os.path.join(folder, glob.escape(prefix) + "*.case.json")))
    failed = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            case = json.load(file)
        faults = check(folder, case)
        failed += bool(faults)
        for fault in faults:
            print(f"{case['name']}: {fault}", flush=True)
    print(f"{len(paths)} files, {failed} differ", flush=True)
    sys.exit(failed > 0 or not paths)


main()
