#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

typedef struct { i64 t_count; } rows_pack;

#line 2 "rows"
extern "C" __global__ void __launch_bounds__(256) rows(const i32* __restrict__ v_start, const f32* __restrict__ v_value, f32* __restrict__ v_out, const rows_pack* __restrict__ t_pack)
#line 2 "rows"
{
    const i64 t_count = t_pack->t_count;
#line 3 "rows"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
    f32 v_total;
    i64 t_0;
#line 3 "rows"
    i64 v_i = (i64)t_lane;
    v_total = 0.0f;
    t_0 = (i64)v_start[(i64)((u64)v_i + 1ULL)];
#line 5 "rows"
    for (i64 v_k = (i64)v_start[v_i]; v_k < t_0; v_k++) {
        v_total = v_total + v_value[v_k];
    }
#line 7 "rows"
    v_out[v_i] = v_total;
#line 2 "rows"
}

#line 2 "rows"
extern "C" __global__ void __launch_bounds__(256) rows_narrow(const i32* __restrict__ v_start, const f32* __restrict__ v_value, f32* __restrict__ v_out, const rows_pack* __restrict__ t_pack)
#line 2 "rows"
{
    const i64 t_count = t_pack->t_count;
#line 3 "rows"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
    f32 v_total;
    i64 t_0;
#line 3 "rows"
    i64 v_i = (i64)(i32)t_lane;
    v_total = 0.0f;
    t_0 = (i64)v_start[(i64)(i32)(u32)v_i + 1LL];
#line 5 "rows"
    for (i64 v_k = (i64)v_start[(i32)(u32)v_i]; v_k < t_0; v_k++) {
        v_total = v_total + v_value[(i32)(u32)v_k];
    }
#line 7 "rows"
    v_out[(i32)(u32)v_i] = v_total;
#line 2 "rows"
}
