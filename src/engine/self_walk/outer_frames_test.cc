// A walk that cannot continue resumes at a caller from a list.
#include "engine/self_walk/outer_frames.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "engine/self_walk/host.h"
#include "mixstack/self_walk.h"

namespace mixstack {
namespace {

using self_walk::OuterFrame;

/// A list that was made by hand.
class List final : public self_walk::OuterFrames {
 public:
  bool next(Address sp, AddressRange stack, const MemoryReader&, Address& place,
            OuterFrame& out) const noexcept override {
    for (; place < frames.size(); place++) {
      if (frames[place].sp <= sp || !stack.contains(frames[place].sp)) continue;
      out = frames[place++];
      return true;
    }
    return false;
  }
  std::vector<OuterFrame> frames;
};

struct Found {
  const SelfWalker* walker = nullptr;
  std::array<Address, 200> frames{};
  SelfTrace trace;
};
Found* g_found = nullptr;

/// Code without rules that uses the frame pointer otherwise, so that no step leads through it.
class Opaque {
 public:
  Opaque() {
    // push rbp, mov $1 to ebp, call *%rdi, pop rbp, ret; stp, mov x29 = 1, blr x0, ldp, ret
    constexpr std::uint8_t kX86[] = {0x55, 0xbd, 1, 0, 0, 0, 0xff, 0xd7, 0x5d, 0xc3};
    constexpr std::uint32_t kArm[] = {0xa9bf7bfd, 0xd280003d, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
    const bool is_x86 = self_walk::host::arch() == Arch::x86_64;
    std::memcpy(page_, is_x86 ? static_cast<const void*>(kX86) : kArm, is_x86 ? sizeof(kX86) : sizeof(kArm));
    __builtin___clear_cache(static_cast<char*>(page_), static_cast<char*>(page_) + 64);
  }
  ~Opaque() { munmap(page_, 4096); }
  Opaque(const Opaque&) = delete;
  Opaque& operator=(const Opaque&) = delete;
  void call(void (*with)()) const { reinterpret_cast<void (*)(void (*)())>(page_)(with); }
  [[nodiscard]] bool contains(Address a) const { return a - reinterpret_cast<std::uintptr_t>(page_) < 64; }

 private:
  void* page_ = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
};

/// Interrupted in what opaque code called. Its caller puts itself into the list, behind `wrong`.
[[gnu::noinline]] void walk_below(const Opaque& code, List* list, std::vector<OuterFrame> wrong) {
  self_walk::HereRegisters here;
  self_walk::mixstack_capture_here(&here);
  const unwind::LightFrame own = self_walk::host::light_frame(here);
  if (list != nullptr) {
    list->frames = std::move(wrong);
    for (OuterFrame& frame : list->frames)
      if (frame.sp == 0) frame.sp = own.sp;
    list->frames.push_back({own.pc.raw(), own.sp, own.fp});
  }
  code.call([] { pthread_kill(pthread_self(), SIGUSR1); });
  asm volatile("");
}

class OuterFramesWalk : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
      g_found->trace = g_found->walker->walk(context, g_found->frames);
    };
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, &before_);
    g_found = &found_;
  }
  void TearDown() override { sigaction(SIGUSR1, &before_, nullptr); }
  void walk(List* list, std::vector<OuterFrame> wrong = {}) {
    const auto walker = std::move(*SelfWalker::create({.outer = list}));
    found_.walker = walker.get();
    walk_below(code_, list, std::move(wrong));
  }
  /// Index of the frame in opaque code.
  [[nodiscard]] std::size_t stuck_at() const {
    const auto end = found_.frames.begin() + static_cast<std::ptrdiff_t>(found_.trace.count);
    const auto at = std::find_if(found_.frames.begin(), end, [&](Address a) { return code_.contains(a); });
    return static_cast<std::size_t>(at - found_.frames.begin());
  }

  Opaque code_;
  Found found_;
  struct sigaction before_ {};
};

TEST_F(OuterFramesWalk, WithoutAListAStuckWalkEnds) {
  walk(nullptr);
  EXPECT_EQ(found_.trace.stop, StopReason::no_unwind_info);
  EXPECT_EQ(stuck_at() + 1, found_.trace.count);
}

TEST_F(OuterFramesWalk, AStuckWalkGoesOnFromTheList) {
  List list;
  walk(&list);
  EXPECT_EQ(found_.trace.stop, StopReason::end_of_stack);
  ASSERT_LT(stuck_at() + 2, found_.trace.count);
  EXPECT_EQ(found_.trace.sure, stuck_at() + 1) << "the list is believed, not known";
  EXPECT_EQ(found_.frames[stuck_at() + 1], list.frames.back().pc);
  std::array<Address, 200> here;
  const SelfTrace outer = std::move(*SelfWalker::create())->walk_here(here);
  const std::size_t common = outer.count - 1;  // this function called twice
  ASSERT_LT(common, found_.trace.count);
  for (std::size_t i = 1; i < common; i++) EXPECT_EQ(found_.frames[found_.trace.count - i], here[outer.count - i]) << i;
}

TEST_F(OuterFramesWalk, WhatFollowsNoCallIsPassedOver) {
  List list;
  // The walker's own page, and one that is not there.
  walk(&list, {{reinterpret_cast<std::uintptr_t>(&list), 0, 0}, {0x1000, 0, 0}});
  EXPECT_EQ(found_.trace.stop, StopReason::end_of_stack);
  ASSERT_LT(stuck_at() + 1, found_.trace.count);
  EXPECT_EQ(found_.frames[stuck_at() + 1], list.frames.back().pc);
}

}  // namespace
}  // namespace mixstack
