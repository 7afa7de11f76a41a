"""Seeds of products of a library: problems, plans, calls, samples, and the log of cuBLASLt."""
import json

from seed_file import seed

PROBLEMS, PLAN, WORDS, CALL, SAMPLES = range(5)


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
