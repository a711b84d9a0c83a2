#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;
static __device__ __forceinline__ i64 tack_max_i64(i64 a, i64 b) { return a > b ? a : b; }

typedef struct { i64 t_count; } ring_pack;

#line 2 "ring"
extern "C" __global__ void __launch_bounds__(256) ring(const f32* __restrict__ v_x, f32* __restrict__ v_out, const ring_pack* __restrict__ t_pack)
#line 2 "ring"
{
#line 4 "ring"
    const i64 t_count = t_pack->t_count;
#line 4 "ring"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
    f32 v_last[4];
    f32 v_total;
#line 4 "ring"
    i64 v_i = (i64)t_lane;
    for (i64 v_k = 0LL; v_k < 4LL; v_k++) {
        v_last[v_k] = v_x[tack_max_i64((i64)((u64)v_i - (u64)v_k), 0LL)];
    }
#line 7 "ring"
    v_total = 0.0f;
    for (i64 v_k_1 = 0LL; v_k_1 < 4LL; v_k_1++) {
        v_total = v_total + v_last[(i64)(3ULL - (u64)v_k_1)];
    }
#line 10 "ring"
    v_out[v_i] = v_total;
#line 2 "ring"
}

#line 2 "ring"
extern "C" __global__ void __launch_bounds__(256) ring_narrow(const f32* __restrict__ v_x, f32* __restrict__ v_out, const ring_pack* __restrict__ t_pack)
#line 2 "ring"
{
#line 4 "ring"
    const i64 t_count = t_pack->t_count;
#line 4 "ring"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
    f32 v_last[4];
    f32 v_total;
#line 4 "ring"
    i64 v_i = (i64)(i32)t_lane;
    for (i64 v_k = 0LL; v_k < 4LL; v_k++) {
        v_last[(i32)(u32)v_k] = v_x[(i32)(u32)tack_max_i64((i64)((u64)v_i - (u64)v_k), 0LL)];
    }
#line 7 "ring"
    v_total = 0.0f;
    for (i64 v_k_1 = 0LL; v_k_1 < 4LL; v_k_1++) {
        v_total = v_total + v_last[(i64)(i32)(0u - (u32)v_k_1) + 3LL];
    }
#line 10 "ring"
    v_out[(i32)(u32)v_i] = v_total;
#line 2 "ring"
}
