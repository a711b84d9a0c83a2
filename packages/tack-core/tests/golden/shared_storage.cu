typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

extern "C" __global__ void __launch_bounds__(256) shared_storage(f32* __restrict__ v_double, const f32* __restrict__ v_restrict, i32 v_gruf6udfe, i64 t_count)
{
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x;
    if (t_lane >= (u64)t_count) return;
    i64 v_int = (i64)(1ULL + t_lane);
    v_double[v_int] = v_restrict[v_int] + v_restrict[(i64)((u64)v_int - 1ULL)];
}
