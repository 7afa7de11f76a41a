// Worked examples: what each shows is said in docs/numerics.md and docs/numerics-architectures.md.
const FP8_WGMMA = "wgmma.m64nNk32.f32.e4m3.e4m3", F16_MMA = "mma.m16n8k16.f32.f16.f16.f32";
const ONES = Array(16).fill("1").join(), NARROW = [6, -4, 3, ...Array(13).fill(0), 6, 0.5].join();
const PRESETS = [
  { name: "FP8 keeps 14 bits", gpu: "hopper", inst: FP8_WGMMA, a: "448,0,0,0,0,0.140625", b: "1,0,0,0,0,0.375",
    vs: "hopper", vinst: "mma.m16n8k32.f32.e4m3.e4m3.f32",
    says: "wgmma of FP8 keeps 13 bits below the leading one: 0.0527 arrives as 0.03125. mma.sync on the same H200 " +
      "widens FP8 to FP16 and keeps 25." },
  { name: "One sum, three answers", gpu: "volta", vs: "hopper", inst: "wmma.m16n16k16.f32.f16.f16.f32",
    a: "1024,-1024,0.21875", b: "1024,1024,1",
    says: "Volta keeps F = 23 bits, Turing to Ada 24, Hopper and Blackwell 25: 0.125, 0.1875 and 0.21875. Li et al. " +
      "(FTTN) report 0 on V100 and A100 and 191.875 on H100 for one product of 8192 numbers." },
  { name: "Cancellation", gpu: "hopper", vs: "ampere", inst: F16_MMA,
    a: "1024,1024,2^-3,0,0,0,0,0,-1024,-1024", b: "1024,1024,1,0,0,0,0,0,1024,1024",
    says: "Hopper sums 16 products in one step, and 0.125 survives. Ampere takes two steps of 8: the first rounds " +
      "0.125 away before the large products cancel." },
  { name: "Swamping", gpu: "hopper", vs: "ampere", inst: F16_MMA, a: ONES, b: ONES, c: "2^26",
    says: "A large c pushes every product below the last kept bit: 16 ones add nothing at all." },
  { name: "Zeros and the floor", gpu: "hopper", vs: "ampere", inst: "mma.m16n8k16.f32.bf16.bf16.f32",
    a: "0,2^-75,2^-75,-2^-79", b: "max,2^-70,2^-71,2^-78",
    says: "A zero takes no part in the largest exponent, whatever it meets. With tiny products E stops at a floor: " +
      "-133 on Hopper, -132 on Ampere, and D shows which." },
  { name: "Infinity times zero", gpu: "hopper", vs: "", inst: F16_MMA, a: "inf,1", b: "0,1",
    says: "Any NaN, infinity times zero, or infinities of both signs give the one NaN 7FFFFFFF." },
  { name: "A NaN that is infinity", gpu: "hopper", vs: "", inst: "mma.m16n8k8.f32.tf32.tf32.f32",
    a: "0x7f800001", b: "1",
    says: "TF32 operands are 32-bit registers whose 13 low bits are not read: this NaN has its payload there, and " +
      "is read as infinity." },
  { name: "Minus zero", gpu: "hopper", vs: "", inst: F16_MMA, a: "-0,-1", b: "1,0", c: "-0",
    says: "A result of zero is +0, also when every input is -0." },
  { name: "FP64: a chain", gpu: "hopper", vs: "", inst: "mma.m8n8k4.f64.f64.f64.f64",
    a: "1,2^-30,2^-53,1", b: "1,2^-30,1,-1",
    says: "FP64 rounds after every product: a chain of fused multiply-adds in ascending k." },
  { name: "Integers wrap", gpu: "hopper", inst: "mma.m16n8k32.s32.s8.s8.s32", vs: "hopper",
    vinst: "mma.m16n8k32.satfinite.s32.s8.s8.s32", a: "127,127", b: "127,-1", c: "max",
    says: "Integer sums are exact modulo 2^32; .satfinite clamps them." },
  { name: "NVFP4 scales", gpu: "blackwell", vs: "",
    inst: "tcgen05.mMnNk64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3",
    a: NARROW, b: NARROW, c: "2^-20", sa: "448,2^-9", sb: "448,2^-9",
    says: "Blocks of 16 four-bit numbers share a scale. A group is summed exactly; its scales say where it is cut." },
];
