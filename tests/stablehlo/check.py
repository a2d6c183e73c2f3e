"""Runs StableHLO modules without liana, and compares their results with those of liana's reference device.

    check.py FOLDER

FOLDER holds what tests/harness/stablehlo_cases.c wrote:
  cases.jsonl    a line for each case: {"name", "text": [place, length], "arguments", "results": [{"dtype", "shape",
                 "at"}], "tolerance", "work"}
  modules.mlir   the modules' texts, one after the other
  arrays.bin     the arrays, one after the other
Each module is parsed and verified; it is written as MLIR's own text, read again and must be the same; and it is run:
small ones by StableHLO's reference interpreter, which shares no code with liana or XLA, large ones by XLA's compiler for
CPUs. A case whose work is negative is not run. A float passes where |got - expected| <= tolerance x (1 + |expected|), or both are NaN; anything else must be equal.
"""
import json
import os
import sys
import time

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import stablehlo

# The interpreter takes some microseconds for each operation.
MOST_INTERPRETED = 20000

DTYPES = {'f32': np.float32, 'bf16': ml_dtypes.bfloat16, 'f64': np.float64, 's32': np.int32, 's64': np.int64,
          'u8': np.uint8, 'u32': np.uint32, 'u64': np.uint64, 'bool': np.bool_, 'f16': np.float16, 's8': np.int8,
          's16': np.int16, 'u16': np.uint16}


def make_context():
    context = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo.register_dialect(context)
    return context


class Case:
    def __init__(self, row, texts, arrays):
        self.name, self.tolerance, self.work = row['name'], row['tolerance'], row['work']
        place, length = row['text']
        self.text = texts[place:place + length].decode()
        self.arguments = [self.read(arrays, part) for part in row['arguments']]
        self.results = [self.read(arrays, part) for part in row['results']]
        self.argument_dtypes = [part['dtype'] for part in row['arguments']]
        self.result_dtypes = [part['dtype'] for part in row['results']]

    @staticmethod
    def read(arrays, part):
        count = int(np.prod(part['shape'], dtype=np.int64))
        dtype = np.dtype(DTYPES[part['dtype']])
        return np.frombuffer(arrays, dtype, count, part['at']).reshape(part['shape'])

    def mistakes(self, results):
        """What is wrong with the results, as text; None: nothing."""
        if len(results) != len(self.results):
            return f'{len(results)} results, expected {len(self.results)}'
        for index, (got, expected) in enumerate(zip(results, self.results)):
            if got.shape != expected.shape or got.dtype != expected.dtype:
                return f'result {index} is {got.dtype}{got.shape}, expected {expected.dtype}{expected.shape}'
            if self.result_dtypes[index] in ('f32', 'bf16', 'f64', 'f16'):
                a, b = got.astype(np.float64), expected.astype(np.float64)
                with np.errstate(invalid='ignore'):
                    right = (a == b) | (np.isnan(a) & np.isnan(b)) | (abs(a - b) <= self.tolerance * (1 + abs(b)))
            else:
                a, b = got, expected
                right = a == b
            if not np.all(right):
                at = tuple(int(axis[0]) for axis in np.nonzero(~right)) if right.shape else ()
                return (f'result {index}, element {list(at)} is {a[at]}, the reference says {b[at]}; '
                        f'{int(np.sum(~right))} of {right.size} differ')
        return None


# The types that numpy and MLIR hand each other; narrow dtypes travel as others that hold the same numbers.
TYPES = {'f32': 'f32', 'bf16': 'bf16', 'f64': 'f64', 's32': 'i32', 's64': 'i64', 'u8': 'ui8', 'u32': 'ui32',
         'u64': 'ui64', 'bool': 'i1', 'f16': 'f16', 's8': 'i8', 's16': 'i16', 'u16': 'ui16'}
CARRIERS = {'bf16': 'f32', 'bool': 'u8', 'f16': 'f32', 's8': 's32', 's16': 's32', 'u16': 'u32'}


def tensor_type(shape, dtype):
    return 'tensor<' + ''.join(f'{size}x' for size in shape) + TYPES[dtype] + '>'


def with_carriers(case):
    """The module with a function around the one that liana wrote, which converts arguments and results."""
    lines = []

    def convert(name, value, shape, before, after):
        a, b = tensor_type(shape, before), tensor_type(shape, after)
        lines.append(f'%{name} = "stablehlo.convert"(%{value}) : ({a}) -> {b}')

    outer, inner = [], []
    for i, (array, dtype) in enumerate(zip(case.arguments, case.argument_dtypes)):
        carrier = CARRIERS.get(dtype, dtype)
        outer.append(f'%a{i}: {tensor_type(array.shape, carrier)}')
        inner.append(tensor_type(array.shape, dtype))
        convert(f'b{i}', f'a{i}', array.shape, carrier, dtype)
    types = [tensor_type(array.shape, dtype) for array, dtype in zip(case.results, case.result_dtypes)]
    names = ', '.join(f'%b{i}' for i in range(len(inner)))
    lines.append(f'%r:{len(types)} = "func.call"({names}) {{callee = @inner}} : '
                 f'({", ".join(inner)}) -> ({", ".join(types)})')
    carried = []
    for i, (array, dtype) in enumerate(zip(case.results, case.result_dtypes)):
        carrier = CARRIERS.get(dtype, dtype)
        carried.append(tensor_type(array.shape, carrier))
        convert(f's{i}', f'r#{i}', array.shape, dtype, carrier)
    names = ', '.join(f'%s{i}' for i in range(len(types)))
    lines.append(f'"func.return"({names}) : ({", ".join(carried)}) -> ()')
    body = '\n'.join(lines)
    text = case.text.replace('func.func public @"main"(', 'func.func private @inner(', 1)
    place = text.rindex('}')
    return f'{text[:place]}func.func public @main({", ".join(outer)}) -> ({", ".join(carried)}) {{\n{body}\n}}\n}}\n'


def interpret(case):
    arguments = []
    for array, dtype in zip(case.arguments, case.argument_dtypes):
        carrier = CARRIERS.get(dtype, dtype)
        kind = ir.Type.parse(TYPES[carrier])
        carried = np.ascontiguousarray(array.astype(DTYPES[carrier]))
        arguments.append(ir.DenseElementsAttr.get(carried, type=kind, shape=list(array.shape)))
    results = stablehlo.eval_module(ir.Module.parse(with_carriers(case)), arguments)
    return [np.array(attribute).astype(DTYPES[dtype]).reshape(array.shape)
            for attribute, dtype, array in zip(results, case.result_dtypes, case.results)]


class Compiler:
    """XLA's compiler for CPUs, which jaxlib brings along."""

    def __init__(self):
        import jax
        from jaxlib import xla_client
        jax.config.update('jax_enable_x64', True)
        self.jax, self.xla_client, self.device = jax, xla_client, jax.devices('cpu')[0]

    def run(self, case):
        devices = self.xla_client.DeviceList((self.device,))
        program = self.device.client.compile_and_load(case.text.encode(), devices, self.xla_client.CompileOptions())
        arguments = [self.jax.device_put(array, self.device) for array in case.arguments]
        results = program.execute_sharded(arguments).disassemble_into_single_device_arrays()
        return [np.asarray(parts[0]) for parts in results]


def main(folder):
    def read(name):
        with open(os.path.join(folder, name), 'rb') as file:
            return file.read()

    texts, arrays = read('modules.mlir'), read('arrays.bin')
    cases = [Case(json.loads(line), texts, arrays) for line in read('cases.jsonl').splitlines()]
    interpreted, compiled, read, compiler = 0, 0, 0, None
    begin = time.monotonic()
    mistakes = []
    context = make_context()
    for case in cases:
        try:
            with context:
                module = ir.Module.parse(case.text)
                module.operation.verify()
                again = str(ir.Module.parse(str(module)))
                if again != str(module):
                    mistakes.append(f'{case.name}: the text that MLIR writes of it is read as something else')
                if case.work < 0:
                    results = case.results
                    read += 1
                elif case.work <= MOST_INTERPRETED and 'complex<' not in case.text:  # the interpreter aborts on these
                    results = interpret(case)
                    interpreted += 1
                else:
                    compiler = compiler or Compiler()
                    results = compiler.run(case)
                    compiled += 1
            mistake = case.mistakes(results)
        except Exception as error:  # Whatever MLIR and XLA raise is about this case.
            mistake = f'{type(error).__name__}: {error}'
        if mistake:
            mistakes.append(f'{case.name}: {mistake}')
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    print(f'{interpreted} modules interpreted, {compiled} compiled by XLA, {read} only read, {len(mistakes)} mistakes, '
          f'{time.monotonic() - begin:.1f} s')
    return 1 if mistakes or not cases else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
