#include "engine/symbols/demangle.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <utility>

#include "engine/symbols/other_manglings.h"
#include "engine/symbols/rust_legacy.h"

// The demangler of libstdc++ that writes through a callback (libstdc++-v3/libsupc++, cp-demangle.h): the only form that
// can be stopped. abi::__cxa_demangle allocates as much as a hostile name makes it. Answers 0 on success.
extern "C" int __gcclibcxx_demangle_callback(const char* mangled, void (*callback)(const char*, std::size_t, void*),
                                             void* opaque);

namespace mixstack::symbols {
namespace {

/// Plain data, since the jump out of the demangler (C code without clean-up) must skip no destructor.
struct Sink {
  std::jmp_buf too_long;
  std::size_t used = 0;
  std::array<char, kMaxDemangled> text;
};

void append(const char* text, std::size_t size, void* opaque) {
  auto* sink = static_cast<Sink*>(opaque);
  if (size > sink->text.size() - sink->used) std::longjmp(sink->too_long, 1);
  std::copy_n(text, size, sink->text.data() + sink->used);
  sink->used += size;
}

/// False when it is no C++ name or its text is too long. No object with a destructor may live here.
bool demangle_into(Sink& sink, const char* name) {
  if (setjmp(sink.too_long) != 0) return false;
  return __gcclibcxx_demangle_callback(name, append, &sink) == 0;
}

/// Length of the UTF-8 sequence at the front, 0 when there is none that is valid and printable.
std::size_t printable_length(std::string_view s) {
  const auto at = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const unsigned first = at(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 && first < 0xf5   ? 4
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xc2 && first < 0xe0 ? 2
                                                             : 0;
  for (std::size_t i = 1; i < length; i++)
    if ((at(i) & 0xc0) != 0x80) return 0;
  const unsigned second = at(1);
  // Overlong forms, surrogates, beyond U+10FFFF, and the C1 control characters (RFC 3629).
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second > 0x8f) || (first == 0xc2 && second < 0xa0))
    return 0;
  return length;
}

}  // namespace

std::string demangle(std::string_view name) {
  if (name.starts_with("_R")) return demangle_rust_v0(name).value_or(std::string(name));
  if (name.starts_with("_D")) return demangle_d(name).value_or(std::string(name));
  if (!name.starts_with("_Z") || name.size() > kMaxMangled) return std::string(name);
  const std::string terminated(name);
  Sink sink;
  if (!demangle_into(sink, terminated.c_str())) return terminated;
  std::string text(sink.text.data(), sink.used);
  return is_rust_legacy(name) ? rust_legacy_text(std::move(text)) : text;
}

std::string printable(std::string_view name, std::size_t limit) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  while (!name.empty()) {
    const std::size_t length = printable_length(name);
    if (out.size() + std::max<std::size_t>(length, 4) > limit) break;
    if (length != 0) {
      out.append(name.substr(0, length));
    } else {
      const auto byte = static_cast<unsigned char>(name[0]);
      out.append({'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]});
    }
    name.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace mixstack::symbols
