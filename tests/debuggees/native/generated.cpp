// Code that is made in anonymous memory, and what its maker tells of it. generated MODE; prints "TRUTH BEGIN SIZE NAME"
// for each function of such code, outermost first, and "READY PID" when the thread stands in
//   generated_innermost < made inner < generated_between < made outer < main
// map: frame pointers, and the list for perf. image: none, and an image for GDB. With "busy" behind, the innermost
// function computes instead. late: busy as map; after a line of input other functions are made, which compute from then
// on.
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../support/jit_elf.h"

namespace {

using namespace mixstack::test;

#if defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
// stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret
constexpr std::uint32_t kFramed[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#else
constexpr std::uint16_t kMachine = EM_X86_64;
// push rbp; mov rbp, rsp; call rdi; pop rbp; ret
constexpr std::uint8_t kFramed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#endif
constexpr std::size_t kPage = 4096, kOuter = 64, kInner = 1024;

using Callback = void (*)();
using Made = void (*)(Callback);

bool is_busy;
Made inner;
volatile unsigned long computed;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

void ready() {
  std::printf("READY %d\n", ::getpid());
  std::fflush(stdout);
}

Made at(std::byte* code, std::size_t offset) { return reinterpret_cast<Made>(code + offset); }

std::uint64_t address(const std::byte* code) { return reinterpret_cast<std::uint64_t>(code); }

/// Two functions, at kOuter and at kInner.
std::byte* make_code(bool has_frames) {
  void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) fail("mmap");
  auto* code = static_cast<std::byte*>(page);
  for (const std::size_t offset : {kOuter, kInner}) {
    if (has_frames) {
      std::memcpy(code + offset, kFramed, sizeof kFramed);
    } else {
      put_jit_code(kMachine, code + offset);
    }
  }
  if (::mprotect(page, kPage, PROT_READ | PROT_EXEC) != 0) fail("mprotect");
  __builtin___clear_cache(static_cast<char*>(page), static_cast<char*>(page) + kPage);
  return code;
}

void tell(const std::string& name, std::uint64_t begin, std::size_t size) {
  std::printf("TRUTH %lx %zx %s\n", begin, size, name.c_str());
}

std::FILE* list() {
  static std::FILE* const file = std::fopen(("/tmp/perf-" + std::to_string(::getpid()) + ".map").c_str(), "w");
  if (file == nullptr) fail("perf map");
  return file;
}

void write_down(const std::string& name, std::uint64_t begin) {
  std::fprintf(list(), "%lx %zx %s\n", begin, sizeof kFramed, name.c_str());
  std::fflush(list());
  tell(name, begin, sizeof kFramed);
}

}  // namespace

// GDB's interface ("JIT Compilation Interface" of its manual).
extern "C" {
struct jit_code_entry {
  jit_code_entry *next, *previous;
  const std::byte* image;
  std::uint64_t size;
};
struct jit_descriptor {
  std::uint32_t version, action;
  jit_code_entry *relevant, *first;
};
__attribute__((noinline)) void __jit_debug_register_code() { asm volatile("" ::: "memory"); }
jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};

__attribute__((noinline)) void generated_compute(unsigned long rounds) {
  for (unsigned long i = 0; i < rounds; i++) computed = computed + i;
}

/// Stands, or computes for some 20 ms.
__attribute__((noinline)) void generated_innermost() {
  for (int i = 0; is_busy && i < 20000; i++) generated_compute(1000);
  if (is_busy) return;
  ready();
  for (;;) ::pause();
}

__attribute__((noinline)) void generated_between() {
  inner(generated_innermost);
  computed = computed + 1;  // no tail call
}
}

namespace {

void show_image(std::byte* code) {
  const std::vector<JitFunction> functions{{"_ZN3gen5outerEi", kOuter}, {"made_inner", kInner}};
  static JitBytes image;
  image = build_jit_elf(kMachine, address(code), kPage, functions, jit_eh_frame(kMachine, address(code), functions));
  static jit_code_entry entry;
  entry = {nullptr, nullptr, image.data(), image.size()};
  __jit_debug_descriptor.first = __jit_debug_descriptor.relevant = &entry;
  __jit_debug_descriptor.action = 1;
  __jit_debug_register_code();
  tell("gen::outer(int)", address(code + kOuter), jit_code_size(kMachine));
  tell("made_inner", address(code + kInner), jit_code_size(kMachine));
}

void write_down_all(std::byte* code, const std::string& when) {
  // What was freed before is not named any more.
  std::fprintf(list(), "%lx %zx gone before\n", address(code), kPage);
  write_down("made outer [" + when + "]", address(code + kOuter));
  write_down("made inner [" + when + "]", address(code + kInner));
}

[[nodiscard]] bool has_input() {
  pollfd input{0, POLLIN, 0};
  return ::poll(&input, 1, 0) == 1;
}

}  // namespace

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "map";
  is_busy = mode == "late" || (count > 2 && std::string(words[2]) == "busy");
  std::byte* code = make_code(mode != "image");
  inner = at(code, kInner);
  if (mode == "image") {
    show_image(code);
  } else {
    write_down_all(code, "early");
  }
  if (is_busy) ready();
  for (bool is_early = true;;) {
    at(code, kOuter)(generated_between);
    if (mode != "late" || !is_early || !has_input()) continue;
    is_early = false;
    code = make_code(true);
    inner = at(code, kInner);
    write_down_all(code, "late");
    ready();
  }
}
