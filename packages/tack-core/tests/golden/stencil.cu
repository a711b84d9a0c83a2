typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

extern "C" __global__ void __launch_bounds__(256) stencil(const f32* __restrict__ v_u, f32* __restrict__ v_out, f32 v_k, i64 t_count)
{
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x;
    if (t_lane >= (u64)t_count) return;
    u64 t_0;
    t_0 = t_lane;
    i64 v_j = (i64)(1ULL + (t_0 % 3ULL));
    t_0 = t_0 / 3ULL;
    i64 v_i = (i64)(1ULL + t_0);
    v_out[(i64)(((u64)v_i * 5ULL) + (u64)v_j)] = fmaf(v_k, fmaf(-2.0f, v_u[(i64)(((u64)v_i * 5ULL) + (u64)v_j)], v_u[(i64)((((u64)v_i - 1ULL) * 5ULL) + (u64)v_j)] + v_u[(i64)((((u64)v_i + 1ULL) * 5ULL) + (u64)v_j)]), v_u[(i64)(((u64)v_i * 5ULL) + (u64)v_j)]);
}
