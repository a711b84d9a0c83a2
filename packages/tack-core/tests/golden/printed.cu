#line 1 "tack"
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64; typedef float f32;

typedef struct { i64 t_count; } printed_pack;

#line 2 "printed"
extern "C" __global__ void __launch_bounds__(256) printed(const f32* __restrict__ v_x, const u8* __restrict__ v_code, const printed_pack* __restrict__ t_pack)
#line 2 "printed"
{
    const i64 t_count = t_pack->t_count;
#line 3 "printed"
    const u64 t_lane = (u64)blockIdx.x * 256 + threadIdx.x; if (t_lane >= (u64)t_count) return;
#line 3 "printed"
    i64 v_i = (i64)t_lane;
    if (v_x[v_i] > 1.0f) {
        printf("100%%; %lld; %.9g: %u; %d; %s\n", v_i, v_x[v_i], (u32)(__float_as_uint(v_x[v_i])), (u8)((u32)(u8)(__clz((int)(u32)(u8)(v_code[v_i])) - 24) + (u32)(u8)(__popc((u32)(u8)(v_code[v_i])))), (v_x[v_i] > 2.0f) ? "True" : "False");
    }
#line 2 "printed"
}

#line 2 "printed"
extern "C" __global__ void __launch_bounds__(256) printed_narrow(const f32* __restrict__ v_x, const u8* __restrict__ v_code, const printed_pack* __restrict__ t_pack)
#line 2 "printed"
{
    const i64 t_count = t_pack->t_count;
#line 3 "printed"
    const u32 t_lane = (u32)((u64)blockIdx.x * 256 + threadIdx.x); if (t_lane >= (u32)t_count) return;
#line 3 "printed"
    i64 v_i = (i64)(i32)t_lane;
    if (v_x[(i32)(u32)v_i] > 1.0f) {
        printf("100%%; %lld; %.9g: %u; %d; %s\n", v_i, v_x[(i32)(u32)v_i], (u32)(__float_as_uint(v_x[(i32)(u32)v_i])), (u8)((u32)(u8)(__clz((int)(u32)(u8)(v_code[(i32)(u32)v_i])) - 24) + (u32)(u8)(__popc((u32)(u8)(v_code[(i32)(u32)v_i])))), (v_x[(i32)(u32)v_i] > 2.0f) ? "True" : "False");
    }
#line 2 "printed"
}
