#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

typedef struct { i64 t_count; } inlined_pack;

#line 2 "inlined"
extern "C" __global__ void __launch_bounds__(256) inlined(const f32* __restrict__ v_x, const f32* __restrict__ v_limit, i32* __restrict__ v_out, const inlined_pack* __restrict__ t_pack)
#line 2 "inlined"
{
    const i64 t_count = t_pack->t_count;
#line 3 "inlined"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
    f32 v_first_above_1_limit, v_first_above_2_limit;
    i64 v_first_above_1_first_above__, v_k, v_first_above_2_first_above__;
    bool v__condition_, t_0, t_1;
#line 3 "inlined"
    i64 v_i = (i64)t_lane;
    v_first_above_1_limit = v_limit[v_i];
#line 2 "first_above"
    t_0 = false;
#line 2 "first_above"
    do {
        for (i64 v_first_above_1_k = 0LL; v_first_above_1_k < 4LL; v_first_above_1_k++) {
            if (v_x[v_first_above_1_k] > v_first_above_1_limit) {
                v_first_above_1_first_above__ = v_first_above_1_k;
#line 5 "first_above"
                t_0 = true;
#line 5 "first_above"
                break;
            }
        }
#line 3 "first_above"
        if (t_0) break;
#line 6 "first_above"
        v_first_above_1_first_above__ = -1LL;
    } while (0);
#line 4 "inlined"
    v_k = v_first_above_1_first_above__;
    v__condition_ = v_k >= 0LL;
#line 5 "inlined"
    if (!v__condition_) {
#line 5 "inlined"
        v_first_above_2_limit = -v_limit[v_i];
#line 2 "first_above"
        t_1 = false;
#line 2 "first_above"
        do {
            for (i64 v_first_above_2_k = 0LL; v_first_above_2_k < 4LL; v_first_above_2_k++) {
                if (v_x[v_first_above_2_k] > v_first_above_2_limit) {
                    v_first_above_2_first_above__ = v_first_above_2_k;
#line 5 "first_above"
                    t_1 = true;
#line 5 "first_above"
                    break;
                }
            }
#line 3 "first_above"
            if (t_1) break;
#line 6 "first_above"
            v_first_above_2_first_above__ = -1LL;
        } while (0);
    }
#line 5 "inlined"
    v_out[v_i] = (i32)((v__condition_ || (v_first_above_2_first_above__ > 1LL)) ? v_k : 7LL);
#line 2 "inlined"
}

#line 2 "inlined"
extern "C" __global__ void __launch_bounds__(256) inlined_narrow(const f32* __restrict__ v_x, const f32* __restrict__ v_limit, i32* __restrict__ v_out, const inlined_pack* __restrict__ t_pack)
#line 2 "inlined"
{
    const i64 t_count = t_pack->t_count;
#line 3 "inlined"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
    f32 v_first_above_1_limit, v_first_above_2_limit;
    i64 v_first_above_1_first_above__, v_k, v_first_above_2_first_above__;
    bool v__condition_, t_0, t_1;
#line 3 "inlined"
    i64 v_i = (i64)(i32)t_lane;
    v_first_above_1_limit = v_limit[(i32)(u32)v_i];
#line 2 "first_above"
    t_0 = false;
#line 2 "first_above"
    do {
        for (i64 v_first_above_1_k = 0LL; v_first_above_1_k < 4LL; v_first_above_1_k++) {
            if (v_x[(i32)(u32)v_first_above_1_k] > v_first_above_1_limit) {
                v_first_above_1_first_above__ = v_first_above_1_k;
#line 5 "first_above"
                t_0 = true;
#line 5 "first_above"
                break;
            }
        }
#line 3 "first_above"
        if (t_0) break;
#line 6 "first_above"
        v_first_above_1_first_above__ = -1LL;
    } while (0);
#line 4 "inlined"
    v_k = v_first_above_1_first_above__;
    v__condition_ = v_k >= 0LL;
#line 5 "inlined"
    if (!v__condition_) {
#line 5 "inlined"
        v_first_above_2_limit = -v_limit[(i32)(u32)v_i];
#line 2 "first_above"
        t_1 = false;
#line 2 "first_above"
        do {
            for (i64 v_first_above_2_k = 0LL; v_first_above_2_k < 4LL; v_first_above_2_k++) {
                if (v_x[(i32)(u32)v_first_above_2_k] > v_first_above_2_limit) {
                    v_first_above_2_first_above__ = v_first_above_2_k;
#line 5 "first_above"
                    t_1 = true;
#line 5 "first_above"
                    break;
                }
            }
#line 3 "first_above"
            if (t_1) break;
#line 6 "first_above"
            v_first_above_2_first_above__ = -1LL;
        } while (0);
    }
#line 5 "inlined"
    v_out[(i32)(u32)v_i] = (i32)((v__condition_ || (v_first_above_2_first_above__ > 1LL)) ? v_k : 7LL);
#line 2 "inlined"
}
