#!/usr/bin/env python3
"""Writes the seeds that can be written down: make_seeds.py [FOLDER]. What a fuzzer found lies beside them, named found_*."""
import json
import random
import struct
import sys

sys.dont_write_bytecode = True
from seed_file import seed  # noqa: E402


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


seed("npy", "named", npy(described("'<V2'") + "# BF16\n", bytes(12)))

for name, text in {"good": '{"a":[1,-2,3.5,"b",true,null,{}]}', "twice": '{"a":1,"a":2}', "deep": "[" * 40, "open": '["a',
                   "number": "[1e999]", "escapes": '["\\ud83d\\ude00\\n"]', "zero": "{}\0"}.items():
    seed("json", name, b"\0" + text.encode())
for name, text in {"csv_good": "a,b\n# c\n\"d,e\",f\n", "csv_quote": '"a', "csv_quotes": '"a""b",,\n', "csv_head": "head\nx\n"}.items():
    seed("json", name, b"\1" + text.encode())


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
    "broken_beside_good": tensors(dict(one, B={"dtype": "F4", "shape": [[{}], 8], "data_offsets": [4, 8]}), bytes(8)),
    "good_twice": tensors('{"A":7,"B":[[{"a":1}],2],"A":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
}
for name, content in plain.items():
    seed("safetensors", name, b"\0" + content)
    if name.startswith("good") or name in ("broken_beside_good", "size"):
        seed("checkpoint", "one_" + name, b"\1" + content)


def gguf(type_=8, shape=(32, 2), data=bytes(range(1, 69)), offset=0, tensors=1, keys=1, value=struct.pack("<IQ", 8, 5) + b"llama"):
    head = b"GGUF" + struct.pack("<IQQ", 3, tensors, keys) + struct.pack("<Q", 20) + b"general.architecture" + value
    head += struct.pack("<Q", 19) + b"blk.0.attn_q.weight" + struct.pack("<I", len(shape))
    head += struct.pack(f"<{len(shape)}QIQ", *shape, type_, offset)
    return b"\0" + head + bytes(-len(head) % 32) + data


seed("checkpoint", "gguf_good", gguf())
for type_, k, size in ((2, 32, 36), (12, 256, 288), (14, 256, 420), (39, 32, 34), (40, 64, 72), (30, 1, 4)):
    seed("checkpoint", f"gguf_type_{type_}", gguf(type_, (k, 2), bytes(i * 7 % 128 for i in range(size))))
seed("checkpoint", "gguf_no_type", gguf(11))
seed("checkpoint", "gguf_shape", gguf(8, (2**63, 2**63)))
seed("checkpoint", "gguf_offset", gguf(8, (32, 2), offset=2**64 - 32))
seed("checkpoint", "gguf_counts", gguf(tensors=2**60))
seed("checkpoint", "gguf_text", gguf(value=struct.pack("<IQ", 8, 2**60)))
seed("checkpoint", "gguf_list", gguf(value=struct.pack("<IIQ", 9, 4, 2**62)))
seed("checkpoint", "gguf_lists", gguf(value=struct.pack("<IIQ", 9, 9, 2**62) * 6))
seed("checkpoint", "gguf_cut", gguf()[:60])
for name, text in {"good": '{"dtype":"bfloat16","quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}}',
                   "deep": "[" * 40 + "]" * 40, "blocks": '{"quantization_config":{"weight_block_size":[1,0]}}',
                   "types": '{"dtype":7,"text_config":[],"quantization_config":{"quant_method":{},"config_groups":{"a":3}}}'}.items():
    seed("checkpoint", "config_" + name, b"\2" + text.encode())
for name, text in {"good": '{"weight_map":{"a.weight":"model.safetensors","b":"model.safetensors"}}', "none": "{}", "list": "[]",
                   "outside": '{"weight_map":{"a":"../x.safetensors"}}', "number": '{"weight_map":{"a":1}}'}.items():
    seed("checkpoint", "index_" + name, b"\3" + text.encode())


def quantized(name, config, **parts):
    """A layer "a" of this convention: its end of a name, with _ for its dot, to (dtype, shape, bytes)."""
    head, data = {}, b""
    for end, (dtype, shape, content) in parts.items():
        head["a." + end] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    seed("checkpoint", "two_" + name, b"\4" + json.dumps({"quantization_config": config}).encode() + b"\n" + tensors(head, data))


CODES, ONE, TENTH = bytes(i * 11 % 120 for i in range(256)), struct.pack("<f", 1.5), struct.pack("<f", 0.1)
quantized("fp8_deepseek", {"quant_method": "fp8", "weight_block_size": [4, 16]}, weight=("F8_E4M3", [8, 32], CODES),
          weight_scale_inv=("F32", [2, 2], ONE * 4))
quantized("fp8_static", {"quant_method": "fp8"}, weight=("F8_E4M3", [8, 32], CODES), weight_scale=("F32", [1], ONE),
          input_scale=("F32", [1], TENTH))
quantized("mxfp8", {"quant_method": "modelopt"}, weight=("F8_E4M3", [4, 64], CODES), weight_scale=("U8", [4, 2], CODES[3:11]))
quantized("nvfp4_modelopt", {"quant_method": "modelopt"}, weight=("U8", [4, 32], CODES[:128]),
          weight_scale=("F8_E4M3", [4, 4], CODES[:16]), weight_scale_2=("F32", [], TENTH), input_scale=("F32", [], TENTH))
quantized("nvfp4_compressed", {"quant_method": "compressed-tensors"}, weight_packed=("U8", [4, 32], CODES[:128]),
          weight_scale=("F8_E4M3", [4, 4], CODES[:16]), weight_global_scale=("F32", [1], ONE),
          input_global_scale=("F32", [1], ONE))
quantized("int8", {"quant_method": "compressed-tensors"}, weight=("I8", [8, 32], CODES), weight_scale=("F32", [8, 1], ONE * 8))
quantized("words", {"quant_method": "compressed-tensors"}, weight_packed=("I32", [4, 4], CODES[:64]),
          weight_scale=("F32", [4, 2], ONE * 8), weight_zero_point=("I32", [1, 2], CODES[:8]),
          weight_shape=("I64", [2], struct.pack("<2q", 4, 32)))
quantized("gptq", {"quant_method": "gptq"}, qweight=("I32", [4, 8], CODES[:128]), qzeros=("I32", [2, 1], CODES[:8]),
          scales=("F16", [2, 8], b"\0\x3c" * 16), g_idx=("I32", [32], struct.pack("<32i", *[i // 16 for i in range(32)])))
quantized("awq", {"quant_method": "awq"}, qweight=("I32", [32, 1], CODES[:128]), qzeros=("I32", [2, 1], CODES[:8]),
          scales=("F16", [2, 8], b"\0\x3c" * 16))
quantized("plain", {}, weight=("BF16", [4, 32], CODES))


def group(input_activations=None, targets=("Linear",), **weights):
    """A group of compressed-tensors' config."""
    return {"targets": list(targets), "weights": {"symmetric": True, "dynamic": False, **weights}, "input_activations": input_activations}


def compressed(*groups, **more):
    return {"quant_method": "compressed-tensors", "ignore": ["lm_head"], "quantization_status": "compressed", **more,
            "config_groups": {f"group_{i}": one for i, one in enumerate(groups)}}


FP8, INT8 = {"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": False}, {"num_bits": 8, "type": "int", "dynamic": True}
ROWS = {"weight": ("F8_E4M3", [8, 32], CODES), "weight_scale": ("F32", [8, 1], ONE * 8)}
PACKED = {"weight_packed": ("U8", [4, 32], CODES[:128]), "weight_scale": ("F8_E4M3", [4, 4], CODES[:16]),
          "weight_global_scale": ("F32", [1], ONE), "input_global_scale": ("F32", [1], ONE)}
WORDS = {"weight_packed": ("I32", [4, 4], CODES[:64]), "weight_scale": ("F32", [4, 2], ONE * 8),
         "weight_shape": ("I64", [2], struct.pack("<2q", 4, 32))}
quantized("ct_fp8", compressed(group(FP8, num_bits=8, type="float", strategy="tensor")), weight=ROWS["weight"],
          weight_scale=("F32", [1], ONE), input_scale=("F32", [1], TENTH))
quantized("ct_fp8_rows", compressed(group({**FP8, "strategy": "token", "dynamic": True}, num_bits=8, type="float",
                                          strategy="channel")), **ROWS)
quantized("ct_fp8_contradicts", compressed(group(FP8, num_bits=4, type="int", strategy="group", group_size=16)), **ROWS)
quantized("ct_nvfp4", compressed(group({"num_bits": 4, "type": "float", "dynamic": "local", "group_size": 16}, num_bits=4,
                                       type="float", strategy="tensor_group", group_size=16), format="nvfp4-pack-quantized"), **PACKED)
quantized("ct_two_groups", compressed(group(None, ["re:.*a$", "a"], num_bits=4, type="float", group_size=16),
                                      group(INT8, ["re:(a+)+$", "Linear"], num_bits=8, type="int")), **PACKED)
quantized("ct_int4", compressed(group(None, num_bits=4, type="int", strategy="group", group_size=16)), **WORDS)
quantized("ct_int4_contradicts", compressed(group(INT8, num_bits=8, type="float", strategy="channel", group_size=-1)), **WORDS)
quantized("mxfp4_compressed", compressed(group(None, num_bits=4, type="float", strategy="group", group_size=32)),
          weight_packed=("U8", [4, 32], CODES[:128]), weight_scale=("U8", [4, 2], CODES[100:108]))
quantized("mxfp4_gpt_oss", {"quant_method": "mxfp4", "modules_to_not_convert": ["a"]},
          w_blocks=("U8", [2, 2, 2, 16], CODES[:128]), w_scales=("U8", [2, 2, 2], CODES[100:108]))
quantized("w4a8", {"quant_method": "modelopt", "quant_algo": "w4a8_nvfp4_fp8", "group_size": 32},
          weight=("U8", [4, 32], CODES[:128]), weight_scale=("F8_E4M3", [4, 2], CODES[:8]), weight_scale_2=("F32", [], TENTH),
          input_scale=("F32", [], TENTH), pre_quant_scale=("BF16", [64], CODES[:128]))
quantized("w4a8_globs", {"quant_method": "ModelOpt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
    "[a": {"quant_algo": "FP8"}, "*?": {"quant_algo": "W4A8_MXFP4_FP8", "group_size": 32}, "a": 3}},
          weight=("U8", [4, 32], CODES[:128]), weight_scale=("U8", [4, 2], CODES[100:108]), input_scale=("F32", [], TENTH))
quantized("gptq_v2_contradicts", {"quant_method": "gptq", "checkpoint_format": "gptq_v2", "bits": 8, "group_size": 2**63, "sym": True},
          qweight=("I32", [4, 8], CODES[:128]), qzeros=("I32", [2, 1], CODES[:8]), scales=("F16", [2, 8], b"\0\x3c" * 16))
TURNED = [{"targets": ["re:.*a$", "Linear"], "location": "weight_input", "inverse": True, "ignore": ["re:(", "b"]},
          {"targets": ["a"], "location": "k_cache"}, {"location": 3}, 7]
quantized("ct_rotated", compressed(group(None, num_bits=4, type="int", strategy="group", group_size=16), format="pack-quantized",
                                   transform_config={"config_groups": {"r": {"type": "hadamard", "apply": TURNED}, "s": []}}), **WORDS)
quantized("ct_ignored", {**compressed(group(FP8, num_bits=8, type="float")), "format": "int-quantized", "ignore": ["re:a|b", 5]}, **ROWS)
quantized("scales_turned", {"quant_method": "modelopt", "quant_algo": "FP8"}, weight=("U8", [4, 32], CODES[:128]),
          weight_scale=("F8_E4M3", [4, 4], CODES[:16]), weight_scale_2=("F32", [], TENTH), bias=("F32", [2], b"\0\0\x80\xff" * 2))
quantized("foreign", {"quant_method": "torchao"}, _weight_qdata=("I8", [8, 32], CODES), _weight_scale=("F32", [8, 1], ONE * 8))
quantized("no_scales", {"quant_method": "awq", "bits": 4, "group_size": -(2**63)}, qweight=("I32", [32, 1], CODES[:128]))
HF = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head", "a*"]}}
FILE = tensors({"a.weight": {"dtype": "U8", "shape": [4, 32], "data_offsets": [0, 128]},
                "a.weight_scale": {"dtype": "F8_E4M3", "shape": [4, 4], "data_offsets": [128, 144]},
                "a.weight_scale_2": {"dtype": "F32", "shape": [], "data_offsets": [144, 148]}}, CODES[:144] + TENTH)
INDEX = {"metadata": {"total_size": 148}, "weight_map": {f"a.{end}": "model.safetensors" for end in ("weight", "weight_scale", "gone")}}
for name, parts in {"modelopt": ({"dtype": "float16"}, HF, INDEX), "no_index": ({"quantization_config": {"quant_method": "modelopt"}}, HF, ""),
                    "two_say": ({"quantization_config": {"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": [0]}},
                                {"quantization": [1]}, INDEX), "alone": ("", "", INDEX)}.items():
    seed("checkpoint", "folder_" + name, b"\5" + b"".join((json.dumps(x).encode() if x else b"") + b"\n" for x in parts) + FILE)
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

# Of fuzz_side_data: instruction, M, N, K, promotion, then metadata or scales, and elements.
draws = random.Random(17)
for number in range(0, 240, 8):
    k = 30 if number == 16 else 63
    metadata = [3, 1] if number % 80 == 72 else [0, 1] if number % 16 == 8 else [0, 1, 2, 3]
    body = bytes(metadata) * 64 + bytes(draws.randrange(256) for _ in range(700))
    seed("side_data", f"{number:03}", struct.pack("<HBBBB", number, number, 3 * number % 256, k, number // 8) + body)

import gemm_seeds  # noqa: E402, F401: writes its part
import program_seeds  # noqa: E402, F401: writes its part
import result_seeds  # noqa: E402, F401: writes its part
