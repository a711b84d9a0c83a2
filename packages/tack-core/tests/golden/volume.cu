#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;
static __device__ __forceinline__ f32 tack_min_f32(f32 a, f32 b) { if (a != a) return b; if (a == b) return copysignf(1.0f, a) < 0.0f ? a : b; return b < a ? b : a; }
static __device__ __forceinline__ f32 tack_max_f32(f32 a, f32 b) { if (a != a) return b; if (a == b) return copysignf(1.0f, a) < 0.0f ? b : a; return b > a ? b : a; }
static __device__ __forceinline__ i32 tack_i32_of_f32(f32 x) { return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x <= (-0x1.0p+31f) ? (-2147483647 - 1) : (i32)x; }
static __device__ __forceinline__ i32 tack_min_i32(i32 a, i32 b) { return a < b ? a : b; }

typedef struct { i64 t_count; } volume_pack;

#line 2 "volume"
extern "C" __global__ void __launch_bounds__(256) volume(const f32* __restrict__ v_tex, const f32* __restrict__ v_u, const f32* __restrict__ v_v, const f32* __restrict__ v_w, f32* __restrict__ v_out, const volume_pack* __restrict__ t_pack)
#line 2 "volume"
{
    const i64 t_count = t_pack->t_count;
#line 3 "volume"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
    bool v__condition_;
    f32 v__texel_0_, v__texel_2_, v__texel_4_, v__texel_6_, v__texel_8_, v__texel_10_, v__texel_14_, v__texel_15_, v__texel_16_, v__texel_17_, v__texel_20_, v__texel_21_, v__texel_22_, v__texel_23_, v__texel_24_, v__texel_25_, v__texel_26_, v__texel_27_, v__texel_28_, v__texel_29_, v__texel_30_;
    i32 v__texel_1_, v__texel_3_, v__texel_5_, v__texel_7_, v__texel_9_, v__texel_11_, v__texel_12_, v__texel_13_, v__texel_18_, v__texel_19_;
#line 3 "volume"
    i64 v_i = (i64)t_lane;
    v__condition_ = v_u[v_i] >= 0.0f;
#line 4 "volume"
    if (v__condition_) {
#line 4 "volume"
        v__texel_0_ = tack_min_f32(tack_max_f32(fmaf(v_u[v_i], 4.0f, -0.5f), 0.0f), 3.0f);
#line 4 "volume"
        v__texel_1_ = tack_i32_of_f32(v__texel_0_);
#line 4 "volume"
        v__texel_2_ = v__texel_0_ - (f32)v__texel_1_;
#line 4 "volume"
        v__texel_3_ = tack_min_i32((i32)((u32)v__texel_1_ + 1u), 3);
#line 4 "volume"
        v__texel_4_ = tack_min_f32(tack_max_f32(fmaf(v_v[v_i], 3.0f, -0.5f), 0.0f), 2.0f);
#line 4 "volume"
        v__texel_5_ = tack_i32_of_f32(v__texel_4_);
#line 4 "volume"
        v__texel_6_ = v__texel_4_ - (f32)v__texel_5_;
#line 4 "volume"
        v__texel_7_ = tack_min_i32((i32)((u32)v__texel_5_ + 1u), 2);
#line 4 "volume"
        v__texel_8_ = tack_min_f32(tack_max_f32(fmaf(v_w[v_i], 2.0f, -0.5f), 0.0f), 1.0f);
#line 4 "volume"
        v__texel_9_ = tack_i32_of_f32(v__texel_8_);
#line 4 "volume"
        v__texel_10_ = v__texel_8_ - (f32)v__texel_9_;
#line 4 "volume"
        v__texel_11_ = tack_min_i32((i32)((u32)v__texel_9_ + 1u), 1);
#line 4 "volume"
        v__texel_12_ = (i32)(((u32)v__texel_9_ * 12u) + ((u32)v__texel_5_ * 4u));
#line 4 "volume"
        v__texel_13_ = (i32)(((u32)v__texel_9_ * 12u) + ((u32)v__texel_7_ * 4u));
#line 4 "volume"
        v__texel_14_ = v_tex[(i64)(i32)((u32)v__texel_12_ + (u32)v__texel_1_)];
#line 4 "volume"
        v__texel_15_ = v_tex[(i64)(i32)((u32)v__texel_12_ + (u32)v__texel_3_)];
#line 4 "volume"
        v__texel_16_ = v_tex[(i64)(i32)((u32)v__texel_13_ + (u32)v__texel_1_)];
#line 4 "volume"
        v__texel_17_ = v_tex[(i64)(i32)((u32)v__texel_13_ + (u32)v__texel_3_)];
#line 4 "volume"
        v__texel_18_ = (i32)(((u32)v__texel_11_ * 12u) + ((u32)v__texel_5_ * 4u));
#line 4 "volume"
        v__texel_19_ = (i32)(((u32)v__texel_11_ * 12u) + ((u32)v__texel_7_ * 4u));
#line 4 "volume"
        v__texel_20_ = v_tex[(i64)(i32)((u32)v__texel_18_ + (u32)v__texel_1_)];
#line 4 "volume"
        v__texel_21_ = v_tex[(i64)(i32)((u32)v__texel_18_ + (u32)v__texel_3_)];
#line 4 "volume"
        v__texel_22_ = v_tex[(i64)(i32)((u32)v__texel_19_ + (u32)v__texel_1_)];
#line 4 "volume"
        v__texel_23_ = v_tex[(i64)(i32)((u32)v__texel_19_ + (u32)v__texel_3_)];
#line 4 "volume"
        v__texel_24_ = fmaf(v__texel_2_, v__texel_15_ - v__texel_14_, v__texel_14_);
#line 4 "volume"
        v__texel_25_ = fmaf(v__texel_2_, v__texel_17_ - v__texel_16_, v__texel_16_);
#line 4 "volume"
        v__texel_26_ = fmaf(v__texel_6_, v__texel_25_ - v__texel_24_, v__texel_24_);
#line 4 "volume"
        v__texel_27_ = fmaf(v__texel_2_, v__texel_21_ - v__texel_20_, v__texel_20_);
#line 4 "volume"
        v__texel_28_ = fmaf(v__texel_2_, v__texel_23_ - v__texel_22_, v__texel_22_);
#line 4 "volume"
        v__texel_29_ = fmaf(v__texel_6_, v__texel_28_ - v__texel_27_, v__texel_27_);
#line 4 "volume"
        v__texel_30_ = fmaf(v__texel_10_, v__texel_29_ - v__texel_26_, v__texel_26_);
    }
#line 4 "volume"
    v_out[v_i] = v__condition_ ? v__texel_30_ : 0.0f;
#line 2 "volume"
}

#line 2 "volume"
extern "C" __global__ void __launch_bounds__(256) volume_narrow(const f32* __restrict__ v_tex, const f32* __restrict__ v_u, const f32* __restrict__ v_v, const f32* __restrict__ v_w, f32* __restrict__ v_out, const volume_pack* __restrict__ t_pack)
#line 2 "volume"
{
    const i64 t_count = t_pack->t_count;
#line 3 "volume"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
    bool v__condition_;
    f32 v__texel_0_, v__texel_2_, v__texel_4_, v__texel_6_, v__texel_8_, v__texel_10_, v__texel_14_, v__texel_15_, v__texel_16_, v__texel_17_, v__texel_20_, v__texel_21_, v__texel_22_, v__texel_23_, v__texel_24_, v__texel_25_, v__texel_26_, v__texel_27_, v__texel_28_, v__texel_29_, v__texel_30_;
    i32 v__texel_1_, v__texel_3_, v__texel_5_, v__texel_7_, v__texel_9_, v__texel_11_, v__texel_12_, v__texel_13_, v__texel_18_, v__texel_19_;
#line 3 "volume"
    i64 v_i = (i64)(i32)t_lane;
    v__condition_ = v_u[(i32)(u32)v_i] >= 0.0f;
#line 4 "volume"
    if (v__condition_) {
#line 4 "volume"
        v__texel_0_ = tack_min_f32(tack_max_f32(fmaf(v_u[(i32)(u32)v_i], 4.0f, -0.5f), 0.0f), 3.0f);
#line 4 "volume"
        v__texel_1_ = tack_i32_of_f32(v__texel_0_);
#line 4 "volume"
        v__texel_2_ = v__texel_0_ - (f32)v__texel_1_;
#line 4 "volume"
        v__texel_3_ = tack_min_i32((i32)((u32)v__texel_1_ + 1u), 3);
#line 4 "volume"
        v__texel_4_ = tack_min_f32(tack_max_f32(fmaf(v_v[(i32)(u32)v_i], 3.0f, -0.5f), 0.0f), 2.0f);
#line 4 "volume"
        v__texel_5_ = tack_i32_of_f32(v__texel_4_);
#line 4 "volume"
        v__texel_6_ = v__texel_4_ - (f32)v__texel_5_;
#line 4 "volume"
        v__texel_7_ = tack_min_i32((i32)((u32)v__texel_5_ + 1u), 2);
#line 4 "volume"
        v__texel_8_ = tack_min_f32(tack_max_f32(fmaf(v_w[(i32)(u32)v_i], 2.0f, -0.5f), 0.0f), 1.0f);
#line 4 "volume"
        v__texel_9_ = tack_i32_of_f32(v__texel_8_);
#line 4 "volume"
        v__texel_10_ = v__texel_8_ - (f32)v__texel_9_;
#line 4 "volume"
        v__texel_11_ = tack_min_i32((i32)((u32)v__texel_9_ + 1u), 1);
#line 4 "volume"
        v__texel_12_ = (i32)(((u32)v__texel_9_ * 12u) + ((u32)v__texel_5_ * 4u));
#line 4 "volume"
        v__texel_13_ = (i32)(((u32)v__texel_9_ * 12u) + ((u32)v__texel_7_ * 4u));
#line 4 "volume"
        v__texel_14_ = v_tex[(i32)((u32)v__texel_12_ + (u32)v__texel_1_)];
#line 4 "volume"
        v__texel_15_ = v_tex[(i32)((u32)v__texel_12_ + (u32)v__texel_3_)];
#line 4 "volume"
        v__texel_16_ = v_tex[(i32)((u32)v__texel_13_ + (u32)v__texel_1_)];
#line 4 "volume"
        v__texel_17_ = v_tex[(i32)((u32)v__texel_13_ + (u32)v__texel_3_)];
#line 4 "volume"
        v__texel_18_ = (i32)(((u32)v__texel_11_ * 12u) + ((u32)v__texel_5_ * 4u));
#line 4 "volume"
        v__texel_19_ = (i32)(((u32)v__texel_11_ * 12u) + ((u32)v__texel_7_ * 4u));
#line 4 "volume"
        v__texel_20_ = v_tex[(i32)((u32)v__texel_18_ + (u32)v__texel_1_)];
#line 4 "volume"
        v__texel_21_ = v_tex[(i32)((u32)v__texel_18_ + (u32)v__texel_3_)];
#line 4 "volume"
        v__texel_22_ = v_tex[(i32)((u32)v__texel_19_ + (u32)v__texel_1_)];
#line 4 "volume"
        v__texel_23_ = v_tex[(i32)((u32)v__texel_19_ + (u32)v__texel_3_)];
#line 4 "volume"
        v__texel_24_ = fmaf(v__texel_2_, v__texel_15_ - v__texel_14_, v__texel_14_);
#line 4 "volume"
        v__texel_25_ = fmaf(v__texel_2_, v__texel_17_ - v__texel_16_, v__texel_16_);
#line 4 "volume"
        v__texel_26_ = fmaf(v__texel_6_, v__texel_25_ - v__texel_24_, v__texel_24_);
#line 4 "volume"
        v__texel_27_ = fmaf(v__texel_2_, v__texel_21_ - v__texel_20_, v__texel_20_);
#line 4 "volume"
        v__texel_28_ = fmaf(v__texel_2_, v__texel_23_ - v__texel_22_, v__texel_22_);
#line 4 "volume"
        v__texel_29_ = fmaf(v__texel_6_, v__texel_28_ - v__texel_27_, v__texel_27_);
#line 4 "volume"
        v__texel_30_ = fmaf(v__texel_10_, v__texel_29_ - v__texel_26_, v__texel_26_);
    }
#line 4 "volume"
    v_out[(i32)(u32)v_i] = v__condition_ ? v__texel_30_ : 0.0f;
#line 2 "volume"
}
