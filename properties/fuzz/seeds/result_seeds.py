"""Seeds of what mmaudit itself writes: journals, campaigns, baselines, sweeps; bytes of the differential fuzzer."""
import json
import random

from seed_file import seed


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
            "summaries": [{"tag": k, "name": "", "hint": "", "description": "", "data": [{"name": "value", "type": "float64", "value": v}]} for k, v in ({} if skipped else tags).items()]}


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
    "nan_rate": sweep([state(**{"rate/fma_per_clk_sm": "nan"})]),
    "number": sweep([state("x")]),
    "huge": sweep([state("1e308", flops="1e308")]),
    "tag": sweep([state(**{"colour\n": "1"})]),
    "warps": sweep([state(warps="x\u202e"), state(warps="99999999999999999999"), state(warps="-1"), state(warps="")]),
    "twice": sweep([state(), state()]),
    "ceiling": sweep([state(**{"rate/fma_per_clk_sm": "1e6"})]),
    "peak": sweep([state(**{"share/peak_held": "2"})]),
    "zero_time": sweep([state(**{"time/events/median": "0"})]),
    "axis_twice": sweep([state()]).replace('{"name":"scope"', '{"name":"warps","type":"int64","value":"4"},{"name":"scope"', 1),
    "uncompared": sweep([state(**{"bits/compared": "0", "rate/fma_per_clk_sm": "100"})]),
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

A_REPORT = {"schema": "mmaudit.report/1", "title": "t", "headline": "h", "tone": "good", "lead": ["l"], "meta": ["m"], "warnings": ["w"],
            "highlights": [{"value": "1", "label": "x"}], "suite": "s", "cases": [{"group": "g", "name": "n", "outcome": "passed", "message": "", "text": ""}],
            "sections": [{"title": "s", "lines": ["x"], "tables": [{"title": "t", "columns": [{"header": "a"}, {"header": "b", "number": True}], "rows": [["1", "2"]]}]}],
            "provenance": {"version": "0", "git_revision": "1", "date": "2026-01-01", "gpu": "", "driver": "", "cuda": "", "command": ["a", "b"]}}
FIGURES = {"curves": {"x_title": "x", "labels": ["1", "2"], "curves": [{"name": "n", "values": [1, None], "colour": "f16", "hollow": True}]},
           "scatter": {"y_title": "y", "points": [{"name": "n", "x": 1, "y": -1e300}]},
           "levels": {"names": ["a", "b"], "limit": 0.5, "rows": [{"label": "n", "remark": "r", "values": [1, 2]}]},
           "lengths": {"kind": "curves", "labels": ["1"], "curves": [{"name": "n", "values": []}]}}
for name, change in {"good": {}, "schema": {"schema": "mmaudit.report/0"}, "tone": {"tone": "loud"}, "sections": {"sections": 7}, "cases": {"cases": [7]},
                     "title": {"title": "<script>\u001b\u202e"}, "origin": {"provenance": [1]}, "lead": {"lead": [1]},
                     "ragged": {"sections": [{"title": "", "tables": [{"columns": [{"header": "a"}], "rows": [["1", "2"], []]}]}]}}.items():
    seed("report", name, b"\0" + json.dumps({**A_REPORT, **change}).encode())
for name, figure in FIGURES.items():
    seed("report", name, b"\0" + json.dumps({**A_REPORT, "sections": [{"title": "s", "figures": [{"kind": name, "title": "t", **figure}]}]}).encode())


def screened(**fields):
    finding = {"sm": 17, "subcore": 2, "lane": 5, "instruction": "mma.m16n8k16.f64.f64.f64.f64", "inputs": "normal", "tile": 1, "row": 3, "column": 5,
               "expected": "0xbfbf2c20cc7c22b6", "found": "0x1"} | fields
    return json.dumps({"kind": "mmaudit-screen", "gpus": [{"gpu": 0, "compute_capability": 90, "findings": [finding]}]})


for name, text in {"good": screened(), "wgmma": screened(instruction="wgmma.m64n64k16.f32.f16.f16"), "tile": screened(tile=2**31 - 1), "row": screened(row=-1),
                   "inputs": screened(inputs="x"), "lane": screened(lane=99), "none": '{"kind":"mmaudit-screen","gpus":[{"findings":[]}]}', "kind": "{}"}.items():
    seed("report", "screen_" + name, b"\1" + text.encode())
for name, text in {"good": {"like": "ga100", "numbers": {"tensor.rate.f16_f32": 128, "tensor.queue": 5}}, "none": {"like": "x", "numbers": {}},
                   "numbers": {"like": "hopper", "numbers": [1]}, "rate": {"like": "hopper", "numbers": {"tensor.rate.f16_f32": 1e-9}}}.items():
    seed("sweep", "machine_" + name, b"\3" + json.dumps(text).encode())
LOOPS = "instruction,point,warps,ilp1,ilp2,ilp3,ilp4,ilp5,ilp6\n"
for name, text in {"good": "mma.m16n8k16.f32.f16.f16.f32,,4,33,34,,40,,\n", "wgmma": "wgmma.m64nNk16.f32.f16.f16,n=64 a=registers,4,70\n",
                   "load": "ld.shared.u32,ways=8,1,40\n", "ways": "ld.shared.u32,ways=-2147483648,1,40\n", "n": "wgmma.m64nNk16.f32.f16.f16,n=,4,70\n",
                   "warps": "mma.m16n8k16.f32.f16.f16.f32,,65,33\n", "name": "\u001b,,4,33\n", "cycles": "x,,4,nan,inf\n"}.items():
    seed("sweep", "loops_" + name, b"\4" + LOOPS.encode() + text.encode())
seed("sweep", "kernels_good", b"\5kernel,type\nmma64,f16,1024,1,2,3,9,0,1,2,3,4\n")
seed("sweep", "kernels_bad", b"\5mma64,f16,1e9\n")


def traced(texts=("net.0", "Layer", "aten.pow", "aten.mm"), tensors=None, operations=None, **fields):
    row = {"shape": [1, 2, 4], "dtype": "float32", "batch": 1, "tokens": 2}
    operation = {"module": 0, "kind": 1, "operator": 2, "call": 0, "in": [0], "out": [1], "flags": 0, "by_rows": True, "arguments": {"exponent": 2}}
    product = {**operation, "operator": 3, "in": [1, 3], "out": [2], "kernels": [{"name": 0, "grid": [1, 1, 1], "block": [128, 1, 1]}],
               "gemm": {"problem": {"api": "cublas", "type": "f16", "m": 2, "n": 4, "k": 4}, "rows": [0], "columns": [1, 3], "arch": "hopper", "scaling": "x"}}
    whole = {"schema": "mmaudit.trace/1", "made": "", "machine": {"torch": "2.11.0", "gpu": "NVIDIA H200"}, "flags": [{"allow_tf32": False}],
             "calls": [{"batch": 1, "tokens": 2, "past": 0}], "texts": list(texts),
             "tensors": tensors or [{**row, "at": 0}, {**row, "at": 2, "made": 0}, {**row, "at": 4, "made": 1},
                                    {"shape": [4, 4], "stride": [1, 4], "dtype": "float16", "name": "w", "hash": 2**64 - 1, "of": 0, "value": "1"}],
             "operations": operations or [operation, product]} | fields
    return json.dumps({k: v for k, v in whole.items() if v is not None}, separators=(",", ":"))


SIX, APART = 1 | 6 << 2, 3 | 6 << 2
one = json.loads(traced())
for name, text in {"good": traced(), "no_texts": traced(texts=()), "found_machine": traced(machine=[1]), "flags": traced(flags=7), "found_calls": traced(calls=[{"batch": 2**62, "tokens": 2**62, "past": 2**62}]),
                   "in": traced(operations=[{**one["operations"][0], "in": [9]}, one["operations"][1]]), "kernel": traced(operations=[one["operations"][0], {**one["operations"][1], "kernels": [7]}]),
                   "gemm": traced(operations=[one["operations"][0], {**one["operations"][1], "gemm": {"problem": 7}}]), "null": traced(operations=[{**one["operations"][0], "module": None}, one["operations"][1]]),
                   "at": traced(tensors=[{**one["tensors"][0], "at": 6, "tokens": 1}] * 4), "list": "[]", "no_json": "{"}.items():
    seed("trace", name, bytes([SIX]) + text.encode())
seed("trace", "two", bytes([APART]) + (traced() + "\xff" + traced(machine={"torch": "2.12.0"})).encode("latin-1"))
seed("trace", "two_calls", bytes([APART]) + (traced() + "\xff" + traced(calls=[{"batch": 2, "tokens": 1, "past": 1}])).encode("latin-1"))
seed("trace", "file", b"\0" + bytes(8))

LOG = """NCCL version 2.28.9+cuda13.0
[0] NCCL INFO Channel 00/02 :    0   1   2   3
[0] NCCL INFO Channel 01/02 :    0   1   2   3
[0] NCCL INFO Trees [0] 1/2/-1->0->-1 [1] 2/-1/-1->0->1
[1] NCCL INFO Trees [0] 3/-1/-1->1->0 [1] 0/3/-1->1->-1
[2] NCCL INFO Trees [0] -1/-1/-1->2->0 [1] -1/-1/-1->2->0
[3] NCCL INFO Trees [0] -1/-1/-1->3->1 [1] -1/-1/-1->3->1
AllReduce: {bytes} Bytes -> Algo {algorithm} proto LL channel{{Lo..Hi}}={{0..0}}
"""


def call(ranks=4, count=100, how=4):
    return bytes([how, ranks, count & 255, count >> 8, 0, 0, 0])


for name, head, text in (
        ("ring", call(), LOG.format(bytes=400, algorithm="RING")), ("tree", call(), LOG.format(bytes=400, algorithm="TREE")),
        ("scatter", call(how=5), LOG.format(bytes=100, algorithm="RING").replace("AllReduce", "ReduceScatter")),
        ("nvls", call(), LOG.format(bytes=400, algorithm="NVLS\x1b")), ("two", call(), LOG.format(bytes=400, algorithm="RING") * 2),
        ("found_ring_of_trees", call(), LOG.format(bytes=400, algorithm="TREE").replace("[0] -1/-1/-1->3->1", "[0] 0/-1/-1->3->1")),
        ("found_channels", call(), LOG.format(bytes=400, algorithm="RING").replace("01/02", "01/2000000000")),
        ("rings", call(how=20), "0 1 2 3; 3 2 1 0"), ("rings_twice", call(how=20), "0 1 1 3"), ("rings_words", call(how=20), "0 1 x"), ("empty", call(), "")):
    seed("collective", name, head + text.encode())
