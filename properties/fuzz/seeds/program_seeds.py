"""Seeds of programs: PTX of tcgen05, disassemblies."""
from seed_file import seed

FILLS = """//! shared a 0x0000400800800100 f16 128x16 = random 1
//! shared b 0x0000400800400300 f16 16x64 = iota
//! global 0 f32 128x64
"""
MMA = "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd1, %rd2, %r4, %p3;"
LOAD = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%r6];"
KERNEL = f"""{FILLS}.version 8.7
.target sm_100a
.address_size 64
.visible .entry kernel()
{{
.reg .b32 %r<40>;
.reg .b64 %rd<8>;
.reg .pred %p<8>;
.shared .align 1024 .b8 smem[65536];
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 5;
setp.eq.u32 %p1, %r2, 0;
setp.eq.u32 %p2, %r1, 0;
setp.ne.u32 %p3, %r1, %r1;
@%p2 mbarrier.init.shared::cta.b64 [smem+8], 1;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 128;
bar.sync 0;
ld.shared.b32 %r3, [smem];
shl.b32 %r5, %r2, 21;
add.u32 %r6, %r3, %r5;
mov.b64 %rd1, 0x0000400800800100;
mov.b64 %rd2, 0x0000400800400300;
mov.b64 %rd3, 0x0000400800800800;
mov.b32 %r4, 0x08100010;
{MMA}
@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [smem+8];
wait:
mbarrier.try_wait.parity.shared::cta.b64 %p4, [smem+8], 0;
@!%p4 bra wait;
tcgen05.fence::after_thread_sync;
{LOAD}
tcgen05.wait::ld.sync.aligned;
mul.wide.u32 %rd4, %r1, 256;
st.global.v2.b32 [%rd4+0], {{%r20, %r21}};
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 128;
@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ret;
}}
"""
SCALES = "".join(f"@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r3+{at}], %rd3;\n" for at in (80, 84))
SCALED = SCALES + ("@%p2 tcgen05.mma.cta_group::1.kind::{} [%r3], %rd1, %rd2, %r4, [%r3+80], [%r3+84], %p3;")


def kernel(old="", new="", text=KERNEL):
    assert old in text, old
    return text.replace(old, new, 1) if old else text


def with_mma(mma, descriptor):
    return kernel("0x08100010", descriptor, kernel(MMA, mma))


programs = {
    "good": kernel(),
    "good_file": kernel("= iota", "= file B.npy"),
    "good_scaled": with_mma(SCALED.format("mxf8f6f4.block_scale.scale_vec::1X"), "0x08900480"),
    "good_fours": with_mma(SCALED.format("mxf4nvf4.block_scale.scale_vec::2X"), "0x08900480"),
    "sparse": with_mma("@%p2 tcgen05.mma.sp.cta_group::1.kind::f16 [%r3], %rd1, %rd2, [%r3+100], %r4, %p3;", "0x08100014"),
    "good_stationary": with_mma(MMA.replace("mma.", "mma.ws."), "0x08100010"),
    "good_shift": kernel(MMA, MMA + "\n@%p2 tcgen05.shift.cta_group::1.down [%r3];"),
    "good_store": kernel(LOAD, LOAD.replace("tcgen05.ld", "tcgen05.st").replace("{%r20, %r21}, [%r6]", "[%r6+64], {%r1, %r2}")),
    "pair": kernel("cta_group::1.kind", "cta_group::2.kind"),
    "no_wait": kernel("tcgen05.wait::ld.sync.aligned;\n"),
    "forever": kernel("@!%p4 bra wait;", "bra wait;"),
    "no_label": kernel("bra wait", "bra there"),
    "undeclared": kernel("%rd<8>", "%rd<2>"),
    "registers": kernel("%r<40>", "%r<4000000000>"),
    "braces": kernel("{%r20, %r21}", "{%r20, %r21"),
    "address": kernel("[%r6]", "[%r6+99999999999999999999]"),
    "columns": kernel("[smem], 128", "[smem], 129"),
    "shared": kernel("smem[65536]", "smem[99999999999]"),
    "fill_size": kernel("128x16", "4000000000x4000000000"),
    "fill_format": kernel("f16 128x16", "f17 128x16"),
    "fill_source": kernel("random 1", "random x"),
    "fill_place": kernel("0x0000400800800100", "0x00004008008001000000"),
    "idesc": kernel("0x08100010", "0xffffffff"),
    "two_kernels": KERNEL + KERNEL.replace("kernel()", "other()"),
    "fragment": "mov.u32 %r1, 5;\nadd.u32 %r2, %r1, -1;\nmul.lo.u32 %r3, %r2, %r1;\nret;\n",
    "comment": "/* never closed\n" + KERNEL,
    "blanks": kernel(";", " /* a */ /**/\t\n\n// see /* b\n;  "),
    "empty": "",
    "no_ptx": "\x00\xff\n;;{}",
}
for name, text in programs.items():
    seed("ptx", name, text)


def control(stall=1, write=7, read=7, waits=0):
    return (stall << 41) | (1 << 45) | (write << 46) | (read << 49) | (waits << 52)


def listing(lines, target="sm_90a", function="kernel"):
    text = f"code for {target}\nFunction : {function}\n" if target else ""
    for at, (instruction, word) in enumerate(lines):
        text += f"/*{16 * at:04x}*/ {instruction} ; /* 0x{at:016x} */\n/* 0x{word:016x} */\n"
    return text


LOOP = [
    ("CS2R R22, SR_CLOCKLO", control(14, write=0)),
    ("IMAD.MOV.U32 R2, RZ, RZ, RZ", control(4)),
    ("HMMA.16816.F32 R4, R8, R12, R4", control(2, waits=1)),
    ("LDS.128 R8, [R3+UR4]", control(2, write=1)),
    ("IADD3 R2, R2, 0x4, RZ", control(4)),
    ("ISETP.GE.AND P0, PT, R2, R7, PT", control(13)),
    ("@!P0 BRA 0x20", control(5, waits=2)),
    ("CS2R R24, SR_CLOCKLO", control(14)),
    ("EXIT", control(5)),
]


def changed(at, instruction, word=None):
    lines = list(LOOP)
    lines[at] = (instruction, lines[at][1] if word is None else word)
    return listing(lines)


listings = {
    "good": listing(LOOP),
    "good_volta": listing(LOOP, "sm_70"),
    "good_sparse": changed(2, "HMMA.SP.16832.F32 R4, R8, R12, R4, R16, 0x0"),
    "good_integer": changed(2, "IMMA.16832.S8.S8.SAT R4, R8.ROW, R12.COL, R4"),
    "good_wgmma": changed(2, "HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0"),
    "good_call": changed(4, "CALL.REL.NOINC 0x80"),
    "shape": changed(2, "HMMA.99999.F32 R4, R8, R12, R4"),
    "registers": changed(2, "HMMA.16816.F32 R400000, R8, R-12, R4"),
    "barrier": changed(3, "LDS.128 R8, [R3+UR4]", control(2, write=1, waits=63)),
    "far": changed(6, "@!P0 BRA 0xffffffffffffffff"),
    "itself": changed(6, "@!P0 BRA 0x60"),
    "no_loop": listing(LOOP[:2]),
    "counter": changed(4, "IADD3 R2, R2, 0x7fffffff, RZ"),
    "no_upper": listing(LOOP)[:-30],
    "no_function": listing(LOOP, ""),
    "no_opcode": changed(1, "@P0"),
    "other_target": listing(LOOP, "sm_999z"),
    "long_name": listing(LOOP, function="x" * 5000),
    "empty": "",
}
for name, text in listings.items():
    seed("sass", name, text)
