#include "process/self/capture_wire.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mixstack::process {
namespace {

using namespace std::chrono_literals;

/// A capture of one thread, with a stack, a root and mappings.
Capture capture_of(ThreadId tid) {
  Capture capture;
  capture.arch = Arch::x86_64;
  capture.consistency = Consistency::one_by_one;
  capture.pac_mask = 0x10;
  capture.pause = 5ms;
  capture.held = 7ms;
  capture.threads_not_stopped = 1;
  auto bytes = std::make_unique<std::byte[]>(8);
  std::fill_n(bytes.get(), 8, static_cast<std::byte>(tid));
  ThreadCapture& t = capture.threads.emplace_back();
  t.tid = t.ns_tid = tid;
  t.comm = "worker";
  t.kernel_state = 'S';
  t.syscall = 202;
  t.captured = true;
  t.late = 3ms;
  t.taken_ns = 9;
  t.stack = {0x1000, {bytes.get(), 8}};
  VectorRegisters vectors{.size = 16, .values = {}};
  vectors.values.resize(2);
  vectors.values[1][0] = std::byte{4};
  t.vectors = std::make_shared<const VectorRegisters>(std::move(vectors));
  capture.threads.emplace_back().tid = tid + 1;
  capture.roots.push_back({0x2000, {bytes.get(), 2}});
  capture.storage.emplace_back(std::move(bytes));
  const Region region{.range = {0x1000, 0x2000}, .inode = 8, .writable = true, .path = "/lib/a"};
  capture.regions = std::make_shared<const std::vector<Region>>(std::vector<Region>{region});
  return capture;
}

Result<Capture> sent(const Result<Capture>& capture, std::size_t missing = 0) {
  const auto wire = to_wire(capture);
  auto bytes = std::make_unique<std::byte[]>(wire.size());
  std::copy(wire.begin(), wire.end(), bytes.get());
  return from_wire(std::move(bytes), wire.size() - missing);
}

void expect_same(const Capture& capture, ThreadId tid) {
  EXPECT_EQ(capture.arch, Arch::x86_64);
  EXPECT_EQ(capture.consistency, Consistency::one_by_one);
  EXPECT_EQ(capture.pac_mask, 0x10u);
  EXPECT_EQ(capture.pause, 5ms);
  EXPECT_EQ(capture.held, 7ms);
  EXPECT_EQ(capture.threads_not_stopped, 1u);
  ASSERT_EQ(capture.threads.size(), 2u);
  const ThreadCapture& t = capture.threads[0];
  EXPECT_EQ(t.tid, tid);
  EXPECT_EQ(t.comm, "worker");
  EXPECT_EQ(t.syscall, 202);
  EXPECT_EQ(t.late, 3ms);
  EXPECT_EQ(t.taken_ns, 9u);
  ASSERT_EQ(t.stack.bytes.size(), 8u);
  EXPECT_EQ(t.stack.bytes[7], static_cast<std::byte>(tid));
  ASSERT_NE(t.vectors, nullptr);
  EXPECT_EQ(t.vectors->size, 16);
  ASSERT_EQ(t.vectors->values.size(), 2u);
  EXPECT_EQ(t.vectors->values[1][0], std::byte{4});
  EXPECT_EQ(capture.threads[1].vectors, nullptr);
  ASSERT_EQ(capture.roots.size(), 1u);
  EXPECT_EQ(capture.roots[0].range(), (AddressRange{0x2000, 0x2002}));
  ASSERT_NE(capture.regions, nullptr);
  ASSERT_EQ(capture.regions->size(), 1u);
  EXPECT_EQ(capture.regions->front().path, "/lib/a");
  EXPECT_EQ(capture.regions->front().inode, 8u);
  EXPECT_TRUE(capture.regions->front().writable);
}

TEST(CaptureWire, BringsAllOfIt) {
  const auto capture = sent(capture_of(7));
  ASSERT_TRUE(capture);
  expect_same(*capture, 7);
}

TEST(CaptureWire, BringsThreadsThatWereLate) {
  Capture all = capture_of(7);
  all.late.push_back(capture_of(20));
  all.late.push_back(capture_of(30));
  Capture kept;
  {
    auto capture = sent(std::move(all));
    ASSERT_TRUE(capture);
    expect_same(*capture, 7);
    ASSERT_EQ(capture->late.size(), 2u);
    expect_same(capture->late[0], 20);
    kept = std::move(capture->late[1]);
  }
  expect_same(kept, 30);  // it outlives the capture that it came with
}

TEST(CaptureWire, WhatIsCutOffIsNoCapture) {
  const std::size_t size = to_wire(capture_of(7)).size();
  for (std::size_t missing = 1; missing <= size; missing++)
    ASSERT_EQ(sent(capture_of(7), missing).error().code, ErrorCode::malformed) << missing;
  EXPECT_EQ(sent(fail(ErrorCode::no_such_thread, 3)).error(), (Error{ErrorCode::no_such_thread, 0, 3}));
}

}  // namespace
}  // namespace mixstack::process
