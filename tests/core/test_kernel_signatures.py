"""The signatures of the compiled loops: those of the source, and the only arguments that reach memory."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

from rankwise.core import kernels
from rankwise.core.kernels import SIGNATURES, ArrayPointer, ColumnPointers

needs_kernels = pytest.mark.skipif(
    kernels.implementation() != "compiled", reason=f"the road is {kernels.implementation()}"
)

SCALARS = {
    "void": None,
    "uint8_t": ctypes.c_uint8,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "double": ctypes.c_double,
}
ELEMENTS = {
    "uint8_t": "uint8",
    "int32_t": "int32",
    "int64_t": "int64",
    "uint64_t": "uint64",
    "rw_view": "uint64",  # two of them
    "float": "float32",
    "double": "float64",
}
ADDRESSES = {"const rw_view *", "const uint8_t *const *"}  # of memory that Arrow owns
ODD = {  # what no argument may be, by a word for it
    "dtype": np.zeros(4, dtype=np.complex128),
    "list": [0, 0, 0, 0],
    "real": 1.5,
}


def without_macros(source):
    """Return a source in which each macro that declares a function has been expanded."""
    source = source.replace("\\\n", "")
    for macro, parameters, body in re.findall(
        r"^#define (RW_\w+)\(([\w, ]+)\)(.*RW_API.*)$", source, re.MULTILINE
    ):
        for call, arguments in re.findall(rf"^({macro}\((.*)\))$", source, re.MULTILINE):
            expansion = body
            for parameter, argument in zip(
                parameters.split(", "), arguments.split(", "), strict=True
            ):
                expansion = re.sub(rf"\b{parameter}\b", argument, expansion)
            source = source.replace(call, expansion)
    return re.sub(r"^#define.*$", "", source, flags=re.MULTILINE)


def argument_type(declaration):
    """Return the type in the table of one argument, such as ``const double *values``."""
    kind = re.fullmatch(r"(.*?)\w+", " ".join(declaration.split()))[1].strip()
    if kind in ADDRESSES:
        return ctypes.c_void_p
    if "*" not in kind:
        return SCALARS[kind]
    constant, element, pointers = re.fullmatch(r"(const )?(\w+) (\*const \*|\*)", kind).groups()
    array = ArrayPointer(np.dtype(ELEMENTS[element]), writable=constant is None)
    return array if pointers == "*" else ColumnPointers(array)


def signatures(source):
    """Return the name, the types of arguments and the type of the result of each function of a source."""
    declarations = re.findall(r"RW_API\s+(\w+)\s+(\w+)\(([^)]*)\)", without_macros(source))
    return [
        (
            name,
            (
                tuple(argument_type(part) for part in arguments.split(",") if part != "void"),
                SCALARS[result],
            ),
        )
        for result, name, arguments in declarations
    ]


def arguments_of(name):
    """Return arguments of the right types for a function, which must not read them."""
    values = {ctypes.c_void_p: 0}
    for kind in SIGNATURES[name][0]:
        if isinstance(kind, ArrayPointer):
            values[kind] = np.zeros(4, dtype=kind.dtype)
        elif isinstance(kind, ColumnPointers):
            values[kind] = [np.zeros(4, dtype=kind.column.dtype)]
    return [values.get(kind, 0) for kind in SIGNATURES[name][0]]


def test_the_table_has_the_signatures_of_the_source():
    assert signatures(kernels.SOURCE.read_text("utf-8")) == list(SIGNATURES.items())


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (
            "rw_bucket(const int64_t *codes, int64_t n, ",
            "rw_bucket(int64_t n, const int64_t *codes, ",
        ),
        ("rw_positions(const int64_t *user", "rw_positions(const int32_t *user"),
        ("rw_positions(const int64_t *user", "rw_positions(int64_t *user"),
        ("RW_API void rw_ends(", "RW_API int64_t rw_ends("),
        ("RW_MATCH(rw_match_int32, int32_t)", "RW_MATCH(rw_match_int32, uint8_t)"),
        ("RW_API void rw_count(", "void rw_count("),
    ],
)
def test_a_source_with_another_signature_differs_from_the_table(text, other):
    source = kernels.SOURCE.read_text("utf-8")
    assert source.count(text) == 1
    assert signatures(source.replace(text, other)) != list(SIGNATURES.items())


@needs_kernels
@pytest.mark.parametrize("name", SIGNATURES)
def test_no_function_takes_an_argument_of_another_type(name):
    function, arguments = getattr(kernels.load(), name), arguments_of(name)
    for at, (kind, value) in enumerate(zip(SIGNATURES[name][0], arguments, strict=True)):
        unsuitable = {
            word: odd for word, odd in ODD.items() if (word, kind) != ("real", ctypes.c_double)
        }
        if isinstance(value, np.ndarray):
            unsuitable |= {
                "strided": np.zeros(8, dtype=value.dtype)[::2],
                "address": value.ctypes.data,
                "none": None,
            }
        if isinstance(value, list):
            unsuitable |= {
                "strided": [np.zeros(8, dtype=value[0].dtype)[::2]],
                "column": [ODD["dtype"]],
            }
        for wrong in unsuitable.values():
            with pytest.raises(ctypes.ArgumentError, match=f"argument {at + 1}"):
                function(*arguments[:at], wrong, *arguments[at + 1 :])


@needs_kernels
@pytest.mark.parametrize("name", [name for name in SIGNATURES if name != "rw_source"])
def test_no_function_takes_another_number_of_arguments(name):
    function, arguments = getattr(kernels.load(), name), arguments_of(name)
    with pytest.raises(TypeError, match="takes exactly"):
        function(*arguments, 0)
    with pytest.raises(TypeError, match="not enough arguments"):
        function(*arguments[:-1])


@needs_kernels
def test_no_function_writes_to_a_read_only_array():
    counts = np.zeros(3, dtype=np.int64)
    counts.flags.writeable = False
    with pytest.raises(ctypes.ArgumentError, match="expected a writable array of int64"):
        kernels.load().rw_count(np.array([2, 0, 2]), 0, 3, counts)
    assert counts.tolist() == [0, 0, 0]


@needs_kernels
def test_a_read_only_array_can_be_read():
    codes, counts = np.array([2, 0, 2]), np.zeros(3, dtype=np.int64)
    codes.flags.writeable = False
    kernels.load().rw_count(codes, 0, np.int64(3), counts)
    assert counts.tolist() == [1, 0, 2]
