#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;
static __device__ __forceinline__ i64 tack_mod_i64(i64 a, i64 b) { if (b == 0 || b == -1) return 0; i64 r = (i64)(a % b); return (r != 0 && (r ^ b) < 0) ? (i64)(r + b) : r; }

typedef struct { i64 t_count; } turned_pack;

#line 2 "turned"
extern "C" __global__ void __launch_bounds__(256) turned(const f32* __restrict__ v_points, const f32* __restrict__ v_turns, f32* __restrict__ v_out, const turned_pack* __restrict__ t_pack)
#line 2 "turned"
{
#line 4 "turned"
    const i64 t_count = t_pack->t_count;
#line 4 "turned"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
    f32 v__value_, v__value__1, v__value__2, v__value__3, v__value__4, v__value__5, v__product_, v__product__1, v_v, v_v_1, v__value__7, v__value__8, v__product__2, v__value__9;
    i64 v__value__6;
#line 4 "turned"
    i64 v_i = (i64)t_lane;
    v__value_ = v_turns[(i64)(((u64)tack_mod_i64(v_i, 2LL) * 2ULL) * 2ULL)];
#line 5 "turned"
    v__value__1 = v_turns[(i64)((((u64)tack_mod_i64(v_i, 2LL) * 2ULL) * 2ULL) + 1ULL)];
#line 5 "turned"
    v__value__2 = v_turns[(i64)((((u64)tack_mod_i64(v_i, 2LL) * 2ULL) + 1ULL) * 2ULL)];
#line 5 "turned"
    v__value__3 = v_turns[(i64)(((((u64)tack_mod_i64(v_i, 2LL) * 2ULL) + 1ULL) * 2ULL) + 1ULL)];
#line 5 "turned"
    v__value__4 = v_points[(i64)((u64)v_i * 2ULL)];
#line 5 "turned"
    v__value__5 = v_points[(i64)(((u64)v_i * 2ULL) + 1ULL)];
#line 5 "turned"
    v__product_ = v__value_ * v__value__4;
#line 5 "turned"
    v__product__1 = v__value__2 * v__value__4;
#line 5 "turned"
    v_v = fmaf(fmaf(v__value__1, v__value__5, v__product_), 2.0f, 0.25f);
#line 5 "turned"
    v_v_1 = fmaf(fmaf(v__value__3, v__value__5, v__product__1), 2.0f, -0.5f);
    v__value__6 = tack_mod_i64(v_i, 2LL);
#line 6 "turned"
    v__value__7 = v_points[(i64)((u64)v_i * 2ULL)];
#line 6 "turned"
    v__value__8 = v_points[(i64)(((u64)v_i * 2ULL) + 1ULL)];
#line 6 "turned"
    v__product__2 = v_v * v__value__7;
#line 6 "turned"
    v__value__9 = ((v__value__6 == 0LL) ? v_v : v_v_1) + fmaf(v_v_1, v__value__8, v__product__2);
#line 6 "turned"
    if (v__value__6 == 0LL) {
#line 6 "turned"
        v_v = v__value__9;
    }
#line 6 "turned"
    if (v__value__6 == 1LL) {
#line 6 "turned"
        v_v_1 = v__value__9;
    }
#line 7 "turned"
    v_out[(i64)((u64)v_i * 2ULL)] = (v_v < 0.0f) ? v_v_1 : v_v;
#line 7 "turned"
    v_out[(i64)(((u64)v_i * 2ULL) + 1ULL)] = (v_v_1 < 0.0f) ? v_v : v_v_1;
    v_out[(i64)((u64)v_i * 2ULL)] = v_out[(i64)((u64)v_i * 2ULL)] - 1.0f;
#line 2 "turned"
}

#line 2 "turned"
extern "C" __global__ void __launch_bounds__(256) turned_narrow(const f32* __restrict__ v_points, const f32* __restrict__ v_turns, f32* __restrict__ v_out, const turned_pack* __restrict__ t_pack)
#line 2 "turned"
{
#line 4 "turned"
    const i64 t_count = t_pack->t_count;
#line 4 "turned"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
    f32 v__value_, v__value__1, v__value__2, v__value__3, v__value__4, v__value__5, v__product_, v__product__1, v_v, v_v_1, v__value__7, v__value__8, v__product__2, v__value__9;
    i64 v__value__6;
#line 4 "turned"
    i64 v_i = (i64)(i32)t_lane;
    v__value_ = v_turns[(i32)(((u32)tack_mod_i64(v_i, 2LL) * 2u) * 2u)];
#line 5 "turned"
    v__value__1 = v_turns[(i64)(i32)(((u32)tack_mod_i64(v_i, 2LL) * 2u) * 2u) + 1LL];
#line 5 "turned"
    v__value__2 = v_turns[(i64)(i32)(((u32)tack_mod_i64(v_i, 2LL) * 2u) * 2u) + 2LL];
#line 5 "turned"
    v__value__3 = v_turns[(i64)(i32)(((u32)tack_mod_i64(v_i, 2LL) * 2u) * 2u) + 3LL];
#line 5 "turned"
    v__value__4 = v_points[(i32)((u32)v_i * 2u)];
#line 5 "turned"
    v__value__5 = v_points[(i64)(i32)((u32)v_i * 2u) + 1LL];
#line 5 "turned"
    v__product_ = v__value_ * v__value__4;
#line 5 "turned"
    v__product__1 = v__value__2 * v__value__4;
#line 5 "turned"
    v_v = fmaf(fmaf(v__value__1, v__value__5, v__product_), 2.0f, 0.25f);
#line 5 "turned"
    v_v_1 = fmaf(fmaf(v__value__3, v__value__5, v__product__1), 2.0f, -0.5f);
    v__value__6 = tack_mod_i64(v_i, 2LL);
#line 6 "turned"
    v__value__7 = v_points[(i32)((u32)v_i * 2u)];
#line 6 "turned"
    v__value__8 = v_points[(i64)(i32)((u32)v_i * 2u) + 1LL];
#line 6 "turned"
    v__product__2 = v_v * v__value__7;
#line 6 "turned"
    v__value__9 = ((v__value__6 == 0LL) ? v_v : v_v_1) + fmaf(v_v_1, v__value__8, v__product__2);
#line 6 "turned"
    if (v__value__6 == 0LL) {
#line 6 "turned"
        v_v = v__value__9;
    }
#line 6 "turned"
    if (v__value__6 == 1LL) {
#line 6 "turned"
        v_v_1 = v__value__9;
    }
#line 7 "turned"
    v_out[(i32)((u32)v_i * 2u)] = (v_v < 0.0f) ? v_v_1 : v_v;
#line 7 "turned"
    v_out[(i64)(i32)((u32)v_i * 2u) + 1LL] = (v_v_1 < 0.0f) ? v_v : v_v_1;
    v_out[(i32)((u32)v_i * 2u)] = v_out[(i32)((u32)v_i * 2u)] - 1.0f;
#line 2 "turned"
}
