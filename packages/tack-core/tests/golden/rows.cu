typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

extern "C" __global__ void __launch_bounds__(256) rows(const i32* __restrict__ v_start, const f32* __restrict__ v_value, f32* __restrict__ v_out, i64 t_count)
{
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x;
    if (t_lane >= (u64)t_count) return;
    f32 v_total;
    i64 t_0;
    i64 v_i = (i64)t_lane;
    v_total = 0.0f;
    t_0 = (i64)v_start[(i64)((u64)v_i + 1ULL)];
    for (i64 v_k = (i64)v_start[v_i]; v_k < t_0; v_k++) {
        v_total = v_total + v_value[v_k];
    }
    v_out[v_i] = v_total;
}
