#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef double f64;
static __device__ __forceinline__ f64 tack_floordiv_f64(f64 a, f64 b) { if (b == 0.0) return a / b; f64 m = fmod(a, b), q = (a - m) / b; if (m != 0.0 && (b < 0.0) != (m < 0.0)) q = q - 1.0; if (q == 0.0) return copysign(0.0, a / b); f64 w = floor(q); return q - w > 0.5 ? w + 1.0 : w; }

typedef struct { i64 t_count; } selects_pack;

#line 2 "selects"
extern "C" __global__ void __launch_bounds__(256) selects(const f64* __restrict__ v_x, f64* __restrict__ v_out, const selects_pack* __restrict__ t_pack)
#line 2 "selects"
{
    const i64 t_count = t_pack->t_count;
#line 3 "selects"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
    f64 v_first;
#line 3 "selects"
    i64 v_i = (i64)(9ULL + t_lane * 18446744073709551613ULL);
    v_first = v_x[v_i];
    v_out[v_i] = tack_floordiv_f64(((v_first > 0.0) && (!(v_first == 2.0))) ? v_first : copysign(v_first, -1.0), 0x1.3333333333333p-2);
#line 2 "selects"
}

#line 2 "selects"
extern "C" __global__ void __launch_bounds__(256) selects_narrow(const f64* __restrict__ v_x, f64* __restrict__ v_out, const selects_pack* __restrict__ t_pack)
#line 2 "selects"
{
    const i64 t_count = t_pack->t_count;
#line 3 "selects"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
    f64 v_first;
#line 3 "selects"
    i64 v_i = (i64)(i32)(9u + t_lane * 4294967293u);
    v_first = v_x[(i32)(u32)v_i];
    v_out[(i32)(u32)v_i] = tack_floordiv_f64(((v_first > 0.0) && (!(v_first == 2.0))) ? v_first : copysign(v_first, -1.0), 0x1.3333333333333p-2);
#line 2 "selects"
}
