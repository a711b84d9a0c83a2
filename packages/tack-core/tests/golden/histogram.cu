#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;
static __device__ __forceinline__ i64 tack_i64_of_f32(f32 x) { return x != x ? 0 : x >= 0x1.0p+63f ? 9223372036854775807LL : x <= (-0x1.0p+63f) ? (-9223372036854775807LL - 1) : (i64)x; }
static __device__ __forceinline__ u32 tack_atomic_add_u32(u32* p, u32 v) { return atomicAdd(p, v); }
static __device__ __forceinline__ f32 tack_min_f32(f32 a, f32 b) { if (a != a) return b; if (a == b) return copysignf(1.0f, a) < 0.0f ? a : b; return b < a ? b : a; }
static __device__ __forceinline__ f32 tack_atomic_min_f32(f32* p, f32 v) { u32 seen = (*(volatile u32*)&*((u32*)p)); for (;;) { f32 old = __uint_as_float(seen); u32 next = __float_as_uint((tack_min_f32(old, v))); if (next == seen) return old; u32 now = atomicCAS((u32*)p, seen, next); if (now == seen) return old; seen = now; } }

typedef struct { i64 t_count; } histogram_pack;

#line 2 "histogram"
extern "C" __global__ void __launch_bounds__(256) histogram(const f32* __restrict__ v_x, u32* v_bins, f32* v_least, const histogram_pack* __restrict__ t_pack)
#line 2 "histogram"
{
    const i64 t_count = t_pack->t_count;
#line 3 "histogram"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
    u32 v_atomic_add__;
#line 3 "histogram"
    i64 v_i = (i64)t_lane;
    v_atomic_add__ = tack_atomic_add_u32(&v_bins[tack_i64_of_f32(v_x[v_i] + 3.0f)], 1u);
    if (v_atomic_add__ == 0u) {
        tack_atomic_min_f32(&v_least[0LL], v_x[v_i]);
    }
#line 2 "histogram"
}

#line 2 "histogram"
extern "C" __global__ void __launch_bounds__(256) histogram_narrow(const f32* __restrict__ v_x, u32* v_bins, f32* v_least, const histogram_pack* __restrict__ t_pack)
#line 2 "histogram"
{
    const i64 t_count = t_pack->t_count;
#line 3 "histogram"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
    u32 v_atomic_add__;
#line 3 "histogram"
    i64 v_i = (i64)(i32)t_lane;
    v_atomic_add__ = tack_atomic_add_u32(&v_bins[(i32)(u32)tack_i64_of_f32(v_x[(i32)(u32)v_i] + 3.0f)], 1u);
    if (v_atomic_add__ == 0u) {
        tack_atomic_min_f32(&v_least[0LL], v_x[(i32)(u32)v_i]);
    }
#line 2 "histogram"
}
