// Stacks and the switch between them: by hand for x86-64 and aarch64, else by the C library. Knows nothing of lanes.

#pragma once

#include <cstdint>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#if !defined(SIM_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define SIM_UCONTEXT
#endif
#ifdef SIM_UCONTEXT
#include <ucontext.h>
#endif

typedef uint64_t u64;

static const u64 STACK = 256 << 10;  // bytes of a fiber's stack

struct Fiber;
static void run_fiber(Fiber* fiber);

#ifdef SIM_UCONTEXT
struct Context {
    ucontext_t state;
};
static void change(Context& from, Context& to) { swapcontext(&from.state, &to.state); }
static void enter(unsigned high, unsigned low) { run_fiber((Fiber*)((u64)high << 32 | low)); }
static void prepare(Context& context, char* stack, u64 size, Fiber* fiber) {
    getcontext(&context.state);
    context.state.uc_stack.ss_sp = stack;
    context.state.uc_stack.ss_size = size;
    context.state.uc_link = nullptr;
    makecontext(&context.state, (void (*)())enter, 2, (unsigned)((u64)fiber >> 32), (unsigned)(u64)fiber);
}
#else
struct Context {
    void* sp;
};
extern "C" void sim_switch(void** from, void* to) __asm__("tack_sim_switch");
extern "C" void sim_begin() __asm__("tack_sim_begin");
#ifdef __x86_64__
__asm__(R"(
.text
tack_sim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
tack_sim_begin:
    movq %r12, %rdi
    callq *%r13
    ud2
)");
static void prepare(Context& context, char* stack, u64 size, Fiber* fiber) {
    void** sp = (void**)(stack + size);
    *--sp = nullptr;
    *--sp = nullptr;  // the stack is aligned to 16 bytes where sim_begin calls
    *--sp = (void*)sim_begin;
    *--sp = nullptr;  // rbp
    *--sp = nullptr;  // rbx
    *--sp = fiber;    // r12
    *--sp = (void*)run_fiber;  // r13
    *--sp = nullptr;
    *--sp = nullptr;
    context.sp = sp;
}
#else
__asm__(R"(
.text
.p2align 2
tack_sim_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
tack_sim_begin:
    mov x0, x19
    blr x20
    brk #0
)");
static void prepare(Context& context, char* stack, u64 size, Fiber* fiber) {
    void** sp = (void**)(stack + size) - 20;
    memset(sp, 0, 160);
    sp[0] = fiber;               // x19
    sp[1] = (void*)run_fiber;    // x20
    sp[11] = (void*)sim_begin;  // x30
    context.sp = sp;
}
#endif
static void change(Context& from, Context& to) { sim_switch(&from.sp, to.sp); }
#endif

// Stacks are kept for later launches; each has a page below it that must not be touched.
struct Stacks {
    std::mutex lock;
    std::vector<char*> spare;
    char* take() {
        {
            std::lock_guard<std::mutex> held(lock);
            if (!spare.empty()) {
                char* stack = spare.back();
                spare.pop_back();
                return stack;
            }
        }
        const u64 guard = (u64)sysconf(_SC_PAGESIZE);
        int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
        flags |= MAP_NORESERVE;
#endif
        void* whole = mmap(nullptr, STACK + guard, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (whole == MAP_FAILED) return nullptr;
        mprotect(whole, guard, PROT_NONE);
        return (char*)whole + guard;
    }
    void give(char* stack) {
        std::lock_guard<std::mutex> held(lock);
        spare.push_back(stack);
    }
};
static Stacks& stacks() {
    static Stacks* all = new Stacks;  // never destroyed: other threads may run when the process ends
    return *all;
}
