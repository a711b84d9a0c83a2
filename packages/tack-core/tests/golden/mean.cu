#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

typedef struct { i64 t_count; } mean_pack;

#line 2 "mean"
extern "C" __global__ void __launch_bounds__(256) mean(const f32* __restrict__ v_x, f32* __restrict__ v_out, const mean_pack* __restrict__ t_pack)
#line 2 "mean"
{
#line 4 "mean"
    const i64 t_count = t_pack->t_count;
#line 4 "mean"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
#line 4 "mean"
    i64 v_i = (i64)t_lane;
    v_out[v_i] = v_x[v_i] * v_x[v_i];
#line 2 "mean"
}

#line 2 "mean"
extern "C" __global__ void __launch_bounds__(256) mean_narrow(const f32* __restrict__ v_x, f32* __restrict__ v_out, const mean_pack* __restrict__ t_pack)
#line 2 "mean"
{
#line 4 "mean"
    const i64 t_count = t_pack->t_count;
#line 4 "mean"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
#line 4 "mean"
    i64 v_i = (i64)(i32)t_lane;
    v_out[(i32)(u32)v_i] = v_x[(i32)(u32)v_i] * v_x[(i32)(u32)v_i];
#line 2 "mean"
}

#line 2 "mean"
extern "C" __global__ void __launch_bounds__(256) mean_result(const f32* __restrict__ v_x, f32* __restrict__ v_out, const mean_pack* __restrict__ t_pack, f32* t_result)
#line 2 "mean"
{
#line 4 "mean"
    if ((u64)blockIdx.x * 256 + threadIdx.x != 0) return;
    f32 v_total;
    v_total = 0.0f;
#line 8 "mean"
    v_total = v_out[0LL] + v_out[7LL];
    t_result[0] = v_total / 8.0f;
#line 2 "mean"
}
