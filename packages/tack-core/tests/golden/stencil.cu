#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

typedef struct { i64 t_count; f32 p2_k; i32 t_grid; } stencil_pack;

#line 2 "stencil"
extern "C" __global__ void __launch_bounds__(256) stencil(const f32* __restrict__ v_u, f32* __restrict__ v_out, const stencil_pack* __restrict__ t_pack)
#line 2 "stencil"
{
    const i64 t_count = t_pack->t_count; const f32 v_k = t_pack->p2_k; const i32 t_grid = t_pack->t_grid;
#line 3 "stencil"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x;
    u64 t_0, t_1;
#line 3 "stencil"
    if (t_grid != 0) { if (t_lane >= 3ULL) return; t_1 = t_lane; t_0 = (u64)blockIdx.y; } else { if (t_lane >= (u64)t_count) return; t_0 = t_lane; t_1 = t_0 % 3ULL; t_0 = t_0 / 3ULL; }
#line 3 "stencil"
    i64 v_i = (i64)(1ULL + t_0);
#line 3 "stencil"
    i64 v_j = (i64)(1ULL + t_1);
    v_out[(i64)(((u64)v_i * 5ULL) + (u64)v_j)] = fmaf(v_k, fmaf(-2.0f, v_u[(i64)(((u64)v_i * 5ULL) + (u64)v_j)], v_u[(i64)((((u64)v_i - 1ULL) * 5ULL) + (u64)v_j)] + v_u[(i64)((((u64)v_i + 1ULL) * 5ULL) + (u64)v_j)]), v_u[(i64)(((u64)v_i * 5ULL) + (u64)v_j)]);
#line 2 "stencil"
}

#line 2 "stencil"
extern "C" __global__ void __launch_bounds__(256) stencil_narrow(const f32* __restrict__ v_u, f32* __restrict__ v_out, const stencil_pack* __restrict__ t_pack)
#line 2 "stencil"
{
    const i64 t_count = t_pack->t_count; const f32 v_k = t_pack->p2_k; const i32 t_grid = t_pack->t_grid;
#line 3 "stencil"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x);
    u32 t_0, t_1;
#line 3 "stencil"
    if (t_grid != 0) { if (t_lane >= 3u) return; t_1 = t_lane; t_0 = (u32)blockIdx.y; } else { if (t_lane >= (u32)t_count) return; t_0 = t_lane; t_1 = t_0 % 3u; t_0 = t_0 / 3u; }
#line 3 "stencil"
    i64 v_i = (i64)(i32)(1u + t_0);
#line 3 "stencil"
    i64 v_j = (i64)(i32)(1u + t_1);
    v_out[(i32)(((u32)v_i * 5u) + (u32)v_j)] = fmaf(v_k, fmaf(-2.0f, v_u[(i32)(((u32)v_i * 5u) + (u32)v_j)], v_u[(i64)(i32)(((u32)v_i * 5u) + (u32)v_j) - 5LL] + v_u[(i64)(i32)(((u32)v_i * 5u) + (u32)v_j) + 5LL]), v_u[(i32)(((u32)v_i * 5u) + (u32)v_j)]);
#line 2 "stencil"
}
