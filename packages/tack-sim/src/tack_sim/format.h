// Formats one value as printf does, for lanes.cpp.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

typedef uint64_t u64;

// `stars` are the widths given as arguments; `wide`: an integer of 8 bytes.
static void append(
    std::string& output, const char* format, const std::vector<int>& stars, u64 bits, char kind, const char* text, bool wide
) {
    char room[512];
    std::vector<char> large;
    char* to = room;
    size_t size = sizeof room;
    for (;;) {
        int n = 0;
        double number;
        memcpy(&number, &bits, 8);
#define PUT(value)                                                                       \
    n = stars.size() == 2   ? snprintf(to, size, format, stars[0], stars[1], value) \
        : stars.size() == 1 ? snprintf(to, size, format, stars[0], value)           \
                            : snprintf(to, size, format, value)
        if (strchr("fFeEgGaA", kind)) PUT(number);
        else if (kind == 's') PUT(text);
        else if (kind == 'p') PUT((void*)bits);
        else if (wide) PUT((long long)bits);
        else PUT((int)bits);
#undef PUT
        if (n < 0) return;
        if ((size_t)n < size) {
            output.append(to, (size_t)n);
            return;
        }
        large.resize((size_t)n + 1);
        to = large.data();
        size = large.size();
    }
}
