#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;
static __device__ __forceinline__ f32 tack_min_f32(f32 a, f32 b) { if (a != a) return b; if (a == b) return copysignf(1.0f, a) < 0.0f ? a : b; return b < a ? b : a; }
static __device__ __forceinline__ f32 tack_max_f32(f32 a, f32 b) { if (a != a) return b; if (a == b) return copysignf(1.0f, a) < 0.0f ? b : a; return b > a ? b : a; }
static __device__ __forceinline__ f32 tack_powi3_f32(f32 x) { return x * x * x; }

typedef struct { i64 t_count; } extremes_pack;

#line 2 "extremes"
extern "C" __global__ void __launch_bounds__(256) extremes(const f32* __restrict__ v_x, f32* __restrict__ v_out, const extremes_pack* __restrict__ t_pack)
#line 2 "extremes"
{
    const i64 t_count = t_pack->t_count;
#line 3 "extremes"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
#line 3 "extremes"
    i64 v_i = (i64)t_lane;
    v_out[v_i] = ((((tack_min_f32(v_x[v_i], 1.0f) + tack_max_f32(tack_max_f32(v_x[v_i], fabsf(v_x[v_i])), 0.5f)) + rintf(v_x[v_i])) + tack_powi3_f32(v_x[v_i])) + (1.0f / v_x[v_i])) + sqrtf(v_x[v_i]);
#line 2 "extremes"
}

#line 2 "extremes"
extern "C" __global__ void __launch_bounds__(256) extremes_narrow(const f32* __restrict__ v_x, f32* __restrict__ v_out, const extremes_pack* __restrict__ t_pack)
#line 2 "extremes"
{
    const i64 t_count = t_pack->t_count;
#line 3 "extremes"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
#line 3 "extremes"
    i64 v_i = (i64)(i32)t_lane;
    v_out[(i32)(u32)v_i] = ((((tack_min_f32(v_x[(i32)(u32)v_i], 1.0f) + tack_max_f32(tack_max_f32(v_x[(i32)(u32)v_i], fabsf(v_x[(i32)(u32)v_i])), 0.5f)) + rintf(v_x[(i32)(u32)v_i])) + tack_powi3_f32(v_x[(i32)(u32)v_i])) + (1.0f / v_x[(i32)(u32)v_i])) + sqrtf(v_x[(i32)(u32)v_i]);
#line 2 "extremes"
}
