#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64;
static __device__ __forceinline__ i32 tack_mod_i32(i32 a, i32 b) { if (b == 0 || b == -1) return 0; i32 r = (i32)(a % b); return (r != 0 && (r ^ b) < 0) ? (i32)(r + b) : r; }
static __device__ __forceinline__ i32 tack_floordiv_i32(i32 a, i32 b) { if (b == 0) return 0; if (b == -1) return (i32)((u32)0 - (u32)a); return (i32)(a / b - (a % b != 0 && (a ^ b) < 0)); }

typedef struct { i64 t_count; } countdown_pack;

#line 2 "countdown"
extern "C" __global__ void __launch_bounds__(256) countdown(const i32* __restrict__ v_n, u32* __restrict__ v_out, const countdown_pack* __restrict__ t_pack)
#line 2 "countdown"
{
    const i64 t_count = t_pack->t_count;
#line 3 "countdown"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
    i32 v_steps, v_v;
#line 3 "countdown"
    i64 v_i = (i64)t_lane;
    v_steps = 0;
    v_v = v_n[v_i];
    while (v_v > 1) {
        if (tack_mod_i32(v_v, 2) != 0) {
            v_v = (i32)((3u * (u32)v_v) + 1u);
            continue;
        }
#line 10 "countdown"
        v_v = tack_floordiv_i32(v_v, 2);
        v_steps = (i32)((u32)v_steps + 1u);
        if (v_steps > 100) {
            break;
        }
    }
#line 14 "countdown"
    v_out[v_i] = (u32)v_steps;
#line 2 "countdown"
}

#line 2 "countdown"
extern "C" __global__ void __launch_bounds__(256) countdown_narrow(const i32* __restrict__ v_n, u32* __restrict__ v_out, const countdown_pack* __restrict__ t_pack)
#line 2 "countdown"
{
    const i64 t_count = t_pack->t_count;
#line 3 "countdown"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
    i32 v_steps, v_v;
#line 3 "countdown"
    i64 v_i = (i64)(i32)t_lane;
    v_steps = 0;
    v_v = v_n[(i32)(u32)v_i];
    while (v_v > 1) {
        if (tack_mod_i32(v_v, 2) != 0) {
            v_v = (i32)((3u * (u32)v_v) + 1u);
            continue;
        }
#line 10 "countdown"
        v_v = tack_floordiv_i32(v_v, 2);
        v_steps = (i32)((u32)v_steps + 1u);
        if (v_steps > 100) {
            break;
        }
    }
#line 14 "countdown"
    v_out[(i32)(u32)v_i] = (u32)v_steps;
#line 2 "countdown"
}
