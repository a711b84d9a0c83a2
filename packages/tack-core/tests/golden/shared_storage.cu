#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

typedef struct { i64 t_count; i32 p2_gruf6udfe; } shared_storage_pack;

#line 2 "shared_storage"
extern "C" __global__ void __launch_bounds__(256) shared_storage(f32* __restrict__ v_double, const f32* __restrict__ v_restrict, const shared_storage_pack* __restrict__ t_pack)
#line 2 "shared_storage"
{
    const i64 t_count = t_pack->t_count;
#line 3 "shared_storage"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
#line 3 "shared_storage"
    i64 v_int = (i64)(1ULL + t_lane);
    v_double[v_int] = v_restrict[v_int] + v_restrict[(i64)((u64)v_int - 1ULL)];
#line 2 "shared_storage"
}

#line 2 "shared_storage"
extern "C" __global__ void __launch_bounds__(256) shared_storage_narrow(f32* __restrict__ v_double, const f32* __restrict__ v_restrict, const shared_storage_pack* __restrict__ t_pack)
#line 2 "shared_storage"
{
    const i64 t_count = t_pack->t_count;
#line 3 "shared_storage"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
#line 3 "shared_storage"
    i64 v_int = (i64)(i32)(1u + t_lane);
    v_double[(i32)(u32)v_int] = v_restrict[(i32)(u32)v_int] + v_restrict[(i64)(i32)(u32)v_int - 1LL];
#line 2 "shared_storage"
}
