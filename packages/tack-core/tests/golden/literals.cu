#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef double f64;

typedef struct { i64 t_count; } literals_pack;

#line 2 "literals"
extern "C" __global__ void __launch_bounds__(256) literals(f64* __restrict__ v_out, const literals_pack* __restrict__ t_pack)
#line 2 "literals"
{
    const i64 t_count = t_pack->t_count;
#line 3 "literals"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
#line 3 "literals"
    i64 v_i = (i64)t_lane;
    v_out[v_i] = (fma(0x1.999999999999ap-4, (f64)v_i, 0x1.921fb54442d18p+1) + 0x1.5555555555555p-2) + ((v_i != 0LL) ? __longlong_as_double(0x7ff0000000000000ULL) : (-0.0));
#line 2 "literals"
}

#line 2 "literals"
extern "C" __global__ void __launch_bounds__(256) literals_narrow(f64* __restrict__ v_out, const literals_pack* __restrict__ t_pack)
#line 2 "literals"
{
    const i64 t_count = t_pack->t_count;
#line 3 "literals"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
#line 3 "literals"
    i64 v_i = (i64)(i32)t_lane;
    v_out[(i32)(u32)v_i] = (fma(0x1.999999999999ap-4, (f64)v_i, 0x1.921fb54442d18p+1) + 0x1.5555555555555p-2) + ((v_i != 0LL) ? __longlong_as_double(0x7ff0000000000000ULL) : (-0.0));
#line 2 "literals"
}
