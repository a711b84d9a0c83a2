#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;
static __device__ __forceinline__ i32 tack_i32_of_f32(f32 x) { return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x <= (-0x1.0p+31f) ? (-2147483647 - 1) : (i32)x; }
static __device__ __forceinline__ i64 tack_i64_of_f32(f32 x) { return x != x ? 0 : x >= 0x1.0p+63f ? 9223372036854775807LL : x <= (-0x1.0p+63f) ? (-9223372036854775807LL - 1) : (i64)x; }

typedef struct { i64 t_count; } casts_pack;

#line 2 "casts"
extern "C" __global__ void __launch_bounds__(256) casts(const f32* __restrict__ v_x, const u8* __restrict__ v_n, i64* __restrict__ v_out, const casts_pack* __restrict__ t_pack)
#line 2 "casts"
{
    const i64 t_count = t_pack->t_count;
#line 3 "casts"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
    i32 v_k;
#line 3 "casts"
    i64 v_i = (i64)t_lane;
    v_k = tack_i32_of_f32(v_x[v_i]);
    v_out[v_i] = ((v_n[v_i] != 0) && (v_k > 0)) ? (i64)(u8)((u32)(u8)v_k + (u32)(u8)(v_x[v_i] < 0.5f)) : tack_i64_of_f32(-v_x[v_i]);
#line 2 "casts"
}

#line 2 "casts"
extern "C" __global__ void __launch_bounds__(256) casts_narrow(const f32* __restrict__ v_x, const u8* __restrict__ v_n, i64* __restrict__ v_out, const casts_pack* __restrict__ t_pack)
#line 2 "casts"
{
    const i64 t_count = t_pack->t_count;
#line 3 "casts"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
    i32 v_k;
#line 3 "casts"
    i64 v_i = (i64)(i32)t_lane;
    v_k = tack_i32_of_f32(v_x[(i32)(u32)v_i]);
    v_out[(i32)(u32)v_i] = ((v_n[(i32)(u32)v_i] != 0) && (v_k > 0)) ? (i64)(u8)((u32)(u8)v_k + (u32)(u8)(v_x[(i32)(u32)v_i] < 0.5f)) : tack_i64_of_f32(-v_x[(i32)(u32)v_i]);
#line 2 "casts"
}
