typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

extern "C" __global__ void __launch_bounds__(256) inlined(const f32* __restrict__ v_x, const f32* __restrict__ v_limit, i32* __restrict__ v_out, i64 t_count)
{
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x;
    if (t_lane >= (u64)t_count) return;
    f32 v_first_above_1_limit, v_first_above_2_limit;
    i64 v_first_above_1_first_above__, v_k, v_first_above_2_first_above__;
    bool v__condition_, t_0, t_1;
    i64 v_i = (i64)t_lane;
    v_first_above_1_limit = v_limit[v_i];
    t_0 = false;
    do {
        for (i64 v_first_above_1_k = 0LL; v_first_above_1_k < 4LL; v_first_above_1_k++) {
            if (v_x[v_first_above_1_k] > v_first_above_1_limit) {
                v_first_above_1_first_above__ = v_first_above_1_k;
                t_0 = true;
                break;
            }
        }
        if (t_0) break;
        v_first_above_1_first_above__ = -1LL;
    } while (0);
    v_k = v_first_above_1_first_above__;
    v__condition_ = v_k >= 0LL;
    if (!v__condition_) {
        v_first_above_2_limit = -v_limit[v_i];
        t_1 = false;
        do {
            for (i64 v_first_above_2_k = 0LL; v_first_above_2_k < 4LL; v_first_above_2_k++) {
                if (v_x[v_first_above_2_k] > v_first_above_2_limit) {
                    v_first_above_2_first_above__ = v_first_above_2_k;
                    t_1 = true;
                    break;
                }
            }
            if (t_1) break;
            v_first_above_2_first_above__ = -1LL;
        } while (0);
    }
    v_out[v_i] = (i32)((v__condition_ || (v_first_above_2_first_above__ > 1LL)) ? v_k : 7LL);
}
