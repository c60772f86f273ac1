#include "features/record/iterator_source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "process/bpf/bpf_refusal.h"
#include "process/live/test_process.h"
#include "process/live/thread_registers.h"

namespace mixstack::record {
namespace {

using process::test::nap;
using process::test::Shared;
using process::test::start_thread;
using process::test::TestProcess;
using namespace std::chrono_literals;

void* napping(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) nap(500us);
}

// A copy needs to know where the stack's mapping ends, which cannot be asked while the process changes its mappings.
TEST(IteratorSource, StacksOfAProcessThatChangesItsMappingsAreWhole) {
  const auto refusal = bpf::explain_bpf_refusal({ErrorCode::permission_denied, EPERM, 0}, bpf::read_bpf_facts());
  if (refusal != bpf::BpfRefusal::none) GTEST_SKIP() << bpf::refusal_text(refusal, {});
  const TestProcess process(
      [](Shared& shared) {
        for (int i = 0; i < 6; i++) start_thread(napping, &shared);
        constexpr std::size_t kSize = 2u << 20;
        void* room = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (room == MAP_FAILED) ::_exit(1);
        for (int i = 0;; i++) {  // about half of the time
          const std::uint64_t begin = monotonic_ns();
          (void)::mprotect(room, kSize, i % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE);
          const std::uint64_t end = monotonic_ns();
          while (monotonic_ns() - end < end - begin) {
          }
        }
      },
      6);
  ASSERT_TRUE(process.is_ready());
  const auto source = IteratorSource::open(process.id(), process::traceable_arch(), 1000, false);
  ASSERT_TRUE(source.has_value());  // with the right to it, everything else is a fault
  (*source)->begin(monotonic_ns());
  std::size_t whole = 0, empty = 0;
  for (int i = 0; i < 20'000 && whole < 3000; i++) {
    const auto batch = (*source)->next({});
    ASSERT_TRUE(batch.has_value());
    for (const ThreadCapture& thread : batch->threads) (thread.stack.bytes.empty() ? empty : whole)++;
  }
  EXPECT_GE(whole, 3000u);
  EXPECT_LE(empty, whole / 4);  // of one look only: as many as are whole
}

}  // namespace
}  // namespace mixstack::record
