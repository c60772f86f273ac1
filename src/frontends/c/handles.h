// The objects behind the opaque pointers of the C interface, and how structures of callers are read and written.
#pragma once

#include <mixstack.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mixstack/record.h"
#include "mixstack/top.h"
#include "mixstack/why.h"

struct mixstack_session {
  mixstack::Why why;  ///< owns the session
};

struct mixstack_answer {
  mixstack::WhyAnswer answer;
  std::string json, text;
};

struct mixstack_dump {
  mixstack::ProcessDump dump;
  std::string json, text;
};

struct mixstack_recording {
  mixstack::Recording recording;
  std::vector<mixstack::FunctionTime> functions{};
  bool has_functions = false;
  std::map<std::string, std::string> files{};  ///< by format
};

struct mixstack_top {
  mixstack::Top top;
  mixstack::TopTable table{};
};

namespace mixstack::c {

constexpr std::size_t kMostOptionBytes = 4096;  // a larger size is invalid

/// Copies a caller's structure; the members that an older caller's smaller one lacks become 0.
template <class T>
bool read_options(const T* from, T& to) {
  to = {};
  if (from == nullptr) return true;
  if (from->size <= sizeof from->size || from->size > kMostOptionBytes) return false;
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof(T); i < from->size; i++)
    if (bytes[i] != 0) return false;  // a newer caller sets an option that we do not know
  std::memcpy(&to, from, std::min(from->size, sizeof(T)));
  return true;
}

/// Copies as many members as a caller's structure, perhaps an older and smaller one, has room for.
template <class T>
bool write_answer(T from, T* to) {
  if (to == nullptr || to->size <= sizeof to->size) return false;
  from.size = to->size;
  std::memcpy(to, &from, std::min(to->size, sizeof(T)));
  return true;
}

inline void set(mixstack_error* out, const Error& error) {
  mixstack_error answer{};
  answer.code = static_cast<int32_t>(error.code);
  answer.os_error = error.os_error;
  answer.value = error.value;
  (void)write_answer(answer, out);
}

/// Stops exceptions (std::bad_alloc above all) from reaching C callers.
template <class Work>
auto guarded(mixstack_error* error, Work work) -> decltype(work()) {
  set(error, {});
  try {
    return work();
  } catch (const std::exception&) {
    set(error, {ErrorCode::internal, 0, 0});
    return nullptr;
  }
}

/// Makes a text once and keeps it with the dump; empty when that throws.
template <class Write>
const char* kept(std::string& text, Write write) {
  if (!text.empty()) return text.c_str();
  try {
    write([&text](std::string_view piece) { text += piece; });
  } catch (const std::exception&) {
    text.clear();
  }
  return text.c_str();
}

}  // namespace mixstack::c
