#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

typedef struct { i64 t_count; i64 t_start_0; i64 t_step_0; i32 p2_first; i32 p3_last; i32 p4_step; } window_pack;

#line 2 "window"
extern "C" __global__ void __launch_bounds__(256) window(const f32* __restrict__ v_x, f32* __restrict__ v_out, const window_pack* __restrict__ t_pack)
#line 2 "window"
{
#line 5 "window"
    const i64 t_count = t_pack->t_count; const i64 t_start_0 = t_pack->t_start_0; const i64 t_step_0 = t_pack->t_step_0;
#line 5 "window"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
    f32 v_scale;
#line 5 "window"
    i64 v_i = (i64)((u64)t_start_0 + t_lane * (u64)t_step_0);
#line 4 "window"
    v_scale = v_x[0LL];
#line 6 "window"
    v_out[v_i] = v_x[v_i] * v_scale;
#line 2 "window"
}

#line 2 "window"
extern "C" __global__ void __launch_bounds__(256) window_narrow(const f32* __restrict__ v_x, f32* __restrict__ v_out, const window_pack* __restrict__ t_pack)
#line 2 "window"
{
#line 5 "window"
    const i64 t_count = t_pack->t_count; const i64 t_start_0 = t_pack->t_start_0; const i64 t_step_0 = t_pack->t_step_0;
#line 5 "window"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
    f32 v_scale;
#line 5 "window"
    i64 v_i = (i64)(i32)((u32)t_start_0 + t_lane * (u32)t_step_0);
#line 4 "window"
    v_scale = v_x[0LL];
#line 6 "window"
    v_out[(i32)(u32)v_i] = v_x[(i32)(u32)v_i] * v_scale;
#line 2 "window"
}
