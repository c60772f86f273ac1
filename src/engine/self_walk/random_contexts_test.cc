// A crash handler walks from whatever the registers hold. Storms of them, none of which may fault.
#include <gtest/gtest.h>
#include <link.h>
#include <setjmp.h>
#include <sys/mman.h>

#include <array>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "engine/self_walk/host.h"
#include "mixstack/self_walk.h"

namespace mixstack {
namespace {

constexpr std::size_t kPage = 4096, kArenaPages = 16;

Address address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

int note_code(dl_phdr_info* info, std::size_t, void* data) {
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const auto& p = info->dlpi_phdr[i];
    if (p.p_type == PT_LOAD && (p.p_flags & PF_X) != 0)
      static_cast<std::vector<AddressRange>*>(data)->push_back(
          {info->dlpi_addr + p.p_vaddr, info->dlpi_addr + p.p_vaddr + p.p_memsz});
  }
  return 0;
}

/// Stack-like memory with pages that cannot be read below, in and above it.
class Arena {
 public:
  Arena() {
    void* made = mmap(nullptr, (kArenaPages + 2) * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begin_ = static_cast<std::byte*>(made) + kPage;
    for (const std::size_t page : {std::size_t{0}, kArenaPages / 2 + 1, kArenaPages + 1})
      mprotect(static_cast<std::byte*>(made) + page * kPage, kPage, PROT_NONE);
  }
  ~Arena() { munmap(begin_ - kPage, (kArenaPages + 2) * kPage); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  [[nodiscard]] Address begin() const { return address_of(begin_); }
  [[nodiscard]] Address hole() const { return begin() + kArenaPages / 2 * kPage; }
  [[nodiscard]] Address end() const { return begin() + kArenaPages * kPage; }
  /// Any word of the parts that can be written.
  [[nodiscard]] std::byte* word(std::size_t number) const {
    const std::size_t words = kPage / 8 * (kArenaPages - 1);
    const std::size_t at = number % words * 8;
    return begin_ + (at < kArenaPages / 2 * kPage ? at : at + kPage);
  }

 private:
  std::byte* begin_;
};

class Storm {
 public:
  explicit Storm(unsigned seed) : random_(seed) { dl_iterate_phdr(note_code, &code_); }

  [[nodiscard]] std::uint64_t number(std::uint64_t below) { return random_() % below; }
  [[nodiscard]] Address code() {
    const AddressRange& range = code_[number(code_.size())];
    return range.begin + number(range.size());
  }
  /// An address of any kind that has ever caused a fault.
  [[nodiscard]] Address any() {
    const Address own = self_walk::host::stack_pointer();
    switch (number(12)) {
      case 0:
        return random_();
      case 1:
        return number(4096);
      case 2:
        return Address{0} - number(1 << 14);
      case 3:
        return 0xffff'8000'0000'0000 + number(Address{1} << 46);  // the kernel's
      case 4:
        return (Address{1} << 47) - number(1 << 14);  // where user space ends
      case 5:
        return number(Address{1} << 62) | Address{1} << 61;  // not canonical
      case 6:
        return arena_.begin() + number(kArenaPages * kPage);
      case 7:
        return arena_.end() - number(64);
      case 8:
        return arena_.hole() - number(64) + number(2) * kPage;
      case 9:
        return own + number(1 << 14) - (1 << 13);
      case 10:
        return own - number(8 << 20);
      default:
        return code();
    }
  }
  [[nodiscard]] Address aligned() { return any() & ~Address{number(4) == 0 ? 0u : 7u}; }
  void fill_some() {
    for (int i = 0; i < 64; i++) {
      const std::uint64_t value = number(3) == 0 ? any() : code();
      std::memcpy(arena_.word(random_()), &value, sizeof(value));
    }
  }
  [[nodiscard]] Registers registers() {
    Registers out(self_walk::host::arch());
    for (unsigned r = 0; r < Registers::kMax; r++)
      if (number(8) != 0) out.set(r, aligned());
    out.set_sp(number(2) == 0 ? arena_.begin() + number(kArenaPages * kPage / 8) * 8 : aligned());
    if (number(16) != 0) out.set_fp(aligned());
    out.set_pc(number(8) == 0 ? any() : code());
    return out;
  }

 private:
  std::mt19937_64 random_;
  std::vector<AddressRange> code_;
  Arena arena_;
};

thread_local sigjmp_buf t_after_fault;
thread_local bool t_in_walk = false;

void on_fault(int signal) {
  if (t_in_walk) siglongjmp(t_after_fault, 1);
  std::signal(signal, SIG_DFL);
}

class FaultCounter {
 public:
  FaultCounter() {
    struct sigaction action {};
    action.sa_handler = on_fault;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_[0]);
    sigaction(SIGBUS, &action, &before_[1]);
  }
  ~FaultCounter() {
    sigaction(SIGSEGV, &before_[0], nullptr);
    sigaction(SIGBUS, &before_[1], nullptr);
  }
  FaultCounter(const FaultCounter&) = delete;
  FaultCounter& operator=(const FaultCounter&) = delete;

  /// Walks once; the registers of the first walk that faults are shown.
  void walk(const SelfWalker& walker, const Registers& registers) {
    std::array<Address, 64> out;
    if (sigsetjmp(t_after_fault, 1) != 0) {
      t_in_walk = false;
      if (faults_++ == 0)
        ADD_FAILURE() << std::hex << "pc " << registers.pc() << " sp " << registers.sp() << " fp "
                      << registers.value_or_zero(arch_registers(registers.arch()).fp);
      return;
    }
    t_in_walk = true;
    const SelfTrace trace = walker.walk_registers(registers, out);
    t_in_walk = false;
    frames_ += trace.count;
  }
  [[nodiscard]] int faults() const { return faults_; }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }

 private:
  std::array<struct sigaction, 2> before_{};
  int faults_ = 0;
  std::uint64_t frames_ = 0;
};

void expect_no_fault(const SelfWalker& walker, unsigned seed, int walks) {
  const auto maker = std::make_unique<Storm>(seed);
  FaultCounter counter;
  for (int i = 0; i < walks; i++) {
    if (i % 16 == 0) maker->fill_some();
    counter.walk(walker, maker->registers());
  }
  EXPECT_EQ(counter.faults(), 0);
  EXPECT_GT(counter.frames(), static_cast<std::uint64_t>(walks) * 3 / 2);  // more than the frames they begin with
}

constexpr int kWalks = 250'000;  // of each of four kinds: a million

TEST(RandomContexts, OfTheMainThreadNeverFault) { expect_no_fault(**SelfWalker::create(), 1, kWalks); }

TEST(RandomContexts, OfAThreadThatIsKnownNeverFault) {
  std::thread([] { expect_no_fault(**SelfWalker::create(), 2, kWalks); }).join();
}

TEST(RandomContexts, OfAThreadThatIsNotKnownNeverFault) {
  const auto walker = std::move(*SelfWalker::create());
  std::thread([&] { expect_no_fault(*walker, 3, kWalks); }).join();
}

const std::function<void()>* g_work = nullptr;
void run_work(int) { (*g_work)(); }

/// Runs `work` in a signal handler on an alternate stack.
void on_alternate_stack(const std::function<void()>& work) {
  const std::size_t size = 1 << 20;
  const auto memory = std::make_unique<char[]>(size);
  stack_t stack{}, before{};
  stack.ss_sp = memory.get();
  stack.ss_size = size;
  sigaltstack(&stack, &before);
  struct sigaction action {
  }, action_before{};
  action.sa_handler = run_work;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, &action_before);
  g_work = &work;
  raise(SIGUSR2);
  sigaction(SIGUSR2, &action_before, nullptr);
  sigaltstack(&before, nullptr);
}

TEST(RandomContexts, OnAnAlternateStackNeverFault) {
  const auto walker = std::move(*SelfWalker::create());
  on_alternate_stack([&] { expect_no_fault(*walker, 4, kWalks); });
}

/// The stack's lowest pages may be closed off by a runtime; a bogus sp below them leads through.
TEST(RandomContexts, AClosedPageInAKnownStackIsNotRead) {
  std::thread([] {
    const auto walker = std::move(*SelfWalker::create());
    const Address own = self_walk::host::stack_pointer();
    const Address closed = (own - (256 << 10)) & ~Address{kPage - 1};
    auto* const page = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(closed));
    ASSERT_EQ(mprotect(page, kPage, PROT_NONE), 0);
    FaultCounter counter;
    Storm maker(5);
    for (int i = 0; i < 100'000; i++) {
      Registers registers = maker.registers();
      registers.set_sp((closed - maker.number(512)) & ~Address{7});
      registers.set_pc(maker.code());
      counter.walk(*walker, registers);
    }
    EXPECT_EQ(counter.faults(), 0);
    mprotect(page, kPage, PROT_READ | PROT_WRITE);
  }).join();
}

/// A CFA that comes to 0, the first way in which it was seen.
TEST(RandomContexts, ACfaOfZeroIsNotReadBelow) {
  const auto walker = std::move(*SelfWalker::create());
  FaultCounter counter;
  Storm maker(6);
  for (int i = 0; i < 20'000; i++) {
    Registers registers = maker.registers();
    registers.set_pc(maker.code());
    for (Address below = 8; below <= 256; below += 8) {
      registers.set_sp(Address{0} - below);
      if (i % 32 == static_cast<int>(below / 8) % 32) counter.walk(*walker, registers);
    }
  }
  EXPECT_EQ(counter.faults(), 0);
}

}  // namespace
}  // namespace mixstack
