#include "engine/symbols/other_manglings.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include "engine/symbols/demangle.h"

#if !defined(__GLIBC__)
#include <cstdarg>
#include <cstdio>

// Debian's archive was compiled for glibc with _FORTIFY_SOURCE; musl has no such function.
extern "C" __attribute__((weak, visibility("hidden"))) int __snprintf_chk(char* text, std::size_t size, int,
                                                                          std::size_t, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, size, format, arguments);
  va_end(arguments);
  return length;
}
#endif

// From libiberty (its demangle.h does not compile as C++20 under our warnings). The first answers 1 on success.
extern "C" int rust_demangle_callback(const char* mangled, int options,
                                      void (*callback)(const char*, std::size_t, void*), void* opaque);
extern "C" char* dlang_demangle(const char* mangled, int options);

// The allocators that libiberty calls, so that nothing else of that archive is linked. Weak: a program that is linked
// with libmixstack.a may have its own of these names.
extern "C" __attribute__((weak, visibility("hidden"))) void* xmalloc(std::size_t size) {
  void* memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) std::abort();
  return memory;
}
extern "C" __attribute__((weak, visibility("hidden"))) void* xrealloc(void* old, std::size_t size) {
  void* memory = std::realloc(old, size != 0 ? size : 1);
  if (memory == nullptr) std::abort();
  return memory;
}

namespace mixstack::symbols {
namespace {

/// Plain data: the jump out of libiberty must skip no destructor.
struct Sink {
  std::jmp_buf too_long;
  std::size_t used = 0;
  std::array<char, kMaxDemangled> text;
};

/// A text that is too long is left by longjmp, because back references of a hostile name can double it without end. Not
/// while a Punycode name is written, whose memory libiberty would not free; only that text has non-ASCII bytes.
void append(const char* text, std::size_t size, void* opaque) {
  auto* sink = static_cast<Sink*>(opaque);
  if (size <= sink->text.size() - sink->used) {
    std::copy_n(text, size, sink->text.data() + sink->used);
    sink->used += size;
    return;
  }
  sink->used = sink->text.size();
  if (std::all_of(text, text + size, [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    std::longjmp(sink->too_long, 1);
}

/// No object with a destructor may live here.
bool rust_into(Sink& sink, const char* name) {
  if (setjmp(sink.too_long) != 0) return false;
  return rust_demangle_callback(name, 0, append, &sink) != 0 && sink.used < sink.text.size();
}

/// D's demangler cannot be stopped. Each back reference ("Q") at most doubles the text.
constexpr std::size_t kMaxD = 2 << 10, kMaxExpansion = 4 << 20;

bool expansion_is_bounded(std::string_view name) {
  std::size_t size = name.size();
  for (const char c : name)
    if (c == 'Q' && (size *= 2) > kMaxExpansion) return false;
  return true;
}

}  // namespace

std::optional<std::string> demangle_rust_v0(std::string_view name) {
  if (!name.starts_with("_R") || name.size() > kMaxMangled) return std::nullopt;
  const std::string terminated(name);
  Sink sink;
  if (!rust_into(sink, terminated.c_str())) return std::nullopt;
  std::string text(sink.text.data(), sink.used);
  return text;
}

std::optional<std::string> demangle_d(std::string_view name) {
  if (!name.starts_with("_D") || name.size() < 4 || name.size() > kMaxD || !expansion_is_bounded(name))
    return std::nullopt;
  const std::string terminated(name);
  const std::unique_ptr<char, void (*)(void*)> text(dlang_demangle(terminated.c_str(), 0), std::free);
  if (!text || std::string_view(text.get()).size() > kMaxDemangled) return std::nullopt;
  return std::string(text.get());
}

}  // namespace mixstack::symbols
