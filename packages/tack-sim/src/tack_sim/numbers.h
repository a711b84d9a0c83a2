// Rounding modes other than to nearest, and approximations, for lanes.cpp.

#pragma once

#include <cfenv>
#include <cmath>
#include <cstdint>

typedef uint32_t u32;
typedef uint64_t u64;

struct Rounding {
    int before;
    explicit Rounding(u32 mode) : before(fegetround()) {
        const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
        fesetround(modes[mode]);
    }
    ~Rounding() { fesetround(before); }
};

template <class T> static T operate(u32 operation, u32 mode, T a_, T b_, T c_) {
    Rounding rounding(mode);
    volatile T a = a_, b = b_, c = c_, r = 0;  // volatile: the compiler must not move an operation out of the mode
    switch (operation) {
        case 0: r = a + b; break;
        case 1: r = a - b; break;
        case 2: r = a * b; break;
        case 3: r = std::fma((T)a, (T)b, (T)c); break;
        case 4: r = a / b; break;
        case 5: r = std::sqrt((T)a); break;
    }
    return r;
}
template <class T, class S> static T convert(u32 mode, S value_) {
    Rounding rounding(mode);
    volatile S value = value_;
    volatile T r = (T)value;
    return r;
}
extern "C" {
float sim_round_f32(u32 operation, u32 mode, float a, float b, float c) { return operate(operation, mode, a, b, c); }
double sim_round_f64(u32 operation, u32 mode, double a, double b, double c) { return operate(operation, mode, a, b, c); }
float sim_narrow(u32 mode, double x) { return convert<float>(mode, x); }
float sim_f32_of_s64(u32 mode, int64_t x) { return convert<float>(mode, x); }
float sim_f32_of_u64(u32 mode, u64 x) { return convert<float>(mode, x); }
double sim_f64_of_s64(u32 mode, int64_t x) { return convert<double>(mode, x); }
double sim_f64_of_u64(u32 mode, u64 x) { return convert<double>(mode, x); }
float sim_sin(float x) { return (float)sin((double)x); }
float sim_cos(float x) { return (float)cos((double)x); }
float sim_ex2(float x) { return (float)exp2((double)x); }
float sim_lg2(float x) { return (float)log2((double)x); }
float sim_tanh(float x) { return (float)tanh((double)x); }
float sim_rsqrt(float x) { return (float)(1 / sqrt((double)x)); }
}
