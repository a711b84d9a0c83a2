typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

extern "C" __global__ void __launch_bounds__(256) saxpy(const f32* __restrict__ v_x, f32* __restrict__ v_y, f32 v_a, i64 t_count)
{
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x;
    if (t_lane >= (u64)t_count) return;
    i64 v_i = (i64)t_lane;
    v_y[v_i] = fmaf(v_a, v_x[v_i], v_y[v_i]);
}
