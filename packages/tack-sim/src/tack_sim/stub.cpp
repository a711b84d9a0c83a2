// Stands in for libcuda.so.1: hands out functions by name and version, as the driver does. What they do is decided in Python.

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

typedef void* Function;

namespace {
constexpr int NOT_INITIALIZED = 3, INVALID_VALUE = 1, NOT_FOUND = 500;
constexpr uint64_t PER_THREAD_STREAMS = 2;
enum Status { FOUND, NO_SUCH_NAME, NO_SUCH_VERSION };

std::mutex& guard() {
    static std::mutex mutex;
    return mutex;
}

std::map<std::string, std::map<int, Function>>& table() {
    static std::map<std::string, std::map<int, Function>> entries;
    return entries;
}

// The newest form of a function that callers of a CUDA version know.
Function find(const char* name, int version, int* status) {
    std::lock_guard<std::mutex> lock(guard());
    auto entry = table().find(name);
    if (entry == table().end()) {
        *status = NO_SUCH_NAME;
        return nullptr;
    }
    auto newer = entry->second.upper_bound(version);
    if (newer == entry->second.begin()) {
        *status = NO_SUCH_VERSION;
        return nullptr;
    }
    *status = FOUND;
    return (--newer)->second;
}
}  // namespace

extern "C" {

void tack_sim_add(const char* name, int version, Function function) {
    std::lock_guard<std::mutex> lock(guard());
    table()[name][version] = function;
}

// A number for the calling thread that no other thread gets, not even after this one has ended.
uint64_t tack_sim_thread() {
    static std::mutex mutex;
    static uint64_t last = 0;
    static thread_local uint64_t number = 0;
    if (!number) {
        std::lock_guard<std::mutex> lock(mutex);
        number = ++last;
    }
    return number;
}

int cuGetProcAddress_v2(const char* name, Function* function, int version, uint64_t flags, int* status) {
    if (!name || !function) return INVALID_VALUE;
    int found;
    *function = nullptr;
    if (!strcmp(name, "cuGetProcAddress") && version >= 12000) {
        *function = (Function)cuGetProcAddress_v2;
        found = FOUND;
    } else if (flags & PER_THREAD_STREAMS) {  // those functions mean another stream by 0
        found = NO_SUCH_NAME;
    } else {
        *function = find(name, version, &found);
    }
    if (status) *status = found;
    return *function || status ? 0 : NOT_FOUND;
}

int cuGetProcAddress(const char* name, Function* function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

// What NVRTC looks up in the library itself.

int cuInit(unsigned flags) {
    int status;
    Function function = find("cuInit", 2000, &status);
    return function ? ((int (*)(unsigned))function)(flags) : NOT_INITIALIZED;
}

int cuDriverGetVersion(int* version) {
    int status;
    Function function = find("cuDriverGetVersion", 2020, &status);
    return function ? ((int (*)(int*))function)(version) : NOT_INITIALIZED;
}

int cuGetExportTable(const void** exported, const void*) {
    if (exported) *exported = nullptr;
    return NOT_FOUND;
}
}
