#!/usr/bin/env python3
"""Writes the seeds that can be written down: make_seeds.py [FOLDER]. What a fuzzer found lies beside them, named found_*."""
import json
import random
import struct
import sys
from pathlib import Path

root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "seeds"


def seed(fuzzer, name, content):
    folder = root / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def npy(header, data=b"", version=1, length=None):
    head = header.encode()
    size = struct.pack("<H" if version == 1 else "<I", len(head) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + head + data


def described(descr="'<f4'", order="False", shape="(2, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


seed("npy", "good", npy(described(), bytes(24)))
seed("npy", "good_fortran", npy(described("'<u2'", "True", "(2, 3, 2)"), bytes(range(24)), 2))
seed("npy", "good_empty", npy(described("'|u1'", "True", "(0, 7)")))
seed("npy", "good_scalar", npy(described("'<V2'", "False", "()"), bytes(2), 3))
seed("npy", "magic", b"\x93NUMPX\x01\x00\x00\x00")
seed("npy", "short", b"\x93NUM")
seed("npy", "version", npy(described(), bytes(24), 9))
seed("npy", "length", npy("{}", b"", 2, 0xFFFFFFF0))
seed("npy", "cut_header", npy(described(), b"", 1, 500))
seed("npy", "no_dict", npy("[1, 2]"))
seed("npy", "no_descr", npy("{'fortran_order': False, 'shape': (3,)}", bytes(3)))
seed("npy", "no_order", npy("{'descr': '<f4', 'shape': (3,)}", bytes(12)))
seed("npy", "no_shape", npy("{'descr': '<f4', 'fortran_order': False}", bytes(12)))
seed("npy", "twice", npy("{'descr': '<f4', 'descr': '<f4'}"))
seed("npy", "other_key", npy("{'colour\x01': 'red'}"))
seed("npy", "structured", npy(described("[('x', '<f4')]"), bytes(24)))
seed("npy", "big_endian", npy(described("'>f4'"), bytes(24)))
seed("npy", "objects", npy(described("'|O'"), bytes(24)))
seed("npy", "escape", npy(described("'<f\\x34'"), bytes(24)))
seed("npy", "order_word", npy(described(order="Maybe"), bytes(24)))
seed("npy", "number_in_brackets", npy(described(shape="(6)"), bytes(24)))
seed("npy", "no_comma", npy(described(shape="(2 3)"), bytes(24)))
seed("npy", "negative", npy(described(shape="(-2, 3)"), bytes(24)))
seed("npy", "extent", npy(described(shape="(99999999999999999999999,)"), bytes(24)))
seed("npy", "product", npy(described(shape="(4294967296, 4294967296, 4)"), bytes(24)))
seed("npy", "dimensions", npy(described(shape="(" + "1, " * 70 + ")"), bytes(4)))
seed("npy", "data_short", npy(described(), bytes(23)))
seed("npy", "data_long", npy(described(), bytes(25)))
seed("npy", "after_dict", npy(described() + "x", bytes(24)))
seed("npy", "open_string", npy("{'descr: 1"))


def tensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def frame(content, claim=None, block=None):
    """A zstd frame of one raw block; no size where claim is -1."""
    size = len(content) if claim is None else claim
    head = b"\x28\xb5\x2f\xfd" + (b"\x00\x58" if size < 0 else b"\xa0" + struct.pack("<I", size))
    return head + (struct.pack("<I", len(content) << 3 | 1)[:3] + content if block is None else block)


one = {"A": {"dtype": "U8", "shape": [2, 2], "data_offsets": [0, 4]}}
two = dict(one, B={"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}, __metadata__={"gpu": "H200", "seed": "1"})
good = tensors(two, bytes(8))


def changed(**fields):
    return tensors({"A": dict(one["A"], **fields)}, bytes(4))


plain = {
    "good": good,
    "good_empty": tensors("{}"),
    "length": tensors("{}", b"", 1 << 60),
    "no_object": tensors("[]"),
    "zero_byte": tensors(b"{\x00}"),
    "no_json": tensors('{"A": '),
    "null": changed(dtype=None),
    "true": changed(shape=True),
    "float": changed(shape=[1.5]),
    "negative": changed(shape=[-2, 2]),
    "dtype": changed(dtype="F33\n"),
    "dimensions": changed(shape=[1] * 70),
    "three_offsets": changed(data_offsets=[0, 4, 4]),
    "one_offset": changed(data_offsets=[0]),
    "hole": changed(data_offsets=[1, 4]),
    "backward": changed(data_offsets=[0, -1 % 2**64]),
    "past_the_end": changed(data_offsets=[0, 400]),
    "size": changed(shape=[3, 2]),
    "product": changed(shape=[2**63, 2**63]),
    "nested": tensors('{"A":{"shape":[' + "[" * 40),
    "other_key": changed(colour="red\x01"),
    "missing": tensors({"A": {"dtype": "U8"}}),
    "twice": tensors('{"A":{"dtype":"U8","dtype":"U8"}}'),
    "name_twice": tensors('{"A":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"A":{}}'),
    "metadata_number": tensors('{"__metadata__":{"a":1}}'),
    "after": tensors(one, bytes(5)),
    "no_utf8": tensors(b'{"\xff":{}}'),
}
for name, content in plain.items():
    seed("safetensors", name, b"\0" + content)
seed("safetensors", "packed_good", b"\2" + good)
seed("safetensors", "packed_cut", b"\2" + good[:-3])
seed("safetensors", "frame_good", b"\1" + frame(good))
seed("safetensors", "frame_none", b"\1" + good)
seed("safetensors", "frame_no_size", b"\1" + frame(good, -1))
seed("safetensors", "frame_cut", b"\1" + frame(good)[:-9])
seed("safetensors", "frame_larger", b"\1" + frame(good, len(good) + 9))
seed("safetensors", "frame_256_mib", b"\1" + frame(b"", 256 << 20, struct.pack("<I", 1 << 3 | 1 << 1 | 1)[:3] + b"x"))
seed("safetensors", "frame_4_gib", b"\1" + frame(b"", 2**32 - 1, b"\1\0\0"))
seed("safetensors", "frame_rle", b"\1" + frame(b"", 1 << 17, struct.pack("<I", (1 << 17) << 3 | 1 << 1 | 1)[:3] + b"{"))


def case(choice, *files):
    return bytes([choice]) + b"\xff".join(x.encode() for x in files)


def value(x):
    return struct.pack(">f", x).hex()


def digits(x):
    return f"{struct.unpack('>I', struct.pack('>f', x))[0]:032b}"


a = f"{value(1)} {value(-2)}\n{value(0.5)} {value(0)}\n"
c = f"{digits(1)}\n{digits(-0.0)}\n"
for number, name in enumerate(["fp16", "bf16", "tf32", "e4m3", "e5m2"]):
    seed("dataset", f"good_{name}", case(number, a, a, c, c))
seed("dataset", "good_to_fp16", case(0x40, a, a, c, c))
seed("dataset", "good_no_addend", case(0x80 | 1, a.replace("\n", "\r\n"), a, c.replace("\n", "\r\n"), c))
seed("dataset", "rounded_c", case(0x40, a, a, digits(1.0001) + "\n" + digits(1e9) + "\n", c))
seed("dataset", "empty", case(0, "", "", "", ""))
seed("dataset", "no_hex", case(0, "3f80000x 3f800000\n", a, c, c))
seed("dataset", "not_held", case(0, f"{value(1e9)}\n", a, c, c))
seed("dataset", "nan", case(0, "7fc00000\n", a, c, c))
seed("dataset", "ragged", case(0, a + value(1) + "\n", a, c, c))
seed("dataset", "too_many", case(0, " ".join([value(1)] * 65) + "\n", a, c, c))
seed("dataset", "blank_line", case(0, "\n" + a, a, c, c))
seed("dataset", "other_k", case(0, a, f"{value(1)}\n{value(1)}\n", c, c))
seed("dataset", "other_rows", case(0, a, a + a, c, c))
seed("dataset", "c_rows", case(0, a, a, c + c, c))
seed("dataset", "d_rows", case(0, a, a, c, ""))
seed("dataset", "no_binary", case(0, a, a, "0" * 31 + "2\n", c))
seed("dataset", "control", case(0, "\x01\x1b\n", a, c, c))
seed("dataset", "d_not_held", case(0x40, a, a, c, digits(1.0001) + "\n" + digits(1) + "\n"))

names = """mma.m16n8k16.f32.f16.f16.f32 wgmma.m64n8k16.f32.bf16.bf16 wgmma.m64n256k32.s32.s8.u8 mma.sp.m16n8k32.f32.f16.f16.f32
mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32 wmma.m16n16k16.f16.f16.f16.f32 mma.m16n8k256.s32.b1.b1.s32.xor.popc
mma.m16n8k32.satfinite.s32.s8.u8.s32 mma.m16n8k32.kind_f8f6f4.f32.e3m2.e2m1.f32 tcgen05.m128n64k16.kind_f16.f32.f16.f16
mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3 tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0
wgmma.m64n264k16.f32.bf16.bf16 wgmma.m64n40k32.s32.s8.s8 wgmma.m64n008k16.f32.f16.f16 wgmma.m64n-8k16.f32.f16.f16
wgmma.m64n99999999999k16.f32.f16.f16 tcgen05.m65536n64k16.kind_f16.f32.f16.f16 tcgen05.mMnNk16.kind_f16.f32.f16.f16 mma.""".split()
for number, name in enumerate(names):
    seed("mnemonic", f"{number:02}", name)
seed("mnemonic", "empty", "")
seed("mnemonic", "control", "mma.m16n8k16.f32\n\0")

values = ["1.5", "-2^-12", "1.5*2^-3", "0x1.8p-4", "0x3c01", "0x123456789", "inf", "-inf", "nan", "max", "-min", "tiny", "-0", "1e400", "1.0001", "2^99999", "2^-1074",
          "0x", "0xg", "-0x1", "--1", "", "1*2^", "127", "-128", "9223372036854775808", "0X1P+3", "infinity", "0.1*2^-1030"]
for number, text in enumerate(values):
    seed("value", f"{number:02}", bytes([number % 18]) + text.encode())

fused = {"datapath": "mma.f16", "output_format": "f32", "arithmetic": "fused_dot_add", "block": 8, "F": 24, "floor": -132, "rounding": "RZ", "output_fraction_bits": 23}
rows = {
    "fused": fused,
    "fused_last": dict(fused, addend="after_last_nearest", alignment="nearest_even", order="pairs_of_four", zero="operand_exponent"),
    "fused_f16": dict(fused, output_format="f16", output_fraction_bits=10, sum_format="f32", rounding="RNE", zero_sign="ieee", overflow="max_finite"),
    "fp8": dict(fused, datapath="mma.fp8", widen_to="f16", block=16, F=13, subnormal_operand="normalised", product="normalised"),
    "sparse": dict(fused, datapath="mma.sp.f16", block=16),
    "integer": {"datapath": "mma.i8", "output_format": "s32", "arithmetic": "integer", "output_fraction_bits": 32, "rounding": "RZ", "saturation": "every_step"},
    "binary64": {"datapath": "mma.f64", "output_format": "f64", "arithmetic": "fma_chain", "output_fraction_bits": 52, "rounding": "RD", "nan_priority": "cab"},
    "scaled": dict(fused, datapath="mma.mxf8f6f4", block=32, scale_use="reversed", scale_nan="beside_nonzero"),
    "grouped": dict(fused, datapath="mma.mxf4nvf4", arithmetic="grouped_dot_add", block=64, group=16, F=35, floor=-2000, scale_sign="negates"),
}
bad = {
    "F": dict(fused, F=51), "float": dict(fused, F=1.5), "huge": dict(fused, F=2**64 - 1), "choice": dict(fused, rounding="up\n"), "format": dict(fused, output_format="f33"),
    "path": dict(fused, datapath="mma.f8"), "unknown": dict(fused, colour="red"), "boolean": dict(fused, read_ignored_bits=1), "letters": dict(fused, nan_priority="abb"),
    "together": dict(fused, arithmetic="fma_chain"), "widen": dict(fused, widen_to="f64"), "addend_format": dict(fused, addend_format="f16"), "no_row": [],
    "sum_format": dict(fused, sum_format="f16"), "grouped_F": dict(rows["grouped"], F=50),
}


def model(row, **fields):
    return json.dumps({"name": "mine", "compute_capability": 90, "rows": [row]} | fields)


for name, row in rows.items():
    seed("model", f"good_{name}", model(row))
for name, row in bad.items():
    seed("model", name, model(row))
seed("model", "required", model({k: v for k, v in fused.items() if k != "floor"}))
seed("model", "name", model(fused, name="Mine\n"))
seed("model", "name_taken", model(fused, name="hopper"))
seed("model", "capability", model(fused, compute_capability=-1))
seed("model", "rows", model(fused, rows={}))
seed("model", "field", model(fused, **{"a\u0001": 1}))
seed("model", "twice", model(fused, rows=[fused, fused]))
seed("model", "no_object", "[1]")
seed("model", "no_json", '{"name":')
seed("model", "no_utf8", b'{"name":"\xff"}')
seed("model", "deep", '{"name":' + "[" * 2000)


def line(**fields):
    kept = {"law": "the_floor", "instruction": "mma.m16n8k8.f32.f16.f16.f32", "architecture": "hopper", "a": ["3c00"] + ["0000"] * 7, "b": ["3c00"] + ["0000"] * 7,
            "c": ["00000001"], "salt": ["00000000000000ff"], "modifiers": ["0"]}
    return json.dumps({k: v for k, v in (kept | fields).items() if v is not None}) + "\n"


sparse = dict(instruction="mma.sp.m16n8k16.f32.f16.f16.f32", b=["0001"] * 16)
seed("regressions", "good", line() + "\n" + line(c=["7f800000"]))
seed("regressions", "good_sparse", line(**sparse, metadata=["00", "01", "01", "03", "02", "03", "00", "02"]))
seed("regressions", "metadata", line(**sparse, metadata=["01", "00", "01", "03", "02", "03", "00", "02"]))
seed("regressions", "no_metadata", line(**sparse))
seed("regressions", "no_json", "{\n")
seed("regressions", "no_object", "[1]\n")
seed("regressions", "no_law", line(law=None))
seed("regressions", "law_number", line(law=7))
seed("regressions", "instruction", line(instruction="mma.m16n8k8\n"))
seed("regressions", "count", line(a=["0"]))
seed("regressions", "digits", line(c=["0x1"]))
seed("regressions", "wide", line(c=["100000000"]))
seed("regressions", "number", line(c=[1]))
seed("regressions", "modifiers", line(modifiers=["80"]))
seed("regressions", "deep", '{"law":' + "[" * 2000)
seed("regressions", "empty", "")

def item(instruction=0, family=0, first=0, chunks=1, examples=(), **fields):
    whole = {"instruction": instruction, "family": family, "first": first, "chunks": chunks, "dots": 1024 * chunks, "mismatches": len(examples), "seconds": 0.25,
             "examples": list(examples)} | fields
    return json.dumps({k: v for k, v in whole.items() if v is not None}) + "\n"


def example(k=8, **fields):
    return {"family": "normal", "tile": 1, "row": 2, "column": 3, "modifiers": 0, "a": [1] * k, "b": [2] * k, "c": 3, "metadata": [], "hardware": 4, "model": 5} | fields


HEADER, SEALED, SHARD = 1, 2, 4
journals = {
    "good": item() + item(1, 1) + item(first=1, chunks=4) + item(2, first=9),
    "good_example": item(examples=[example(), example(row=0)]),
    "good_sparse": item(1, examples=[example(8, b=[2] * 16, metadata=[0, 1] * 4)]),
    "twice": item() + item(),
    "torn": item() + item(1)[:-9],
    "other_item": item(chunks=2) + item(),
    "other_dots": item(dots=1),
    "more_mismatches": item(mismatches=1025, examples=[example()]),
    "no_examples": item(mismatches=1),
    "seconds": item(seconds=-1),
    "short_a": item(examples=[example(a=[])]),
    "no_metadata": item(1, examples=[example(8, b=[2] * 16)]),
    "wide": item(examples=[example(hardware=1 << 33)]),
    "float": item(first=0.5),
    "negative": item(first=-1),
    "missing": item(first=None),
    "text": item(examples="none"),
    "no_object": "[1]\n",
    "blank": "\n",
    "no_utf8": '{"instruction":"\udcff"}\n'.encode("utf-8", "surrogateescape"),
}
for name, lines in journals.items():
    seed("journal", name, bytes([HEADER | SEALED]) + (lines if isinstance(lines, bytes) else lines.encode()))
seed("journal", "shard", bytes([HEADER | SEALED | SHARD]) + item().encode())
seed("journal", "other_shard", bytes([HEADER | SEALED | SHARD | 8]) + item().encode())
seed("journal", "unsealed", bytes([HEADER]) + item().encode())
seed("journal", "cut_header", bytes([0]) + b'{"dots":20000,')
seed("journal", "other_header", bytes([0]) + b'{"dots":1}\n')


def part(here, stretches=3, done=3, **fields):
    return {"here": here, "stretches": stretches, "stretches_done": done, "dots": 1024 * stretches, "dots_done": 1024 * done, "ended": "done", "first_not_done": 0,
            "first_instruction": "mma.m8n8k4.f64.f64.f64.f64", "first_family": "normal"} | fields


def campaign(parts=(part(True),), mismatches=0, examples=(), **fields):
    counts = {"dots": 3072, "mismatches": mismatches}
    one = counts | {"instruction": "mma.m8n8k4.f64.f64.f64.f64", "engine": "tiles", "seconds": 0.5, "families": {"normal": counts}}
    left = [x for x in parts if x["stretches"] != x["stretches_done"]]
    whole = counts | {"schema": "mmaudit.campaign/1", "on": "model", "seed": 1, "generator": "1", "plan": "0", "dots_asked": 3000, "architecture": "hopper", "gpus": 1,
                      "parts": list(parts), "instructions": [one], "examples": list(examples), "gpu": "x", "driver": "1", "cuda": "13", "version": "0", "revision": "0",
                      "date": "2026-01-01", "complete": not left, "checksum": "",
                      "not_done": [{"part": 1, "of": 2, "stretches": 3, "of_stretches": 3, "dots": 1, "first": 0, "first_instruction": "i", "first_family": "f", "why": "w"}] * len(left)}
    return json.dumps({k: v for k, v in (whole | fields).items() if v is not None})


shards = campaign((part(True), part(False, done=0))), campaign((part(False, done=0), part(True)))
bad = dict(example(4), instruction="mma.m8n8k4.f64.f64.f64.f64", hardware=0, model=1)
results = {
    "good": campaign(),
    "good_mismatch": campaign(mismatches=1, examples=[bad]),
    "good_shards": shards[0] + "\xff" + shards[1],
    "same_shard": shards[0] + "\xff" + shards[0],
    "good_old": campaign(parts=(), complete=True) .replace('"parts": [], ', ""),
    "complete": campaign((part(True, done=2),), complete=True),
    "more_done": campaign((part(True, done=4),)),
    "no_example": campaign(mismatches=1),
    "example_depth": campaign(mismatches=1, examples=[dict(bad, a=[])]),
    "example_name": campaign(mismatches=1, examples=[dict(bad, instruction="mma.x\n")]),
    "sums": campaign(dots=1),
    "wrapped": campaign(dots=2**64 - 1),
    "negative": campaign(dots=-3072),
    "parts_object": campaign().replace('"parts": [', '"parts": 7, "x": ['),
    "gpus": campaign(gpus="x"),
    "date": campaign(date=7),
    "not_done": campaign(not_done=7),
    "schema": campaign(schema="other"),
    "missing": campaign(instructions=None),
    "control": campaign(gpu="\u001b[1m\u202e"),
    "no_object": "[]",
}
for name, text in results.items():
    seed("campaign", name, b"\1" + text.encode("latin-1"))
seed("campaign", "unsealed", b"\0" + campaign().encode())


def family(name="normal", d="00000000" * 64, **fields):
    return {"family": name, "inputs": "x", "hash": "", "d": d} | fields


def baseline(families=None, products=(), **fields):
    origin = {"on": "model", "architecture": "hopper", "gpu": "", "compute_capability": "9.0", "driver": "", "cuda": "", "version": "0", "git_revision": "0", "date": "2026-01-01"}
    whole = {"schema": "mmaudit.baseline/1", "provenance": origin, "generator": "1", "seed": 1, "tiles": 1,
             "instructions": [{"instruction": "mma.m8n8k16.s32.s8.s8.s32", "families": [family()] if families is None else families}],
             "cublaslt": {"version": "13", "why_not": "", "products": list(products)}, "left_out": []} | fields
    return json.dumps(whole, separators=(",", ":"))


product = {"problem": "f16 1 x 2 x 3", "algorithm": {"id": 66, "tile": 15}, "inputs": "x", "hash": "", "element_bytes": 2, "d": "01020304"}
other = family(d="00000000" * 63 + "01000000")
baselines = {
    "good": baseline(),
    "good_changed": baseline() + "\xff" + baseline([other]),
    "good_inputs": baseline() + "\xff" + baseline([family(inputs="y")]),
    "good_gone": baseline() + "\xff" + baseline(instructions=[]),
    "good_product": baseline(products=[product]) + "\xff" + baseline(products=[dict(product, d="01020305", algorithm={"id": -1})]),
    "other_seed": baseline() + "\xff" + baseline(seed=2),
    "product_size": baseline(products=[product]) + "\xff" + baseline(products=[dict(product, d="01")]),
    "no_bytes": baseline(products=[dict(product, element_bytes=0)]),
    "odd": baseline(products=[dict(product, d="010")]),
    "twice": baseline([family(), family()]),
    "short": baseline([family(d="00")]),
    "digits": baseline([family(d="0000000G" * 64)]),
    "tiles": baseline(tiles=2**63),
    "no_tiles": baseline([family(d="")], tiles=0),
    "name": baseline(instructions=[{"instruction": "mma\n", "families": []}]),
    "capability": baseline(provenance={"on": "x"}),
    "no_object": "7",
}
for name, text in baselines.items():
    seed("baseline", name, b"\1" + text.encode("latin-1"))
seed("baseline", "unsealed", b"\0" + baseline().encode())
seed("baseline", "changed", bytes([2, 0, 3, 17, 0, 1, 1, 5, 9, 1, 128]))
seed("baseline", "unchanged", bytes([2, 0, 3, 17, 0, 1, 0, 3, 17, 0, 1]))


def axis(name, kind, *values):
    return {"name": name, "type": kind, "flags": "", "values": [{"input_string": x, "description": "", "value": x} for x in values]}


def state(cycles="16.5", warps="4", skipped="", **more):
    tags = {"cycles/median": cycles, "cycles/noise": "0.01", "time/events/median": "1e-5", "runs": "21", "steps": "1024"} | more
    return {"name": f"scope=sm warps={warps}", "device": 0, "axis_values": [{"name": "scope", "type": "string", "value": "sm"}, {"name": "warps", "type": "int64", "value": warps}],
            "is_skipped": bool(skipped), "skip_reason": skipped,
            "summaries": [{"tag": k, "name": "", "hint": "", "description": "", "data": [{"name": "value", "type": "float64", "value": v}]} for k, v in tags.items()]}


def sweep(states=None, name="mma.m16n8k8.f32.f16.f16.f32", meta=(), device=()):
    rule = {"warm_ups": 1, "least_runs": 3, "most_runs": 9, "noise": 0.01, "gpu_milliseconds": 1, "energy_seconds": 1, "energy_steps": 1}
    return json.dumps({
        "meta": {"schema": "mmaudit.sweep/1", "version": "0", "revision": "0", "date": "2026-01-01", "argv": ["mmaudit"], "interrupted": False, "rule": rule,
                 "axes": [axis("warps", "int64", "4", "8")]} | dict(meta),
        "devices": [{"id": 0, "name": "GPU", "sm_version": 900, "sm_default_clock_rate": 1e9, "number_of_sms": 132, "driver": "1", "cuda": "13.0"} | dict(device)],
        "benchmarks": [{"name": name, "index": 0, "devices": [0], "axes": [], "states": [state(), state("8", "8")] if states is None else states}]}, separators=(",", ":"))


sweeps = {
    "good": sweep(),
    "good_wgmma": sweep(name="wgmma.m64nNk16.f32.f16.f16"),
    "good_skipped": sweep([state(skipped="no room")]),
    "good_empty": sweep([]),
    "nan": sweep([state("nan"), state("inf"), state("-1"), state("0")]),
    "number": sweep([state("x")]),
    "huge": sweep([state("1e308", flops="1e308")]),
    "tag": sweep([state(**{"colour\n": "1"})]),
    "warps": sweep([state(warps="x\u202e"), state(warps="99999999999999999999"), state(warps="-1"), state(warps="")]),
    "twice": sweep([state(), state()]),
    "name": sweep(name="<b>\u001b|x,\""),
    "no_name": sweep(name=""),
    "schema": sweep(meta={"schema": "other\n"}),
    "rule": sweep(meta={"rule": {}}),
    "interrupted": sweep(meta={"interrupted": True, "gate": "g"}),
    "sm_version": sweep(device={"sm_version": -1}),
    "sm_version_huge": sweep(device={"sm_version": 1e300}),
    "number_of_sms": sweep(device={"number_of_sms": 2**40}),
    "no_devices": sweep().replace('"devices":[{"id"', '"devices":[],"x":[{"id"'),
}
for name, text in sweeps.items():
    seed("sweep", name, b"\0" + text.encode())


def products(*points, **fields):
    return json.dumps({"meta": {"schema": "mmaudit.gemm/1", "version": "0", "revision": "0", "date": "2026-01-01"},
                       "device": {"name": "GPU", "compute_capability": 90, "multiprocessors": 132, "nominal_hz": 1e9, "driver": "1", "cuda": "13.0"},
                       "ceiling": "cuBLAS", "points": list(points)} | fields, separators=(",", ":"))


def point(kernel="cuBLAS", **fields):
    return {"kernel": kernel, "what": "w", "size": 2048, "seconds": {"median": 1e-4, "noise": 0.01, "min": 1e-4, "max": 2e-4, "runs": 9}, "flops": 1e12,
            "bits": {"compared": 9, "differing": 0, "order_known": True}} | fields


seed("sweep", "gemm_good", b"\1" + products(*[point(k, longest_block={"cycles": 9e5, "launches": 1000}) for k in ["Sun baseline", "Sun pipeline", "Sun permuted"]],
                                              point("wgmma TMA"), point()).encode())
seed("sweep", "gemm_skipped", b"\1" + products(point(skipped="no room"), point(skipped=7)).encode())
seed("sweep", "gemm_size", b"\1" + products(point(size=-1), point(size=1e300), point(size="2048")).encode())
seed("sweep", "gemm_zero", b"\1" + products(point("wgmma TMA", flops=0), point(flops=0, seconds={"median": 0, "min": 0})).encode())
seed("sweep", "gemm_points", b"\1" + products(points={"a": point()}).encode())
seed("sweep", "gemm_schema", b"\1" + products(meta={"schema": "x\n"}).encode())
kernel = "_ZN7mmaudit6sweeps5timedINS0_3MmaINS0_27Mma_m16n8k8_f32_f16_f16_f32EEELi1ELi16EEEvNS0_9TimedArgsE"
code = "\n".join(f"        /*{16 * i:04x}*/                   {x} ;" for i, x in enumerate(
    ["CS2R R2, SR_CLOCKLO", "HMMA.1688.F32 R4, R4, R6, RZ", "UISETP.GE.AND UP0, UPT, UR4, UR5, UPT", "@P0 BRA 0x10", "CS2R R2, SR_CLOCKLO", "CALL.REL.NOINC 0x60", "RET.REL.NODEC R2 0x0"]))
seed("sweep", "sass", b"\2" + f"\tcode for sm_90a\n\t\tFunction : {kernel}\n{code}\n".encode())
seed("sweep", "sass_cut", b"\2" + f"code for sm_90a\nFunction : {kernel}\n/*zz*/ BRA `(.L_x_1) ;\n/*ffffffffffffffffff*/ BRA 0xffffffffffffffffffff".encode())
seed("sweep", "sass_no_kernel", b"\2code for\nFunction :\n")

# kind of row, number of the row (2), wrong model (0: none), how elements are spelled, modifiers, then the tile
draw = random.Random(20261121)
for kind in range(7):
    for number in range(5):
        spelled = number % 2
        size = [40, 700, 160, 1500, 300][number]
        head = bytes([kind, draw.randrange(256), draw.randrange(256), 0 if number < 3 else draw.randrange(1, 256), spelled, draw.choice([0, 1, 2, 4, 7])])
        seed("differential", f"{kind}_{number}", head + bytes(draw.choice([0, 1, draw.randrange(256)]) if number == 0 else draw.randrange(256) for _ in range(size)))
