#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

typedef struct { i64 t_count; f32 p2_a; } saxpy_pack;

#line 2 "saxpy"
extern "C" __global__ void __launch_bounds__(256) saxpy(const f32* __restrict__ v_x, f32* __restrict__ v_y, const saxpy_pack* __restrict__ t_pack)
#line 2 "saxpy"
{
    const i64 t_count = t_pack->t_count; const f32 v_a = t_pack->p2_a;
#line 3 "saxpy"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
#line 3 "saxpy"
    i64 v_i = (i64)t_lane;
    v_y[v_i] = fmaf(v_a, v_x[v_i], v_y[v_i]);
#line 2 "saxpy"
}

#line 2 "saxpy"
extern "C" __global__ void __launch_bounds__(256) saxpy_narrow(const f32* __restrict__ v_x, f32* __restrict__ v_y, const saxpy_pack* __restrict__ t_pack)
#line 2 "saxpy"
{
    const i64 t_count = t_pack->t_count; const f32 v_a = t_pack->p2_a;
#line 3 "saxpy"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
#line 3 "saxpy"
    i64 v_i = (i64)(i32)t_lane;
    v_y[(i32)(u32)v_i] = fmaf(v_a, v_x[(i32)(u32)v_i], v_y[(i32)(u32)v_i]);
#line 2 "saxpy"
}
