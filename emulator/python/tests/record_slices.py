"""Records what Triton's input_precision, torch's flags and cuBLAS's emulation return, as hashes and some bits.

Needs torch with CUDA, triton and numpy; writes result.json and data.npz to $OUT (or ./out). Every operand is made of
raw words of PCG64, so that numpy makes it again elsewhere. recorded_slices.json has some of these hashes.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback

import numpy as np

OUT = os.environ.get("OUT", "out")
KINDS = ["uniform", "bell", "wide", "raw", "special", "cancel", "subnormal", "zeros"]
PRECISIONS = ["tf32", "tf32x3", "bf16x3", "bf16x6", "ieee"]
# BM, BN, BK, warps, stages
CONFIGS = [(64, 64, 32, 4, 3), (128, 128, 32, 8, 3), (32, 32, 32, 4, 2), (128, 64, 64, 4, 2)]
M, N, K = 1024, 1024, 192
TAIL = (1000, 520, 200)


def words(seed, count):
    return np.random.PCG64(seed).random_raw(count)


def matrix(kind, rows, columns, seed, of_b):
    """binary32, by integers alone."""
    n = rows * columns
    w = words(seed, n)
    low, high = (w & 0xFFFFFFFF).astype(np.uint64), (w >> np.uint64(32)).astype(np.uint64)
    sign = ((high >> np.uint64(31)) & np.uint64(1)).astype(np.uint32) << np.uint32(31)
    fraction = (low & np.uint64(0x7FFFFF)).astype(np.uint32)
    pick = (high & np.uint64(0x7FFFFFFF)).astype(np.uint32)

    def of_exponent(first, count):
        return (sign | ((pick % np.uint32(count) + np.uint32(first)) << np.uint32(23)) | fraction).view(np.float32)

    def bell():
        parts = [((w >> np.uint64(16 * i)) & np.uint64(0xFFFF)).astype(np.int64) for i in range(4)]
        return ((parts[0] + parts[1] + parts[2] + parts[3] - 131070) * 4099 + parts[3]).astype(np.float32) * np.float32(2.0**-28)

    if kind == "uniform":
        x = (low.astype(np.uint32).view(np.int32).astype(np.float64) * 2.0**-31).astype(np.float32)
    elif kind == "bell":
        x = bell()
    elif kind == "wide":
        x = of_exponent(107, 40)
    elif kind == "raw":
        x = of_exponent(0, 255)
    elif kind == "special":
        x = bell().copy()
        bits = x.view(np.uint32)
        values = np.array([0x7F800000, 0xFF800000, 0x7FC00001, 0xFFA00000, 0x80000000, 0x00000001, 0x807FFFFF, 0x7F7FFFFF,
                           0xFF7FFFFF, 0x7F7FF000, 0x3F800000, 0x00800000, 0x7F7F8000, 0, 0x33800000, 0xBF7FFFFF], np.uint32)
        where = pick % np.uint32(4096) == 0
        bits[where] = values[(fraction[where] & np.uint32(15))]
    elif kind == "cancel":
        x = bell().reshape(rows, columns).copy()
        if of_b:
            x[1::2] = x[0::2]
        else:
            x[:, 1::2] = -x[:, 0::2]
    elif kind == "subnormal":
        x = of_exponent(100, 70) if of_b else of_exponent(0, 30)
    else:
        small = (fraction & np.uint32(7)).astype(np.float32) - np.float32(3)
        x = np.where(pick % np.uint32(3) == 0, small, (sign).view(np.float32)).astype(np.float32)
    return np.ascontiguousarray(x.reshape(rows, columns))


def operands(kind, m, n, k, salt=0):
    seed = 1000 * KINDS.index(kind) + 10 * salt
    return matrix(kind, m, k, seed + 1, False), matrix(kind, k, n, seed + 2, True)


def matrix64(kind, rows, columns, seed, of_b):
    """binary64, by integers alone."""
    n = rows * columns
    w, v = words(seed, n), words(seed + 7, n)
    sign = w & np.uint64(1 << 63)
    fraction = w & np.uint64((1 << 52) - 1)
    pick = v >> np.uint64(32)

    def of_exponent(first, count):
        return (sign | ((pick % np.uint64(count) + np.uint64(first)) << np.uint64(52)) | fraction).view(np.float64)

    if kind == "uniform":
        x = (w >> np.uint64(10)).astype(np.int64).astype(np.float64) * 2.0**-53 - 1
    elif kind == "close":
        x = of_exponent(1020, 4)
    elif kind == "wide":
        x = of_exponent(1003, 40)
    elif kind == "extreme":
        x = of_exponent(700, 600)
    elif kind == "cancel":
        x = of_exponent(1020, 4).reshape(rows, columns).copy()
        if of_b:
            x[1::2] = x[0::2]
        else:
            x[:, 1::2] = -x[:, 0::2]
    elif kind == "one":  # a single product per element: shows the slices
        x = np.zeros((rows, columns))
        y = of_exponent(1020, 4).reshape(rows, columns)
        if of_b:
            x[0] = y[0]
        else:
            x[:, 0] = y[:, 0]
    elif kind == "pair":  # the same beside a product of zero whose factor sets the exponent of the row of A
        x = matrix64("one", rows, columns, seed, of_b)
        if of_b:
            x[1] = 0
        else:
            x[:, 1] = 2.0 ** (np.arange(rows) % 24)
    elif kind == "special":
        x = of_exponent(1020, 4).copy()
        bits = x.view(np.uint64)
        values = np.array([0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000001, 0x8000000000000000, 1,
                           0x800FFFFFFFFFFFFF, 0x3FF0000000000000, 0], np.uint64)
        where = (v & np.uint64(1023)) == 0
        bits[where] = values[(fraction[where] & np.uint64(7))]
    else:  # zeros
        x = np.where(pick % np.uint64(3) == 0, (fraction & np.uint64(7)).astype(np.float64) - 3, sign.view(np.float64))
    return np.ascontiguousarray(np.asarray(x, np.float64).reshape(rows, columns))


KINDS64 = ["uniform", "close", "wide", "extreme", "cancel", "one", "pair", "special", "zeros"]


def operands64(kind, m, n, k):
    seed = 1000 * KINDS64.index(kind) + 500000
    return matrix64(kind, m, k, seed + 1, False), matrix64(kind, k, n, seed + 2, True)


def tiles_of(d, edge=128):
    out = []
    for i in range(0, d.shape[0], edge):
        for j in range(0, d.shape[1], edge):
            tile = np.ascontiguousarray(d[i:i + edge, j:j + edge])
            out.append(hashlib.sha1(tile.tobytes()).hexdigest()[:16])
    return out


def part_triton(precision, result, data):
    import torch
    import triton
    sys.path.insert(0, os.environ["SLICES_KERNEL"])
    from slices_kernel import gemm
    result["triton"] = triton.__version__
    for config in CONFIGS:
        bm, bn, bk, warps, stages = config
        name = f"{precision}_{bm}x{bn}x{bk}_w{warps}s{stages}"
        done = result.setdefault(name, {})
        for kind in [*KINDS, "tail"]:
            m, n, k = TAIL if kind == "tail" else (M, N, K)
            a, b = operands("bell" if kind == "tail" else kind, m, n, k, 1 if kind == "tail" else 0)
            try:
                x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
                d = torch.empty((m, n), device="cuda", dtype=torch.float32)
                compiled = gemm[(triton.cdiv(m, bm), triton.cdiv(n, bn))](
                    x, y, d, m, n, k, BM=bm, BN=bn, BK=bk, IP=precision, num_warps=warps, num_stages=stages)
                d = d.cpu().numpy()
                done[kind] = tiles_of(d)
                data[f"{name}_{kind}"] = d[:48, :48].copy()
                if f"ptx_{name}" not in data:
                    data[f"ptx_{name}"] = np.frombuffer(compiled.asm["ptx"].encode(), np.uint8)
            except Exception as error:  # noqa: BLE001
                done[kind] = f"{type(error).__name__}: {error}"[:500]


def kernels_of(call):
    import torch
    ran = []
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
            ran.append(call())
            torch.cuda.synchronize()
        names = sorted({e.key for e in found.key_averages() if "Mem" not in e.key and not e.key.startswith("cuda")})
    except Exception as error:  # noqa: BLE001
        names = [f"no profile: {error}"[:200]]
    if not ran:
        ran.append(call())
        torch.cuda.synchronize()
    return ran[0], names


def part_torch(result, data):
    import torch
    result["torch"], result["cuda"] = torch.__version__, torch.version.cuda
    result["gpu"] = torch.cuda.get_device_name()
    result["capability"] = torch.cuda.get_device_capability()
    flags = torch.backends.cuda.matmul

    def ieee():
        flags.allow_tf32 = False

    def tf32():
        flags.allow_tf32 = True

    ways = {"default": lambda: None, "allow_tf32=False": ieee, "allow_tf32=True": tf32}
    for value in ["ieee", "tf32", "bf16x3", "none"]:
        ways[f"fp32_precision={value}"] = lambda value=value: setattr(flags, "fp32_precision", value)
    for value in ["highest", "high", "medium"]:
        ways[f"set_float32_matmul_precision({value})"] = lambda value=value: torch.set_float32_matmul_precision(value)
    for way, switch in ways.items():
        done = result.setdefault(way, {})
        try:
            switch()
        except Exception as error:  # noqa: BLE001
            done["refused"] = f"{type(error).__name__}: {error}"[:300]
            continue
        try:
            done["reads"] = str(flags.allow_tf32)
        except Exception as error:  # noqa: BLE001
            done["reads"] = str(error)[:200]
        for kind in KINDS:
            a, b = operands(kind, M, N, K)
            x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
            d, names = kernels_of(lambda x=x, y=y: x @ y)
            d = d.cpu().numpy()
            done[kind] = {"kernels": names, "tiles": tiles_of(d)}
            data[f"torch_{way}_{kind}"] = d[:32, :32].copy()
    x = torch.from_numpy(operands64("close", 128, 128, 192)[0]).cuda()
    _, names = kernels_of(lambda: x.T @ x)
    result["f64 kernels"] = names


def loaded(name):
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            path = line.split()[-1]
            if os.path.basename(path).startswith(name):
                return path
    return None


def part_cublas(result, data):
    import ctypes as c

    import torch
    x = torch.zeros((16, 16), device="cuda")
    (x @ x).cpu()
    path = loaded("libcublas.so")
    result["library"] = os.path.basename(path or "")
    lib = c.CDLL(path)
    handle = c.c_void_p()
    result["create"] = lib.cublasCreate_v2(c.byref(handle))
    version = c.c_int()
    lib.cublasGetVersion_v2(handle, c.byref(version))
    result["version"] = version.value
    bits_used = torch.full((1,), -7, device="cuda", dtype=torch.int32)
    space = torch.empty(1 << 28, device="cuda", dtype=torch.uint8)

    def call(name, *args):
        try:
            return getattr(lib, name)(handle, *args)
        except AttributeError:
            return "no such function"

    def gemm(a, b, compute, kind):
        """D of row-major A and B, as cublasGemmEx of the transposes."""
        m, k = a.shape
        n = b.shape[1]
        x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
        d = torch.full((m, n), -77.0, device="cuda", dtype=x.dtype)
        number = c.c_double if kind == 1 else c.c_float
        one, zero = number(1), number(0)
        bits_used.fill_(-7)
        torch.cuda.synchronize()
        status = []

        def run():
            status.append(lib.cublasGemmEx(handle, 0, 0, n, m, k, c.byref(one), c.c_void_p(y.data_ptr()), kind, n,
                                           c.c_void_p(x.data_ptr()), kind, k, c.byref(zero), c.c_void_p(d.data_ptr()), kind, n,
                                           compute, -1))
            return None

        _, names = kernels_of(run)
        return status[0], names, d.cpu().numpy(), int(bits_used.cpu()[0])

    call("cublasSetWorkspace_v2", c.c_void_p(space.data_ptr()), c.c_size_t(1 << 28))
    # binary32 by nine of bf16
    for strategy in [0, 1, 2]:
        for mode, compute in [(0, 68), (4, 68), (0, 78), (4, 78)]:
            key = f"f32 strategy {strategy} mode {mode} compute {compute}"
            one = result.setdefault(key, {"set": [call("cublasSetEmulationStrategy", strategy),
                                                  lib.cublasSetMathMode(handle, mode)]})
            for kind in ["bell", "wide", "special"]:
                a, b = operands(kind, 256, 256, K)
                status, names, d, _ = gemm(a, b, compute, 0)
                one[kind] = {"status": status, "kernels": names, "tiles": tiles_of(d)}
                data[f"{key}_{kind}"] = d[:32, :32].copy()
    # binary64 by fixed point
    result["pointer"] = call("cublasSetFixedPointEmulationMantissaBitCountPointer", c.c_void_p(bits_used.data_ptr()))
    for strategy in [0, 1, 2]:
        for mode, compute in [(0, 70), (8, 70), (0, 79), (8, 79)]:
            key = f"f64 strategy {strategy} mode {mode} compute {compute}"
            one = result.setdefault(key, {"set": [call("cublasSetEmulationStrategy", strategy),
                                                  lib.cublasSetMathMode(handle, mode)]})
            for kind in ["close"]:
                a, b = operands64(kind, 64, 64, 64)
                status, names, d, used = gemm(a, b, compute, 1)
                one[kind] = {"status": status, "kernels": names, "tiles": tiles_of(d), "bits": used}
                data[f"{key}_{kind}"] = d[:16, :16].copy()
    call("cublasSetEmulationStrategy", 2)
    lib.cublasSetMathMode(handle, 8)
    for control, most in [(1, 7), (1, 15), (1, 23), (1, 31), (1, 39), (1, 47), (1, 55), (1, 63), (1, 79), (0, 79), (0, 55)]:
        key = f"f64 control {control} bits {most}"
        one = result.setdefault(key, {"set": [call("cublasSetFixedPointEmulationMantissaControl", control),
                                              call("cublasSetFixedPointEmulationMaxMantissaBitCount", most),
                                              call("cublasSetEmulationSpecialValuesSupport", 0xFFFF)]})
        for kind in KINDS64:
            for m, n, k in [(48, 48, 64), (512, 512, 256)]:
                a, b = operands64(kind, m, n, k)
                status, names, d, used = gemm(a, b, 79, 1)
                one[f"{kind} {m}x{n}x{k}"] = {"status": status, "kernels": names, "tiles": tiles_of(d), "bits": used}
                if m == 48:
                    data[f"{key}_{kind}"] = d


def child(part, folder):
    result, data = {}, {}
    start = time.time()
    try:
        if part in PRECISIONS:
            part_triton(part, result, data)
        elif part == "torch":
            part_torch(result, data)
        else:
            part_cublas(result, data)
    except Exception:  # noqa: BLE001
        result["stopped"] = traceback.format_exc()[-2000:]
    result["seconds"] = time.time() - start
    with open(f"{folder}/{part}.json", "w", encoding="ascii") as file:
        json.dump(result, file)
    np.savez_compressed(f"{folder}/{part}.npz", **data)


KERNEL = '''
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, d_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, IP: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * K + rk[None, :]
    b_ptrs = b_ptr + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=(rm[:, None] < M) & (rk[None, :] < K - k * BK), other=0.0)
        b = tl.load(b_ptrs, mask=(rk[:, None] < K - k * BK) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision=IP)
        a_ptrs += BK
        b_ptrs += BK * N
    tl.store(d_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))
'''


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/slices_kernel.py", "w", encoding="ascii") as file:
            file.write(KERNEL)
        env = {**os.environ, "SLICES_KERNEL": folder, "TRITON_CACHE_DIR": f"{folder}/cache"}
        parts = [*PRECISIONS, "torch", "cublas"]
        running = [(p, subprocess.Popen([sys.executable, os.path.abspath(__file__), "--part", p, folder], env=env))
                   for p in parts]
        limit = time.time() + 150
        result, data = {}, {}
        for part, process in running:
            try:
                code = process.wait(max(1, limit - time.time()))
            except subprocess.TimeoutExpired:
                process.kill()
                code = "killed"
            try:
                with open(f"{folder}/{part}.json", encoding="ascii") as file:
                    result[part] = json.load(file)
                with np.load(f"{folder}/{part}.npz") as arrays:
                    data.update({f"{part}/{key}": arrays[key] for key in arrays.files})
            except Exception as error:  # noqa: BLE001
                result[part] = {"exit": str(code), "error": str(error)}
        os.makedirs(OUT, exist_ok=True)
        with open(f"{OUT}/result.json", "w", encoding="ascii") as file:
            json.dump(result, file)
        np.savez_compressed(f"{OUT}/data.npz", **data)
        for part in parts:
            print(part, result[part].get("seconds"), result[part].get("stopped", "")[-300:], result[part].get("error", ""))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--part":
        child(sys.argv[2], sys.argv[3])
    else:
        main()
