#include "process/perf/perf_record.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>

#include "process/perf/sample_registers.h"

namespace mixstack::perf {
namespace {

/// Builds the bytes of a record as the kernel lays them out (perf_event_open(2), "Overflow handling").
class Record {
 public:
  explicit Record(std::uint32_t type, std::uint16_t misc = 0) {
    put(type);
    put(misc);
    put(std::uint16_t{0});
  }
  template <class T>
  Record& put(T value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    for (std::size_t i = 0; i < sizeof value; i++) bytes_.push_back(first[i]);
    return *this;
  }
  Record& text(std::string_view words) {
    for (const char c : words) bytes_.push_back(static_cast<std::byte>(c));
    do bytes_.push_back(std::byte{0});
    while (bytes_.size() % 8 != 0);
    return *this;
  }
  Record& trailer(std::uint32_t tid, std::uint64_t time, std::uint64_t event) {
    return put(std::uint32_t{100}).put(tid).put(time).put(std::uint32_t{1}).put(std::uint32_t{0}).put(event);
  }
  [[nodiscard]] std::vector<std::byte> done() {
    const auto size = static_cast<std::uint16_t>(bytes_.size());
    std::memcpy(bytes_.data() + 6, &size, sizeof size);
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
};

constexpr std::uint64_t kKernel = static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);

RecordShape shape_of(Arch arch) {
  RecordShape shape;
  shape.arch = arch;
  shape.registers = sample_registers(arch).mask;
  shape.stack_bytes = 32;
  shape.kernel_chain = true;
  return shape;
}

Record sample_of(Arch arch, std::uint64_t used) {
  Record r(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
  r.put(std::uint64_t{7}).put(std::uint32_t{100}).put(std::uint32_t{101}).put(std::uint64_t{5000});
  r.put(std::uint32_t{3}).put(std::uint32_t{0}).put(std::uint64_t{1001});
  r.put(std::uint64_t{3}).put(kKernel).put(std::uint64_t{0xffff000000001000}).put(std::uint64_t{0xffff000000002000});
  r.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_64});
  const std::uint64_t mask = sample_registers(arch).mask;
  for (unsigned bit = 0; bit < 64; bit++)
    if ((mask >> bit & 1) != 0) r.put(std::uint64_t{0x1000 + bit});
  r.put(std::uint64_t{32});
  for (std::uint8_t i = 0; i < 32; i++) r.put(i);
  return r.put(used);
}

class BothCpus : public testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(All, BothCpus, testing::Values(Arch::x86_64, Arch::aarch64));

TEST(PerfRecord, AddressesAndFieldsOfTracepoints) {
  RecordShape shape;
  shape.arch = Arch::x86_64;
  shape.period = 1;
  shape.addresses = shape.raw = true;
  Record r(PERF_RECORD_SAMPLE);
  r.put(std::uint64_t{7}).put(std::uint32_t{100}).put(std::uint32_t{101}).put(std::uint64_t{5000});
  r.put(std::uint64_t{0x7f0000001234}).put(std::uint32_t{3}).put(std::uint32_t{0});
  r.put(std::uint32_t{12}).put(std::uint64_t{442}).put(std::uint32_t{9});
  auto bytes = r.done();
  RecordReader reader(shape);
  const auto read = reader.read(bytes);
  ASSERT_TRUE(read.has_value());
  const auto& sample = std::get<PerfSample>(*read);
  EXPECT_EQ(sample.address, 0x7f0000001234u);
  EXPECT_EQ(sample.cpu, 3u);
  ASSERT_EQ(sample.raw.size(), 12u);
  EXPECT_EQ(sample.raw[8], std::byte{9});
  bytes[bytes.size() - 16] = std::byte{200};  // more fields than there are bytes
  EXPECT_FALSE(reader.read(bytes).has_value());
}

TEST_P(BothCpus, ReadsSamples) {
  RecordReader reader(shape_of(GetParam()));
  const auto bytes = sample_of(GetParam(), 24).done();
  const auto read = reader.read(bytes);
  ASSERT_TRUE(read.has_value());
  const auto& sample = std::get<PerfSample>(*read);
  EXPECT_EQ(sample.event, 7u);
  EXPECT_EQ(sample.pid, 100u);
  EXPECT_EQ(sample.tid, 101u);
  EXPECT_EQ(sample.time_ns, 5000u);
  EXPECT_EQ(sample.cpu, 3u);
  EXPECT_EQ(sample.period, 1001u);
  EXPECT_TRUE(sample.in_kernel);
  ASSERT_EQ(sample.kernel_chain.size(), 2u);
  EXPECT_EQ(sample.kernel_chain[1], 0xffff000000002000u);
  ASSERT_TRUE(sample.has_user);
  EXPECT_EQ(sample.stack_base, sample.user.sp());
  EXPECT_EQ(sample.stack.size(), 24u);
  EXPECT_FALSE(sample.stack_truncated);
  EXPECT_EQ(time_of(bytes), 5000u);
  EXPECT_EQ(origin_of(bytes)->tid, 101u);
  EXPECT_EQ(origin_of(bytes)->event, 7u);
}

TEST(PerfRecord, NumbersRegistersAsDwarfDoes) {
  // PERF_REG_X86_SP, _IP, _R15 and PERF_REG_ARM64_SP, _PC of the kernel's headers.
  RecordReader reader(shape_of(Arch::x86_64));
  auto read = reader.read(sample_of(Arch::x86_64, 32).done());
  const Registers user = std::get<PerfSample>(*read).user;
  EXPECT_EQ(user.sp(), 0x1007u);
  EXPECT_EQ(user.pc(), 0x1008u);
  EXPECT_EQ(user.get(x86_64_reg::r15), 0x1017u);
  EXPECT_EQ(user.get(x86_64_reg::rbx), 0x1001u);
  EXPECT_TRUE(std::get<PerfSample>(*read).stack_truncated);
  RecordReader other(shape_of(Arch::aarch64));
  read = other.read(sample_of(Arch::aarch64, 32).done());
  EXPECT_EQ(std::get<PerfSample>(*read).user.sp(), 0x101fu);
  EXPECT_EQ(std::get<PerfSample>(*read).user.pc(), 0x1020u);
}

TEST(PerfRecord, NothingIsReadBeyondARecord) {
  RecordReader reader(shape_of(Arch::x86_64));
  const auto whole = sample_of(Arch::x86_64, 24).done();
  for (std::size_t size = 0; size < whole.size(); size++) {
    std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto said = static_cast<std::uint16_t>(size);
    if (size >= 8) std::memcpy(cut.data() + 6, &said, sizeof said);
    EXPECT_FALSE(reader.read(cut).has_value()) << size;
  }
  EXPECT_FALSE(reader.read(sample_of(Arch::x86_64, 33).done()).has_value()) << "more used than there is room";
}

TEST(PerfRecord, ReadsWhatHappens) {
  RecordReader reader(shape_of(Arch::x86_64));
  const auto notice = [&](Record& r) { return std::get<PerfNotice>(*reader.read(r.trailer(101, 9000, 7).done())); };
  Record fork(PERF_RECORD_FORK);
  fork.put(std::uint32_t{100}).put(std::uint32_t{100}).put(std::uint32_t{102}).put(std::uint32_t{101});
  fork.put(std::uint64_t{8999});
  PerfNotice n = notice(fork);
  EXPECT_EQ(n.kind, PerfNotice::Kind::thread_began);
  EXPECT_EQ(n.tid, 102u);
  EXPECT_EQ(n.parent, 101u);
  EXPECT_EQ(n.time_ns, 8999u);
  Record name(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
  n = notice(name.put(std::uint32_t{100}).put(std::uint32_t{101}).text("a name"));
  EXPECT_EQ(n.kind, PerfNotice::Kind::executed);
  EXPECT_EQ(n.text, "a name");
  EXPECT_EQ(n.time_ns, 9000u);
  Record lost(PERF_RECORD_LOST);
  n = notice(lost.put(std::uint64_t{7}).put(std::uint64_t{12}));
  EXPECT_EQ(n.kind, PerfNotice::Kind::lost);
  EXPECT_EQ(n.count, 12u);
  Record map(PERF_RECORD_MMAP2);
  map.put(std::uint32_t{100}).put(std::uint32_t{101}).put(std::uint64_t{0x7000}).put(std::uint64_t{0x1000});
  map.put(std::uint64_t{0x2000}).put(std::uint32_t{8}).put(std::uint32_t{1}).put(std::uint64_t{55});
  map.put(std::uint64_t{0}).put(std::uint32_t{5}).put(std::uint32_t{2}).text("/lib/x.so");
  n = notice(map);
  EXPECT_EQ(n.kind, PerfNotice::Kind::mapped);
  EXPECT_EQ(n.range, (AddressRange{0x7000, 0x8000}));
  EXPECT_EQ(n.inode, 55u);
  EXPECT_EQ(n.text, "/lib/x.so");
  Record unknown(9999);
  EXPECT_TRUE(std::holds_alternative<NothingTold>(*reader.read(unknown.trailer(1, 2, 3).done())));
}

}  // namespace
}  // namespace mixstack::perf
