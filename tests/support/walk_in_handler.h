// A function that calls another one, walked from a signal handler that interrupts the latter.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <span>

#include "mixstack/self_walk.h"

namespace mixstack::test {

class WalkInHandler {
 public:
  /// `between(work)` calls `work`; its code lies at `code`. The stack has a frame of it, ends as the one of this
  /// function does, and is certain throughout.
  static void check(void (*between)(void (*)()), AddressRange code) {
    const auto walker = SelfWalker::create();
    ASSERT_TRUE(walker);
    Found found;
    found.walker = walker->get();
    current() = &found;
    struct sigaction action {
    }, before{};
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
      current()->trace = current()->walker->walk(context, current()->frames);
    };
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
    between([] { ::pthread_kill(::pthread_self(), SIGUSR1); });
    ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
    std::array<Address, 200> here{};
    const SelfTrace outer = found.walker->walk_here(here);
    EXPECT_EQ(found.trace.stop, outer.stop);
    EXPECT_EQ(found.trace.sure, found.trace.count);
    // Both end with the callers of this function; the innermost of `here` is another place in it.
    ASSERT_GT(outer.count, 3u);
    ASSERT_GT(found.trace.count, outer.count);
    EXPECT_TRUE(std::equal(here.begin() + 1, here.begin() + outer.count,
                           found.frames.begin() + (found.trace.count - outer.count + 1)));
    const auto frames = std::span(found.frames).first(found.trace.count);
    EXPECT_TRUE(std::any_of(frames.begin(), frames.end(), [&](Address a) { return code.contains(a); }));
  }

 private:
  struct Found {
    const SelfWalker* walker = nullptr;
    std::array<Address, 200> frames{};
    SelfTrace trace;
  };
  static Found*& current() {
    static Found* found = nullptr;
    return found;
  }
};

}  // namespace mixstack::test
