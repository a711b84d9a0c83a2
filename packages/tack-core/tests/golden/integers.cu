#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64;
static __device__ __forceinline__ i32 tack_floordiv_i32(i32 a, i32 b) { if (b == 0) return 0; if (b == -1) return (i32)((u32)0 - (u32)a); return (i32)(a / b - (a % b != 0 && (a ^ b) < 0)); }
static __device__ __forceinline__ i32 tack_mod_i32(i32 a, i32 b) { if (b == 0 || b == -1) return 0; i32 r = (i32)(a % b); return (r != 0 && (r ^ b) < 0) ? (i32)(r + b) : r; }
static __device__ __forceinline__ i32 tack_upow_i32(i32 a, u64 n) { u32 r = 1, p = (u32)a; while (n != 0) { if (n & 1) r = r * p; p = p * p; n = n >> 1; } return (i32)r; }
static __device__ __forceinline__ i32 tack_ipow_i32(i32 a, i64 n) { if (n < 0) return a == 1 ? 1 : a == -1 ? ((n & 1) ? -1 : 1) : 0; return tack_upow_i32(a, (u64)n); }

typedef struct { i64 t_count; } integers_pack;

#line 2 "integers"
extern "C" __global__ void __launch_bounds__(256) integers(const i16* __restrict__ v_a, const i32* __restrict__ v_b, i64* __restrict__ v_out, const integers_pack* __restrict__ t_pack)
#line 2 "integers"
{
    const i64 t_count = t_pack->t_count;
#line 3 "integers"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
    i32 v_q, v_r;
#line 3 "integers"
    i64 v_i = (i64)t_lane;
    v_q = tack_floordiv_i32((i32)v_a[v_i], v_b[v_i]);
#line 4 "integers"
    v_r = tack_mod_i32((i32)v_a[v_i], v_b[v_i]);
    v_out[v_i] = (i64)(((i32)((u32)v_q << 3) ^ (v_r >> (v_b[v_i] & 31))) | (i32)((u32)(i32)(~v_a[v_i]) + (u32)tack_ipow_i32(v_r, 2)));
#line 2 "integers"
}

#line 2 "integers"
extern "C" __global__ void __launch_bounds__(256) integers_narrow(const i16* __restrict__ v_a, const i32* __restrict__ v_b, i64* __restrict__ v_out, const integers_pack* __restrict__ t_pack)
#line 2 "integers"
{
    const i64 t_count = t_pack->t_count;
#line 3 "integers"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
    i32 v_q, v_r;
#line 3 "integers"
    i64 v_i = (i64)(i32)t_lane;
    v_q = tack_floordiv_i32((i32)v_a[(i32)(u32)v_i], v_b[(i32)(u32)v_i]);
#line 4 "integers"
    v_r = tack_mod_i32((i32)v_a[(i32)(u32)v_i], v_b[(i32)(u32)v_i]);
    v_out[(i32)(u32)v_i] = (i64)(((i32)((u32)v_q << 3) ^ (v_r >> (v_b[(i32)(u32)v_i] & 31))) | (i32)((u32)(i32)(~v_a[(i32)(u32)v_i]) + (u32)tack_ipow_i32(v_r, 2)));
#line 2 "integers"
}
