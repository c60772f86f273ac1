// Known stacks for the tests of this folder: our own, and those of forked children.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "process/live/test_process.h"
#include "stackwalker/frame.h"
#include "stackwalker/walker.h"

namespace mixstack::stackwalker::test {

using process::test::Shared;
using process::test::TestProcess;

/// Calls `body` below three functions whose names a walk must find. Nothing is a tail call.
template <class Body>
__attribute__((noinline)) void innermost_function(const Body& body) {
  body();
  asm volatile("" ::: "memory");
}
template <class Body>
__attribute__((noinline)) void middle_function(const Body& body) {
  innermost_function(body);
  asm volatile("" ::: "memory");
}
template <class Body>
__attribute__((noinline)) void outer_function(const Body& body) {
  middle_function(body);
  asm volatile("" ::: "memory");
}

/// A child that stands in innermost_function < middle_function < outer_function.
inline std::unique_ptr<TestProcess> standing_child() {
  return std::make_unique<TestProcess>([](Shared& shared) {
    outer_function([&shared] {
      shared.ready = 1;
      for (;;) ::pause();
    });
  });
}

/// The same in a second thread, whose id is the first of the shared values; the main thread does nothing.
inline std::unique_ptr<TestProcess> child_with_standing_thread() {
  return std::make_unique<TestProcess>([](Shared& shared) {
    static Shared* where = &shared;
    const auto body = [](void*) -> void* {
      outer_function([] {
        where->values[0] = process::test::gettid_now();
        where->ready++;
        for (;;) ::pause();
      });
      return nullptr;
    };
    process::test::start_thread(body, nullptr);
  });
}

inline std::vector<std::string> names_of(const std::vector<Dyninst::Stackwalker::Frame>& stack) {
  std::vector<std::string> names;
  for (const auto& frame : stack) {
    std::string name = "?";
    (void)frame.getName(name);
    names.push_back(name);
  }
  return names;
}

/// Index of the first name that contains `part`, or the number of names.
inline std::size_t find_name(const std::vector<std::string>& names, const std::string& part) {
  std::size_t i = 0;
  while (i < names.size() && names[i].find(part) == std::string::npos) i++;
  return i;
}

/// The three functions lie directly upon each other.
inline bool has_known_stack(const std::vector<Dyninst::Stackwalker::Frame>& stack) {
  const auto names = names_of(stack);
  const std::size_t at = find_name(names, "innermost_function");
  return at + 2 < names.size() && names[at + 1].find("middle_function") != std::string::npos &&
         names[at + 2].find("outer_function") != std::string::npos;
}

}  // namespace mixstack::stackwalker::test
