typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

extern "C" __global__ void __launch_bounds__(256) window(const f32* __restrict__ v_x, f32* __restrict__ v_out, i32 v_first, i32 v_last, i32 v_step, i64 t_count, i64 t_start_0, i64 t_step_0)
{
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x;
    if (t_lane >= (u64)t_count) return;
    i32 v_n;
    f32 v_scale;
    i64 v_i = (i64)((u64)t_start_0 + t_lane * (u64)t_step_0);
    v_scale = v_x[0LL];
    v_out[v_i] = v_x[v_i] * v_scale;
}
