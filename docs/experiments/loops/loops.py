#!/usr/bin/env python3
"""Random loops for the timing model: loops.py write FOLDER, loops.py compare FOLDER BENCH [--unseal].

write    FOLDER/loops_N.cu, some loops each, to be compiled in this folder:
           nvcc -O3 -std=c++20 -gencode arch=compute_90a,code=sm_90a -I. FOLDER/loops_N.cu -o FOLDER/loops_N
         Then FOLDER/loops_N > FOLDER/loops_N.csv on a GPU, and cuobjdump -sass FOLDER/loops_N > FOLDER/loops_N.sass.
compare  each measured loop beside what `BENCH time sass` says of its SASS. Loops of odd numbers are sealed: no rule
         and no number may be chosen by them, so they are left out until --unseal.
Exit codes: 0 all good, 1 a loop that the model cannot read, 2 bad usage.
"""

import csv
import pathlib
import random
import re
import subprocess
import sys

LOOPS, PARTS, SEED = 200, 10, 20261129
CHAINS = 4  # registers of each class, so that results are waited for after as many instructions


def mma(shape, types, a, b, d):
    """An mma whose A and B are the kernel's, onto chain {c}. d: registers of D."""
    outs = ", ".join(f"%{i}" for i in range(d))
    ins_a = ", ".join(f"%{d + i}" for i in range(a))
    ins_b = ", ".join(f"%{d + a + i}" for i in range(b))
    text = f"mma.sync.aligned.{shape}.row.col.{types} {{{outs}}}, {{{ins_a}}}, {{{ins_b}}}, {{{outs}}};"
    outputs = ", ".join(f'"+r"(m[{{c}}][{i}])' for i in range(d))
    inputs = ", ".join([f'"r"(a[{i}])' for i in range(a)] + [f'"r"(b[{i}])' for i in range(b)])
    return f'asm volatile("{text}" : {outputs} : {inputs});'


def plain(text, register="x[{c}]", constraint="r", more=""):
    """One instruction that reads and writes a register of its chain."""
    return f'asm volatile("{text}" : "+{constraint}"({register}){more});'


# A class of instructions and its line. {c} is the chain.
CLASSES = {
    "mma_f16_f32": mma("m16n8k16", "f32.f16.f16.f32", 4, 2, 4),
    "mma_f16_f16": mma("m16n8k8", "f16.f16.f16.f16", 2, 1, 2),
    "mma_tf32": mma("m16n8k8", "f32.tf32.tf32.f32", 4, 2, 4),
    "mma_s8": mma("m16n8k32", "s32.s8.s8.s32", 4, 2, 4),
    "mma_e4m3": mma("m16n8k32", "f32.e4m3.e4m3.f32", 4, 2, 4),
    "ffma": plain("fma.rn.f32 %0, %0, %1, %0;", "f[{c}]", "f", ' : "f"(g)'),
    "fadd": plain("add.rn.f32 %0, %0, %1;", "f[{c}]", "f", ' : "f"(g)'),
    "hfma2": plain("fma.rn.f16x2 %0, %0, %1, %0;", more=' : "r"(y)'),
    "imad": plain("mad.lo.s32 %0, %0, %1, %0;", more=' : "r"(y)'),
    "iadd": plain("add.s32 %0, %0, %1;", more=' : "r"(y)'),
    "lop3": plain("lop3.b32 %0, %0, %1, %0, 0x96;", more=' : "r"(y)'),
    "shf": plain("shf.l.wrap.b32 %0, %0, %1, 3;", more=' : "r"(y)'),
    "mufu": plain("ex2.approx.ftz.f32 %0, %0;", "f[{c}]", "f"),
    "popc": plain("popc.b32 %0, %0;"),
    "convert": plain("{.reg .f32 t; mov.b32 t, %0; cvt.rn.f16x2.f32 %0, t, t;}"),
    "shfl": plain("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;"),
    # What is loaded is added up: ptxas takes out loads that nothing reads.
    "load": plain("{.reg .b32 t; ld.shared.u32 t, [%1]; add.s32 %0, %0, t;}", more=' : "r"(at + 128 * {c})'),
    "load_wide": plain("{.reg .b32 t, u, v, w; ld.shared.v4.u32 {t, u, v, w}, [%1]; lop3.b32 t, t, u, v, 0x96; "
                       "lop3.b32 %0, %0, t, w, 0x96;}", more=' : "r"(wide + 512 * {c})'),
    "store": 'asm volatile("st.shared.u32 [%0], %1;" :: "r"(at + 128 * {c}), "r"(x[{c}]));',
    "ldmatrix": plain("{.reg .b32 t, u, v, w; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {t, u, v, w}, [%1]; "
                      "lop3.b32 t, t, u, v, 0x96; lop3.b32 %0, %0, t, w, 0x96;}", more=' : "r"(matrix)'),
    "barrier": "__syncthreads();",
    "branch": 'asm volatile("{.reg .pred p; setp.eq.u32 p, %0, 0x7fffffff; @p bra.uni skip{n}; add.s32 %0, %0, %1; '
              'skip{n}: }" : "+r"(x[{c}]) : "r"(y));',
}

KERNEL = """
__global__ void {name}(loops::Clocks* clocks, std::uint32_t* sink, int trips) {{
  __shared__ std::uint32_t shared[4096];
  for (unsigned i = threadIdx.x; i < 4096; i += blockDim.x) shared[i] = sink[i];
  std::uint32_t a[4], b[2], x[{chains}], m[{chains}][4], y = sink[threadIdx.x];
  float f[{chains}], g = __uint_as_float(sink[threadIdx.x + 32]);
  for (int i = 0; i < 4; ++i) a[i] = sink[threadIdx.x + i];
  for (int i = 0; i < 2; ++i) b[i] = sink[threadIdx.x + i + 4];
  for (int c = 0; c < {chains}; ++c) {{
    x[c] = sink[threadIdx.x + c + 64];
    f[c] = __uint_as_float(sink[threadIdx.x + c + 96]);
    for (int i = 0; i < 4; ++i) m[c][i] = sink[threadIdx.x + 4 * c + i];
  }}
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const std::uint32_t at = base + 4 * (threadIdx.x % 32), wide = base + 16 * (threadIdx.x % 32),
                      matrix = base + 16 * (threadIdx.x % 32);
  __syncthreads();
  const long long begin = clock64();
#pragma unroll 1
  for (int trip = 0; trip < trips; ++trip) {{
{body}
  }}
  const long long end = clock64();
  loops::store(clocks, begin, end);
  std::uint32_t all = a[0] + a[1] + a[2] + a[3] + b[0] + b[1] + y + at + wide + matrix + __float_as_uint(g);
  for (int c = 0; c < {chains}; ++c) {{
    all += x[c] + __float_as_uint(f[c]);
    for (int i = 0; i < 4; ++i) all += m[c][i];
  }}
  if (all == 0x12345678) sink[threadIdx.x] = all;
}}
"""


def loop_of(number):
    """A kernel with 1 to 6 classes in a random order, 4 to 64 instructions per trip."""
    chance = random.Random(SEED * 1000 + number)
    computing = [name for name in CLASSES if name not in ("barrier", "branch")]
    classes = chance.sample(computing, chance.randint(1, 6))
    chains = chance.randint(1, CHAINS)
    lines = [chance.choice(classes) for _ in range(chance.choice((4, 8, 12, 16, 24, 32, 48, 64)))]
    for extra, share in (("barrier", 0.3), ("branch", 0.3)):
        if chance.random() < share:
            for _ in range(chance.randint(1, 3)):
                lines.insert(chance.randint(0, len(lines)), extra)
    used = dict.fromkeys(lines, 0)
    body = []
    for at, name in enumerate(lines):
        body.append("    " + CLASSES[name].replace("{c}", str(used[name] % chains)).replace("{n}", f"_{number}_{at}"))
        used[name] += 1
    return KERNEL.format(name=name_of(number), chains=CHAINS, body="\n".join(body))


def name_of(number):
    return f"loop_{number:03}"


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    each = LOOPS // PARTS
    for part in range(PARTS):
        numbers = range(part * each, (part + 1) * each)
        rows = ", ".join(f'{{"{name_of(n)}", {name_of(n)}}}' for n in numbers)
        text = '#include "loops.cuh"\n' + "".join(loop_of(n) for n in numbers)
        (folder / f"loops_{part}.cu").write_text(
            f"{text}\nconstexpr loops::Loop kLoops[] = {{{rows}}};\nint main() {{ return loops::run(kLoops); }}\n")


def compare(folder, bench, unseal):
    offs, unread = [], 0
    print("loop,warps,measured,model,off")
    for file in sorted(folder.glob("loops_*.csv")):
        for row in csv.DictReader(file.open()):
            if int(row["loop"][5:]) % 2 and not unseal:
                continue
            done = subprocess.run([bench, "time", "sass", str(file.with_suffix(".sass")), "--kernel", row["loop"],
                                   "--warps", row["warps"]], capture_output=True, text=True)
            found = re.search(r"^([\d.]+) cycles per trip", done.stdout, re.M)
            if not found:
                unread += 1
                print(f"{row['loop']}: {done.stderr.strip()}", file=sys.stderr)
                continue
            measured, model = float(row["cycles"]), float(found[1])
            offs.append(model / measured - 1)
            print(f"{row['loop']},{row['warps']},{measured},{model},{offs[-1]:+.3f}")
    if offs:
        size = [abs(off) for off in offs]
        print(f"# {len(size)} points: mean error {sum(size) / len(size):.1%}, within 5% "
              f"{sum(one <= 0.05 for one in size) / len(size):.1%}, worst {max(offs, key=abs):+.1%}")
    return 1 if unread or not offs else 0


def main():
    words = [word for word in sys.argv[1:] if word != "--unseal"]
    if words[:1] == ["write"] and len(words) == 2:
        write(pathlib.Path(words[1]))
        return 0
    if words[:1] == ["compare"] and len(words) == 3:
        return compare(pathlib.Path(words[1]), words[2], "--unseal" in sys.argv)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
