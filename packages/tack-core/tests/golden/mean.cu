typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

extern "C" __global__ void __launch_bounds__(256) mean(const f32* __restrict__ v_x, f32* __restrict__ v_out, i64 t_count)
{
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x;
    if (t_lane >= (u64)t_count) return;
    i64 v_n;
    f32 v_total;
    i64 v_i = (i64)t_lane;
    v_out[v_i] = v_x[v_i] * v_x[v_i];
}

extern "C" __global__ void __launch_bounds__(256) mean_result(const f32* __restrict__ v_x, f32* __restrict__ v_out, f32* t_result)
{
    if ((u64)blockIdx.x * 256 + threadIdx.x != 0) return;
    i64 v_n;
    f32 v_total;
    v_total = 0.0f;
    v_total = v_out[0LL] + v_out[7LL];
    t_result[0] = v_total / 8.0f;
}
