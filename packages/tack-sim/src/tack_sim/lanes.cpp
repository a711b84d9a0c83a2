// Runs grids of lanes: the loops over blocks and lanes, fibers for barriers, checks of memory, printf, textures, rounding modes.
// Knows nothing of PTX: kernels are functions of one struct Lane that call what is exported here.

#include "fibers.h"
#include "format.h"
#include "numbers.h"
#include "texture.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

enum Kind : u32 {  // FAULTS in ptx_helpers.py
    NONE, OUT_OF_BOUNDS, USE_AFTER_FREE, NOT_DEVICE_MEMORY, MISALIGNED, UNINITIALIZED, RACE, DIVERGENCE, BAD_TEXTURE, BAD_CALL,
    BAD_BRANCH, STACK_OVERFLOW, ASSERTION, TRAP
};
enum Space : u32 { ANY, SHARED, LOCAL };  // engine_native.py
// ptx_memory.py has the first five. SAME: a plain write of what is there already, which no other write minds.
enum Mode : u32 { READ, WRITE, STRONG_READ, STRONG_WRITE, ATOMIC, SAME };

static const u64 SHARED_WINDOW = 0x7E00000000000000;
static const u64 MARGIN = 64 << 10;  // bytes of a stack that a called function may need
static const u64 NEAR = 4096;
static const u16 NOBODY = 0xFFFF;
static const u32 NOWHERE = 0xFFFFFFFF;

// The layouts of the structs down to Job are known in Python: engine_native.py, ptx_writer.py and ptx_helpers.py.
struct Launch;
struct Lane {
    u32 tid[3], ntid[3], ctaid[3], nctaid[3];
    u32 number;   // in the block
    u32 dynamic;  // bytes of dynamic shared memory
    u64 params;
    u64 base, size, shadow;                 // the device's memory
    u64 local_base, local_top, local_limit;  // the lane's own memory; what is in use ends at the top
    u64 variables;
    u64 stack_limit;
    Launch* launch;
    u32 total;  // bytes of shared memory
};
struct Range {
    u32 start, size;
};
struct Fault {
    u32 kind, site, other_site, lane, other_lane, waiting, lanes, size;
    u32 block[3];
    u32 space;  // of the address
    u64 address;
};
struct Job {
    void (*kernel)(Lane*);
    const u8* params;
    u64 params_size;
    u32 grid[3], block[3];
    u64 base, size, shadow;
    const u64* variables;
    const Texture* textures;
    u64 texture_count;
    const Range* shared;
    u64 shared_count;
    u64 shared_span;
    u64 local_bytes;
    const u32* lines;  // of each site; barriers of one line are one barrier
    u32 dynamic, total, barriers, reverse, leaving, silent;
    Fault fault;
    char message[512];
};

// Who met a byte in this phase: two lanes are enough to know whether another one did.
struct Access {
    u32 stamp;
    u16 lane, other;
    u32 site, other_site;
};
struct Cell {
    Access write, read, strong_write, strong_read;
};

struct Fiber {
    Context context;
    char* stack = nullptr;
    Launch* launch;
    Lane* lane;
    bool ended, left;  // left: by an `exit`, which releases those who wait at a barrier
    u32 barrier, operation, value, result, site;
};

struct Launch {
    Job* job;
    Context main;
    Fiber* running;
    bool stopped;
    // A read of what nobody wrote: the lanes run on to the next barrier, for another one may write it, which makes it a race.
    bool pending;
    Fault unwritten;
    u32 lanes, alive;  // of a block
    u32 turn;          // how many lanes had their turn in this phase
    u64 blocks;
    std::vector<Fiber> fibers;
    std::vector<Lane> lane;
    std::string output;
    // shared memory
    u8* bytes;
    u8* owned;     // whether a byte belongs to a variable
    u32* written;  // the stamp of the last write
    Cell* cells;
    u8* split;  // by a word's first byte: whether its bytes are told apart
    u32 stamp, block_stamp;

    void next_phase() {
        if (++stamp == NOWHERE) {
            memset(cells, 0, job->shared_span * sizeof(Cell));
            memset(written, 0, job->shared_span * sizeof(u32));
            stamp = block_stamp = 1;
        }
    }
    void flush() {
        for (u64 done = 0; !job->silent && done < output.size();) {
            ssize_t n = write(1, output.data() + done, output.size() - done);
            if (n <= 0) break;
            done += (u64)n;
        }
        output.clear();
    }
};

// ---- faults

static bool stop_for_pending(Launch* launch) {
    if (launch->pending) {
        launch->job->fault = launch->unwritten;
        launch->stopped = true;
    }
    return launch->pending;
}

[[noreturn]] static void leave(Launch* launch) {
    if (launch->job->fault.kind != RACE) stop_for_pending(launch);  // what follows from a wrong value is not the fault
    launch->stopped = true;
    change(launch->running->context, launch->main);
    abort();  // nobody resumes a fiber that left
}

static Fault& fault_of(Lane* lane, u32 kind, u32 site) {
    Fault& fault = lane->launch->job->fault;
    fault = Fault();
    fault.kind = kind;
    fault.site = site;
    fault.other_site = NOWHERE;
    fault.lane = lane->number;
    memcpy(fault.block, lane->ctaid, sizeof fault.block);
    return fault;
}

[[noreturn]] static void stop(Lane* lane, u32 kind, u64 address, u32 size, u32 site, u32 space = ANY) {
    Fault& fault = fault_of(lane, kind, site);
    fault.address = address;
    fault.size = size;
    fault.space = space;
    leave(lane->launch);
}

extern "C" void sim_fault(Lane* lane, u32 kind, u64 detail, u32 site) { stop(lane, kind, detail, 0, site); }

// ---- memory

static void* device_bytes(Lane* lane, u64 address, u32 size, u32 site) {
    u64 offset = address - lane->base;
    if (offset >= lane->size || lane->size - offset < size) stop(lane, NOT_DEVICE_MEMORY, address, size, site);
    const u8* shadow = (const u8*)lane->shadow;
    for (u64 at = offset, end = offset + size; at < end;) {
        u8 valid = shadow[at >> 3];
        u64 next = (at | 7) + 1 < end ? (at | 7) + 1 : end;
        bool fits = valid == 0 || (valid < 8 && ((next - 1) & 7) < valid);
        if (!fits) stop(lane, valid == 0xFD ? USE_AFTER_FREE : OUT_OF_BOUNDS, address, size, site);
        at = next;
    }
    if (address & (size - 1)) stop(lane, MISALIGNED, address, size, site);
    return (void*)address;
}

extern "C" void* sim_global(Lane* lane, u64 address, u32 size, u32 site) { return device_bytes(lane, address, size, site); }

extern "C" void* sim_local(Lane* lane, u64 address, u32 size, u32 site) {
    u64 offset = address - lane->local_base, used = lane->local_top - lane->local_base;
    if (offset >= used || used - offset < size) stop(lane, OUT_OF_BOUNDS, offset, size, site, LOCAL);
    if (address & (size - 1)) stop(lane, MISALIGNED, offset, size, site, LOCAL);
    return (void*)address;
}

extern "C" void* sim_param(Lane* lane, u64 address, u32 size, u32 site) {
    u64 offset = address - lane->params, all = lane->launch->job->params_size;
    if (offset >= all || all - offset < size) stop(lane, OUT_OF_BOUNDS, address, size, site);
    if (address & (size - 1)) stop(lane, MISALIGNED, address, size, site);
    return (void*)address;
}

// Memory for a local variable of a function that begins. What nobody wrote reads as NaN and -1.
extern "C" u64 sim_depot(Lane* lane, u64 size, u64 align, u32 site) {
    u64 start = (lane->local_top + align - 1) / align * align;
    if (start + size > lane->local_limit) stop(lane, STACK_OVERFLOW, start, (u32)size, site);
    memset((void*)start, 0xFF, size);
    lane->local_top = start + size;
    return start;
}

static bool met(const Access& access, u32 stamp, u16 lane, u32* other_lane, u32* other_site) {
    if (access.stamp != stamp) return false;
    if (access.lane != lane) {
        *other_lane = access.lane;
        *other_site = access.site;
        return true;
    }
    if (access.other == NOBODY) return false;
    *other_lane = access.other;
    *other_site = access.other_site;
    return true;
}

static void note(Access& access, u32 stamp, u16 lane, u32 site) {
    if (access.stamp != stamp)
        access = {stamp, lane, NOBODY, site, NOWHERE};
    else if (access.lane != lane && access.other == NOBODY) {
        access.other = lane;
        access.other_site = site;
    }
}

// Notes an access to one cell, after it was found to be no race.
static void meet(Lane* lane, u64 at, u32 size, u32 mode, u32 site) {
    Launch* launch = lane->launch;
    Cell& cell = launch->cells[at];
    u32 now = launch->stamp, other_lane, other_site;
    u16 self = (u16)lane->number;
    bool race = mode != SAME && met(cell.write, now, self, &other_lane, &other_site);
    if (mode == READ)
        race = race || met(cell.strong_write, now, self, &other_lane, &other_site);
    else if (mode != STRONG_READ)
        race = race || met(cell.read, now, self, &other_lane, &other_site);
    if (mode == WRITE)
        race = race || met(cell.strong_write, now, self, &other_lane, &other_site) ||
               met(cell.strong_read, now, self, &other_lane, &other_site);
    if (mode == SAME) race = race || met(cell.strong_read, now, self, &other_lane, &other_site);
    if (race) {
        Fault& fault = fault_of(lane, RACE, site);
        fault.address = at;
        fault.space = SHARED;
        fault.size = size;
        fault.other_lane = other_lane;
        fault.other_site = other_site;
        leave(launch);
    }
    if (mode != WRITE && mode != STRONG_WRITE && mode != SAME && launch->written[at] < launch->block_stamp && !launch->pending) {
        launch->pending = true;
        Fault& fault = fault_of(lane, UNINITIALIZED, site);
        fault.address = at;
        fault.space = SHARED;
        fault.size = size;
        launch->unwritten = fault;
        fault = Fault();
    }
    if (mode != READ && mode != STRONG_READ) launch->written[at] = now;
    Access* kinds[] = {&cell.read, &cell.write, &cell.strong_read, &cell.strong_write, &cell.strong_write, &cell.write};  // by mode
    note(*kinds[mode], now, self, site);
}

// The mode of a plain write of `value`: several lanes may store one number without a barrier.
extern "C" u32 sim_write(Lane* lane, u64 offset, u32 size, u64 value) {
    Launch* launch = lane->launch;
    u64 span = launch->job->shared_span;
    bool inside = offset < span && span - offset >= size;
    return inside && !memcmp(launch->bytes + offset, &value, size) ? SAME : WRITE;
}

extern "C" void* sim_shared(Lane* lane, u64 offset, u32 size, u32 mode, u32 site) {
    Launch* launch = lane->launch;
    u64 span = launch->job->shared_span;
    if (offset >= span || span - offset < size) stop(lane, OUT_OF_BOUNDS, offset, size, site, SHARED);
    for (u32 k = 0; k < size; ++k)
        if (!launch->owned[offset + k]) stop(lane, OUT_OF_BOUNDS, offset, size, site, SHARED);
    if (offset & (size - 1)) stop(lane, MISALIGNED, offset, size, site, SHARED);
    for (u64 at = offset; at < offset + size;) {
        // A word that is only met as a whole has one cell, that of its first byte.
        u64 word = at & ~(u64)3;
        if (size < 4 && !launch->split[word]) {
            launch->split[word] = 1;
            for (u64 k = word + 1; k < word + 4; ++k) {
                launch->cells[k] = launch->cells[word];
                launch->written[k] = launch->written[word];
            }
        }
        if (!launch->split[word]) {
            meet(lane, word, size, mode, site);
            at = word + 4;
        } else {
            meet(lane, at++, size, mode, site);
        }
    }
    return launch->bytes + offset;
}

extern "C" void* sim_generic(Lane* lane, u64 address, u32 size, u32 mode, u32 site) {
    if (address - SHARED_WINDOW < (u64)1 << 32) return sim_shared(lane, address - SHARED_WINDOW, size, mode, site);
    if (address - lane->base < lane->size) return device_bytes(lane, address, size, site);
    if (address - lane->params < lane->launch->job->params_size && (mode == READ || mode == STRONG_READ))
        return sim_param(lane, address, size, site);
    // Somewhat before and behind the lane's own memory it is still an index that is wrong, not a pointer.
    if (address - lane->local_base + NEAR < lane->local_limit - lane->local_base + 2 * NEAR) return sim_local(lane, address, size, site);
    return device_bytes(lane, address, size, site);
}

// ---- barriers

// Whose turn it is: the next lane that has not ended, or the loop over phases.
static Context& onward(Launch* launch) {
    while (launch->turn < launch->lanes) {
        u32 k = launch->turn++;
        Fiber& fiber = launch->fibers[launch->job->reverse ? launch->lanes - 1 - k : k];
        if (fiber.ended) continue;
        launch->running = &fiber;
        return fiber.context;
    }
    return launch->main;
}

extern "C" void sim_exit(Lane* lane) { lane->launch->running->left = true; }

extern "C" u32 sim_barrier(Lane* lane, u32 barrier, u32 operation, u32 value, u32 site) {
    Fiber* fiber = lane->launch->running;
    fiber->barrier = barrier;
    fiber->operation = operation;
    fiber->value = value;
    fiber->site = site;
    change(fiber->context, onward(lane->launch));
    return fiber->result;
}

// ---- printf and assertions

static std::string text_at(Lane* lane, u64 address, u32 site) {
    std::string text;
    for (;; ++address) {
        char c = *(const char*)sim_generic(lane, address, 1, READ, site);
        if (!c || text.size() > 1 << 16) return text;
        text += c;
    }
}

extern "C" u32 sim_printf(Lane* lane, u64 format_address, u64 values, u32 site) {
    std::string format = text_at(lane, format_address, site), &output = lane->launch->output;
    u32 count = 0;
    u64 at = 0;
    auto next = [&](u32 size) {
        at = (at + size - 1) / size * size;
        u64 bits = 0;
        memcpy(&bits, sim_generic(lane, values + at, size, READ, site), size);
        at += size;
        ++count;
        return bits;
    };
    for (size_t k = 0; k < format.size();) {
        if (format[k] != '%') {
            output += format[k++];
            continue;
        }
        if (format[k + 1] == '%') {
            output += '%';
            k += 2;
            continue;
        }
        std::string spec = "%";
        std::vector<int> stars;
        u32 longs = 0;
        for (++k; k < format.size() && strchr("-+ #0123456789.*hlLjzt", format[k]); ++k) {
            if (format[k] == '*') stars.push_back((int)next(4));
            if (strchr("ljzt", format[k])) ++longs;
            if (!strchr("lLjzt", format[k])) spec += format[k];
        }
        if (k >= format.size()) break;
        char kind = format[k++];
        bool real = strchr("fFeEgGaA", kind), whole = strchr("diuoxXc", kind);
        if (!real && !whole && kind != 's' && kind != 'p') {
            output += spec + kind;  // printed as it stands, as the device's printf does
            continue;
        }
        bool wide = whole && longs && kind != 'c';
        u64 bits = next(real || kind == 's' || kind == 'p' || wide ? 8 : 4);
        std::string text = kind == 's' ? text_at(lane, bits, site) : "";
        if (wide) spec += "ll";
        append(output, (spec + kind).c_str(), stars, bits, kind, text.c_str(), wide);
    }
    if (output.size() > 1 << 16) lane->launch->flush();
    return count;
}

extern "C" void sim_assert(Lane* lane, u64 message, u64 file, u32 line, u64 function, u32 site) {
    std::string text = text_at(lane, file, site) + ":" + std::to_string(line) + ": " + text_at(lane, function, site) + ": " +
                       text_at(lane, message, site);
    Job* job = lane->launch->job;
    snprintf(job->message, sizeof job->message, "%s", text.c_str());
    fault_of(lane, ASSERTION, site);
    leave(lane->launch);
}

// ---- textures

extern "C" void sim_tex3d(Lane* lane, u64 handle, float x, float y, float z, float* out, u32 site) {
    Job* job = lane->launch->job;
    for (u64 k = 0; k < job->texture_count; ++k)
        if (job->textures[k].handle == handle) return sample(job->textures[k], x, y, z, out);
    stop(lane, BAD_TEXTURE, handle, 0, site);
}

// ---- the loops

static u64 volume(const u32* size) { return (u64)size[0] * size[1] * size[2]; }

static void split(u64 n, const u32* size, u32* out) {
    out[0] = (u32)(n % size[0]);
    out[1] = (u32)(n / size[0] % size[1]);
    out[2] = (u32)(n / size[0] / size[1]);
}

static void run_plain(Launch* launch) {
    Job* job = launch->job;
    Lane* lane = &launch->lane[0];
    for (u64 b = 0; b < launch->blocks; ++b) {
        split(job->reverse ? launch->blocks - 1 - b : b, job->grid, lane->ctaid);
        launch->next_phase();
        launch->block_stamp = launch->stamp;
        for (u32 k = 0; k < launch->lanes; ++k) {
            lane->number = job->reverse ? launch->lanes - 1 - k : k;
            split(lane->number, job->block, lane->tid);
            lane->local_top = lane->local_base;
            job->kernel(lane);
        }
        if (launch->pending) leave(launch);
    }
    change(launch->running->context, launch->main);
}

static void run_fiber(Fiber* fiber) {
    Launch* launch = fiber->launch;
    if (!launch->job->barriers) run_plain(launch);
    for (;;) {
        launch->job->kernel(fiber->lane);
        fiber->ended = true;
        --launch->alive;
        change(fiber->context, onward(launch));
    }
}

// Whether all lanes that have not ended wait at one barrier; else the fault is noted.
static bool together(Launch* launch) {
    Job* job = launch->job;
    Fiber *first = nullptr, *ended = nullptr, *other = nullptr;
    u32 waiting = 0;
    for (Fiber& fiber : launch->fibers) {
        if (fiber.ended) {
            if (!ended && !fiber.left) ended = &fiber;
            continue;
        }
        ++waiting;
        if (!first) first = &fiber;
        bool same = fiber.barrier == first->barrier && fiber.operation == first->operation;
        if (!other && !(same && job->lines[fiber.site] == job->lines[first->site])) other = &fiber;
    }
    if (!other && (!ended || job->leaving)) return true;
    Fault& fault = fault_of(first->lane, DIVERGENCE, first->site);
    fault.waiting = waiting;
    fault.lanes = launch->lanes;
    fault.other_lane = other ? other->lane->number : ended->lane->number;
    fault.other_site = other ? other->site : NOWHERE;
    launch->stopped = true;
    return false;
}

static void combine(Launch* launch) {
    u32 sum = 0, all = 1;
    for (Fiber& fiber : launch->fibers)
        if (!fiber.ended) {
            sum += fiber.value;
            all &= fiber.value;
        }
    for (Fiber& fiber : launch->fibers) fiber.result = fiber.operation == 1 ? sum : fiber.operation == 2 ? all : sum != 0;
}

static void run_block(Launch* launch, u64 block) {
    Job* job = launch->job;
    launch->next_phase();
    launch->block_stamp = launch->stamp;
    for (Fiber& fiber : launch->fibers) {
        split(block, job->grid, fiber.lane->ctaid);
        fiber.lane->local_top = fiber.lane->local_base;
        fiber.ended = fiber.left = false;
    }
    for (launch->alive = launch->lanes; launch->alive;) {
        launch->turn = 0;
        change(launch->main, onward(launch));
        if (launch->stopped || stop_for_pending(launch)) return;
        if (launch->alive) {
            if (!together(launch)) return;
            combine(launch);
        }
        launch->next_phase();
    }
}

static bool set_up(Launch& launch, Job* job, u8* local, u64 local_stride, u32 fibers) {
    launch.job = job;
    launch.stopped = launch.pending = false;
    launch.lanes = (u32)volume(job->block);
    launch.blocks = volume(job->grid);
    launch.stamp = launch.block_stamp = 0;
    launch.lane.resize(fibers);
    launch.fibers.resize(fibers);
    for (u32 k = 0; k < fibers; ++k) {
        Lane& lane = launch.lane[k];
        Fiber& fiber = launch.fibers[k];
        memcpy(lane.ntid, job->block, sizeof lane.ntid);
        memcpy(lane.nctaid, job->grid, sizeof lane.nctaid);
        split(k, job->block, lane.tid);
        lane.number = k;
        lane.dynamic = job->dynamic;
        lane.total = job->total;
        lane.params = (u64)job->params;
        lane.base = job->base;
        lane.size = job->size;
        lane.shadow = job->shadow;
        lane.local_base = lane.local_top = (u64)(local + k * local_stride);
        lane.local_limit = lane.local_base + job->local_bytes;
        lane.variables = (u64)job->variables;
        lane.launch = &launch;
        fiber.launch = &launch;
        fiber.lane = &lane;
        fiber.stack = stacks().take();
        if (!fiber.stack) return false;
        lane.stack_limit = (u64)fiber.stack + MARGIN;
        prepare(fiber.context, fiber.stack, STACK - k % 32 * 192, &fiber);  // not all in the same lines of the cache
    }
    for (u64 k = 0; k < job->shared_count; ++k) memset(launch.owned + job->shared[k].start, 1, job->shared[k].size);
    return true;
}

static int run(Launch& launch, Job* job, u8* local, u64 stride, u32 fibers) {
    bool memory = local && launch.bytes && launch.owned && launch.split && launch.written && launch.cells;
    if (!memory || !set_up(launch, job, local, stride, fibers)) return 2;
    if (job->barriers) {
        for (u64 b = 0; b < launch.blocks && !launch.stopped; ++b) run_block(&launch, job->reverse ? launch.blocks - 1 - b : b);
    } else {
        launch.running = &launch.fibers[0];
        change(launch.main, launch.running->context);
    }
    launch.flush();
    return launch.stopped;
}

// Runs a whole launch. 0; or 1 if it ended in the fault that the job then describes; or 2 if there is no memory for it.
extern "C" int sim_launch(Job* job) {
    Launch launch;
    u32 fibers = job->barriers ? (u32)volume(job->block) : 1;
    u64 span = job->shared_span, stride = (job->local_bytes + 63) / 64 * 64;
    u8* local = (u8*)aligned_alloc(64, fibers * stride + 64);
    // Zeroed pages come when they are touched.
    launch.bytes = (u8*)calloc(span + 64, 1);
    launch.owned = (u8*)calloc(span + 1, 1);
    launch.split = (u8*)calloc(span + 4, 1);
    launch.written = (u32*)calloc(span + 4, sizeof(u32));
    launch.cells = (Cell*)calloc(span + 4, sizeof(Cell));
    job->fault = Fault();
    job->message[0] = 0;
    int status = run(launch, job, local, stride, fibers);
    for (Fiber& fiber : launch.fibers)
        if (fiber.stack) stacks().give(fiber.stack);
    for (u8* memory : {local, launch.bytes, launch.owned, launch.split}) free(memory);
    free(launch.written);
    free(launch.cells);
    return status;
}
