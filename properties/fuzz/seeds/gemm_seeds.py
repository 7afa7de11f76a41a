"""Seeds of products of a library: problems, plans, calls, samples, and the log of cuBLASLt."""
import json

from seed_file import seed

PROBLEMS, PLAN, WORDS, CALL, SAMPLES, CHECK, DECISIONS, CONFIG, NETWORKS, COMPARED = range(10)


def problem(**fields):
    whole = {"api": "cublaslt", "type": "f16", "m": 16, "n": 32, "k": 64, "layout": "nt"} | fields
    return {k: v for k, v in whole.items() if v is not None}


def plan(**fields):
    return json.dumps({"instruction": "wgmma.m64n64k16.f32.f16.f16", "output": "f16"} | fields)


def called(kernels, algorithm=None, **fields):
    kernels = [{"name": name} if isinstance(name, str) else name for name in kernels]
    return {"problem": problem(**fields), "call": {"algorithm": algorithm or {}, "kernels": kernels}}


def put(name, what, content, k=None):
    seed("gemm", name, bytes([what] if k is None else [what, k]) + content.encode())


put("problems", PROBLEMS, "\n".join(json.dumps(each) for each in (
    problem(), problem(type="tf32", api="cublas", reduced_reduction=False), problem(type="f64", batch=4, stride_a=0, alpha=0.1),
    problem(type="e4m3", scale_a=0.1, scale_b=2, bias=True, activation="relu", beta=-1.25, fast_accum=True))))
put("problem_large", PROBLEMS, json.dumps(problem(m=2**40, n=2**40, k=2**40, lda=2**63)))
put("problem_stride", PROBLEMS, json.dumps(problem(batch=3, stride_b=2**64 - 2, offset_d=2**62)))
put("problem_type", PROBLEMS, json.dumps(problem(type="nvf4")))
put("problem_none", PROBLEMS, "\n\n")
put("problem_deep", PROBLEMS, '{"type":' + "[" * 2000)
LOG = ("[2026][cublasLt][1][Trace][cublasLtMatmul] A=0X7 Adesc=[type=R_16BF rows=64 cols=32 ld=64{batch}] B=0X7 Bdesc=[type=R_16BF rows=64 "
       "cols=16 ld=64{batch}] C=0X7 Cdesc=[type=R_16BF rows=32 cols=16 ld=32{batch}] D=0X7 Ddesc=[type=R_16BF rows=32 cols=16 ld=32{batch}] "
       "computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transa=OP_T{more}] algo=[algoId=66]\n")
put("log", PROBLEMS, LOG.format(batch="", more=" epilogue=EPILOGUE_GELU_BIAS biasPointer=0x7") + LOG.format(
    batch=" batchCount=8 stridedBatchOffset=0", more="") + LOG.format(batch="", more=" epilogue=EPILOGUE_DRELU"))
put("plan", PLAN, plan(tile_k=16, slices=3, slice_order="descending"), 64)
put("plan_dealt", PLAN, plan(tile_k=32, slices=4, slice_rule="cyclic", partial="f16", total="f16"), 90)
put("plan_promoted", PLAN, plan(instruction="wgmma.m64n64k32.f32.e4m3.e4m3", promote=64, output="bf16"), 95)
put("plan_scalar", PLAN, json.dumps({"scalar": True, "a": "f32", "b": "f32", "lanes": 16, "lane_tile": 3, "lane_order": "halved"}), 77)
put("plan_running", PLAN, json.dumps({"scalar": True, "a": "f16", "b": "f16", "running": "f16", "output": "f16", "slices": 3, "total": "f16", "lanes": 2}), 62)
put("plan_f64", PLAN, json.dumps({"scalar": True, "a": "f64", "b": "f64", "output": "f64", "head_tile": 8}), 33)
put("plan_chain", PLAN, plan(c_place="chain", promote=32), 66)
put("plan_total", PLAN, plan(c_place="total", tile_k=16, slices=3, partial="f16"), 66)
put("plan_huge", PLAN, plan(tile_k=2**63, slices=2**63), 9)
put("plan_both", PLAN, plan(scalar=True), 9)
put("words", WORDS, "wgmma.m64n64k16.f32.f16.f16, tile k 16, slices 3, partial f16, output f16", 64)
put("words_fma", WORDS, "fma of f32 and f32, scalar, lanes 32, lane tile 4, lane order halved", 70)
put("words_running", WORDS, "fma of bf16 and bf16, scalar, running bf16, promote 8, c place chain, output bf16", 70)
put("words_twice", WORDS, "fma of f32 and f32, scalar, lanes 32, lanes 4", 70)
put("call", CALL, json.dumps(called(["nvjet_sm90_hsh_64x32_64x16_2x1_v_bz_splitK_TNT", "cublasLt::splitKreduce_kernel<32, 16>"], {"split_k": 3, "reduction": 2})))
put("call_segments", CALL, json.dumps(called([{"name": "cutlass_80_tensorop_f16_s16816gemm_f16_128x64_64x6_nn_align8", "grid": [12, 1, 8], "block": [128, 1, 1]}], {"split_k": 8})))
put("call_grid", CALL, json.dumps(called([{"name": "x", "grid": 3}])))
put("call_algorithm", CALL, json.dumps(called(["x"], {"split_k": 2**63})))
put("sample", SAMPLES, json.dumps(called(["nvjet_sm90_hsh_64x32_64x16_2x1_v_bz_TNT"]) | {"seed": 7, "rows": [0, 3], "columns": [1], "d": [0, 1]}) + "\n")
put("sample_beyond", SAMPLES, json.dumps(called(["x"]) | {"seed": 7, "rows": [16], "columns": [1], "d": [0]}) + "\n")

STARTED = ("beside another stream", "in a CUDA graph", "in a grouped call")


def fault(**fields):
    first = {"matrix": 0, "row": 1, "column": 2, "expected": 8, "found": None}
    return {"problem": problem(), "call": {"algorithm": {"id": 66}, "kernels": [{"name": "nvjet_sm90_hsh_64x32"}]}, "faults": ["elements of K missing"],
            "explained": True, "wrong": 3, "elements": 512, "tail": 8, "wrong_k": [[56, 64, 0]], "first": first, "found_s": 0.5} | fields


def check(faults=(), kind=None, **fields):
    counts = {k: 1 for k in ("products", "wrong_products", "calls", "wrong_calls", "runs", "elements", "refused", "refused_calls", "seconds", "product_seconds")}
    whole = {"schema": "mmaudit.gemm.check/1", "library": "130100", "gpu": "H200", "asked": {"types": "f16"}, "seed": 1, "repeat": 2, "taken": 3, "stopped": False,
             "seconds": 1.5, "product_seconds": 0.5, "why_refused": "status 15", "launches": {"alone": 1, **{kind: 2 for kind in STARTED}},
             "not_started": {STARTED[0]: {"products": 1, "why": "status 1"}}, "types": {"f16": kind or counts | {"calls_by_algorithm": {"cublaslt 0": 1}}},
             "faults": list(faults)}
    return json.dumps(whole | fields)


more = {"right_algorithm": 2, "right_s": 1e-5, "first_s": 2e-5, "shapes": 20, "condition": "K of 64 and more", "failing_shapes": 7, "torch_calls": 4,
        "program_cu": {"problem": problem(type="bf16"), "wrong_k": [[0, 8, 2]]}, "program_py": {"problem": problem(api="cublas"), "wrong_k": [[0, 8, 2]]}}
put("check", CHECK, check([fault(), fault(**more)]))
put("check_none", CHECK, check())
put("check_old", CHECK, check(schema="mmaudit.gemm.check/0"))
put("check_types", CHECK, check(types=[7]))
put("check_calls", CHECK, check(kind={"calls_by_algorithm": {"cublaslt 0": -1}}))
put("check_no_fault", CHECK, check([fault(faults=[])]))
put("check_range", CHECK, check([fault(wrong_k=[[64, 56, float("inf")], [2**63, 2**64 - 1, 1]])]).replace("Infinity", "1e308"))
put("check_text", CHECK, check([fault(faults=["\u001b[1m\u202e"], condition=7, shapes=0)], gpu="\n", why_refused="<b>"))
HEAD = {"schema": "mmaudit.gemm.decisions/1", "gpu": "H200", "architecture": "hopper", "library": "130100", "first_m": 1, "last_m": 64}
CHOICE = {"choice": {"algorithm": {"id": 66}, "kernels": [{"name": "nvjet_sm90_hsh_64x32_64x16_2x1_v_bz_TNT"}]}}


def decisions(*lines):
    return "".join(json.dumps(each) + "\n" for each in lines)


LAYER = {"layer": problem(m=None, type="bf16"), "starts": "1:0 17:1"}
put("decisions", DECISIONS, decisions(HEAD, CHOICE, {"choice": {"algorithm": {}, "kernels": []}}, LAYER, {**LAYER, "layer": problem(m=None, n=4096)}))
put("decisions_head", DECISIONS, decisions({**HEAD, "first_m": 2**64 - 1, "last_m": 2**64 - 1}))
put("decisions_schema", DECISIONS, decisions({**HEAD, "schema": "mmaudit.gemm.decisions/0"}))
put("decisions_list", DECISIONS, decisions(HEAD, CHOICE, {"layer": [1], "starts": "1:0"}))
put("decisions_starts", DECISIONS, decisions(HEAD, CHOICE, {**LAYER, "starts": "1:0 1:0"}))
put("decisions_none", DECISIONS, "")
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 128}
for name, config in {"llama": LLAMA, "text": {"text_config": LLAMA}, "gpt2": {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "vocab_size": 9, "n_inner": None},
                     "zero": {**LLAMA, "num_attention_heads": 0}, "huge": {**LLAMA, "hidden_size": 2**31 - 1, "intermediate_size": 2**31 - 1},
                     "bias": {**LLAMA, "attention_bias": 7}, "other": {"model_type": "\u001bnone"}, "list": [1]}.items():
    put("config_" + name, CONFIG, json.dumps(config))
put("networks", NETWORKS, decisions({"model": "a", "source": "b", "config": LLAMA}, {"model": "c", "source": "", "config": {}}))
for name, text in {"good": {"schema": "mmaudit.gemm.compare/1", "library": "1", "elements": 9, "wrong": 0}, "none": {}, "text": {"schema": "mmaudit.gemm.compare/1", "library": 1, "elements": "9", "wrong": -1}}.items():
    put("compared_" + name, COMPARED, json.dumps(text))
