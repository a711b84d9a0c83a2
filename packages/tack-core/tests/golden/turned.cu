typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;
static __device__ __forceinline__ i64 tack_mod_i64(i64 a, i64 b) { if (b == 0 || b == -1) return 0; i64 r = (i64)(a % b); return (r != 0 && (r ^ b) < 0) ? (i64)(r + b) : r; }

extern "C" __global__ void __launch_bounds__(256) turned(const f32* __restrict__ v_points, const f32* __restrict__ v_turns, f32* __restrict__ v_out, i64 t_count)
{
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x;
    if (t_lane >= (u64)t_count) return;
    f32 v__value_, v__value__1, v__value__2, v__value__3, v__value__4, v__value__5, v__product_, v__product__1, v_v, v_v_1, v__value__7, v__value__8, v__product__2, v__value__9;
    i64 v__value__6;
    i64 v_i = (i64)t_lane;
    v__value_ = v_turns[(i64)(((u64)tack_mod_i64(v_i, 2LL) * 2ULL) * 2ULL)];
    v__value__1 = v_turns[(i64)((((u64)tack_mod_i64(v_i, 2LL) * 2ULL) * 2ULL) + 1ULL)];
    v__value__2 = v_turns[(i64)((((u64)tack_mod_i64(v_i, 2LL) * 2ULL) + 1ULL) * 2ULL)];
    v__value__3 = v_turns[(i64)(((((u64)tack_mod_i64(v_i, 2LL) * 2ULL) + 1ULL) * 2ULL) + 1ULL)];
    v__value__4 = v_points[(i64)((u64)v_i * 2ULL)];
    v__value__5 = v_points[(i64)(((u64)v_i * 2ULL) + 1ULL)];
    v__product_ = v__value_ * v__value__4;
    v__product__1 = v__value__2 * v__value__4;
    v_v = fmaf(fmaf(v__value__1, v__value__5, v__product_), 2.0f, 0.25f);
    v_v_1 = fmaf(fmaf(v__value__3, v__value__5, v__product__1), 2.0f, -0.5f);
    v__value__6 = tack_mod_i64(v_i, 2LL);
    v__value__7 = v_points[(i64)((u64)v_i * 2ULL)];
    v__value__8 = v_points[(i64)(((u64)v_i * 2ULL) + 1ULL)];
    v__product__2 = v_v * v__value__7;
    v__value__9 = ((v__value__6 == 0LL) ? v_v : v_v_1) + fmaf(v_v_1, v__value__8, v__product__2);
    if (v__value__6 == 0LL) {
        v_v = v__value__9;
    }
    if (v__value__6 == 1LL) {
        v_v_1 = v__value__9;
    }
    v_out[(i64)((u64)v_i * 2ULL)] = (v_v < 0.0f) ? v_v_1 : v_v;
    v_out[(i64)(((u64)v_i * 2ULL) + 1ULL)] = (v_v_1 < 0.0f) ? v_v : v_v_1;
    v_out[(i64)((u64)v_i * 2ULL)] = v_out[(i64)((u64)v_i * 2ULL)] - 1.0f;
}
