// Samples 3-D textures: clamped addresses, and weights of 8 bits as the hardware has them.

#pragma once

#include <cmath>
#include <cstdint>

typedef uint32_t u32;
typedef uint64_t u64;

struct Texture {
    u64 handle;
    const float* texels;
    u32 width, height, depth, channels;
    u32 linear, normalized;
};

static const float* texel(const Texture& t, long x, long y, long z) {
    auto clamp = [](long v, u32 size) { return v < 0 ? 0 : v >= (long)size ? (long)size - 1 : v; };
    u64 row = (u64)clamp(z, t.depth) * t.height + (u64)clamp(y, t.height);
    return t.texels + (row * t.width + (u64)clamp(x, t.width)) * t.channels;
}

// All four channels; those that the texture has not are NaN.
static void sample(const Texture& t, float x, float y, float z, float* out) {
    const u32 size[3] = {t.width, t.height, t.depth};
    const float given[3] = {x, y, z};
    long low[3];
    double weight[3];
    for (int k = 0; k < 3; ++k) {
        float at = given[k] == given[k] ? given[k] : 0;
        if (t.normalized) at *= (float)size[k];
        if (t.linear) at -= 0.5f;
        at = fminf(fmaxf(at, -1.0f), (float)size[k]);  // beyond that all is the edge
        float whole = floorf(at);
        low[k] = (long)whole;
        weight[k] = t.linear ? floor(((double)at - whole) * 256 + 0.5) / 256 : 0;
    }
    for (u32 c = 0; c < 4; ++c) {
        if (c >= t.channels) {
            out[c] = NAN;
            continue;
        }
        if (!t.linear) {
            out[c] = texel(t, low[0], low[1], low[2])[c];
            continue;
        }
        double sum = 0;
        for (int corner = 0; corner < 8; ++corner) {
            double w = 1;
            for (int k = 0; k < 3; ++k) w *= corner >> k & 1 ? weight[k] : 1 - weight[k];
            if (w != 0) sum += w * texel(t, low[0] + (corner & 1), low[1] + (corner >> 1 & 1), low[2] + (corner >> 2))[c];
        }
        out[c] = (float)sum;
    }
}
