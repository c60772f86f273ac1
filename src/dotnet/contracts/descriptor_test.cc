#include "dotnet/contracts/descriptor.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/memory/buffer_memory.h"
#include "dotnet/contracts/contracts.h"
#include "dotnet/contracts/layouts.h"
#include "support/source_folder.h"

namespace mixstack::dotnet {
namespace {

std::string test_data(const std::string& name) {
  std::ifstream file(mixstack::test::source_folder() + "/src/dotnet/contracts/testdata/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::span<const std::byte> bytes_of(const std::string& s) { return std::as_bytes(std::span(s.data(), s.size())); }

Diagnosed<Descriptor> parse(const std::string& json, std::vector<std::uint64_t> pointers = {}) {
  return Descriptor::parse(bytes_of(json), pointers);
}

// The structure of contract-descriptor.md, 64-bit.
void put_descriptor(memory::BufferMemory& m, Address at, const std::string& json,
                    const std::vector<std::uint64_t>& pointers, std::uint64_t magic = 0x0043414443434e44) {
  struct Header {
    std::uint64_t magic;
    std::uint32_t flags, size;
    std::uint64_t json;
    std::uint32_t count, pad;
    std::uint64_t pointers;
  };
  m.add_value(at, Header{magic, 1, static_cast<std::uint32_t>(json.size()), at + 0x1000,
                         static_cast<std::uint32_t>(pointers.size()), 0, at + 0x800});
  m.add(at + 0x1000, bytes_of(json));
  if (!pointers.empty()) m.add(at + 0x800, std::as_bytes(std::span(pointers)));
}

TEST(Descriptor, ReadsTheOneOfALiveX64Runtime) {
  memory::BufferMemory m;
  std::vector<std::uint64_t> pointers(24);
  for (std::size_t i = 0; i < pointers.size(); i++) pointers[i] = 0x1000 + i;
  put_descriptor(m, 0x10000, test_data("descriptor-linux-x64-10.0.12.json"), pointers);
  auto d = Descriptor::read(m, 0x10000);
  ASSERT_TRUE(d) << d.error().subject;
  EXPECT_EQ(d->types().size(), 101u);
  EXPECT_EQ(d->globals().size(), 67u);
  EXPECT_EQ(d->offset("Thread", "GCHandle"), 304u);
  EXPECT_EQ(d->type("Thread")->fields.at("GCHandle").type, "GCHandle");
  EXPECT_EQ(d->size_of("InlinedCallFrame"), 56u);
  EXPECT_FALSE(d->offset("InlinedCallFrame", "Datum"));
  EXPECT_EQ(d->global_number("ThreadStore"), 0x1003u);
  EXPECT_EQ(d->global_number("HijackFrameIdentifier"), 8u);
  EXPECT_EQ(d->global_text("Architecture"), "x64");
  EXPECT_EQ(d->format(), Descriptor::kFormatOfNumbers);
  EXPECT_EQ(d->contract("ExecutionManager"), (ContractVersion{0, 2}));
  EXPECT_FALSE(d->contract("DebugInfo"));
  const Layouts l = resolve_layouts(*d);
  EXPECT_EQ(l.arch, Arch::x86_64);
  EXPECT_EQ(l.thread.frame.offset, 8u);
  EXPECT_EQ(l.callee_saved_registers.count, 6u);
  EXPECT_EQ(l.frame_identifiers[static_cast<std::size_t>(FrameType::software_exception)], 5u);
  const Contracts c = Contracts::judge(*d, l);
  EXPECT_TRUE(c.admits(Contract::stack_walk));
  EXPECT_TRUE(c.refusals().empty()) << c.refusals().front().subject;
}

TEST(Descriptor, ReadsTheOneOfAnArm64Runtime) {
  auto d = parse(test_data("descriptor-linux-arm64-10.0.9.json"), std::vector<std::uint64_t>(24, 8));
  ASSERT_TRUE(d) << d.error().subject;
  const Layouts l = resolve_layouts(*d);
  EXPECT_EQ(l.arch, Arch::aarch64);
  EXPECT_FALSE(l.is_windows);
  EXPECT_EQ(l.callee_saved_registers.count, 12u);
  EXPECT_EQ(l.hijack_args.registers.count, 14u);
  EXPECT_FALSE(l.runtime_function.end_address);
  EXPECT_EQ(l.transition_block.return_address.offset, 8u);
  EXPECT_TRUE(Contracts::judge(*d, l).admits(Contract::execution_manager));
}

// A descriptor as .NET 12 may have: nothing is guessed, and each refusal names its subject.
TEST(Descriptor, OfLaterVersionsIsRefusedByName) {
  const auto format = parse(R"({"version":3,"baseline":"empty","contracts":{"Thread":"c1"}})");
  EXPECT_EQ(format.error(), refusal_of(ErrorCode::unsupported, "descriptor format version", 3));
  const auto later = parse(R"({"version":2,"baseline":"empty","contracts":{"Thread":"c9","Object":"n1","GC":"c2"}})");
  ASSERT_TRUE(later) << later.error().subject;
  const Layouts layouts = resolve_layouts(*later);
  const Contracts contracts = Contracts::judge(*later, layouts);
  EXPECT_EQ(contracts.refusal(Contract::thread), refusal_of(ErrorCode::contract_unsupported, "Thread c9", 9));
  EXPECT_EQ(contracts.refusal(Contract::object), refusal_of(ErrorCode::contract_unsupported, "Object n1", 1));
  EXPECT_EQ(layouts.algorithms.collector, CollectorPlaces::not_known);
}

TEST(Descriptor, KnowsThatAPartIsNotThereYet) {
  memory::BufferMemory m;
  put_descriptor(m, 0x10000, R"({"version":2,"baseline":"empty","subDescriptors":{"GC":[[0],"pointer"]}})", {0x5000});
  m.add_value(0x5000, std::uint64_t{0});
  const auto early = Descriptor::read(m, 0x10000);
  ASSERT_TRUE(early) << early.error().subject;
  EXPECT_TRUE(early->lacks_parts());
  EXPECT_EQ(resolve_layouts(*early).algorithms.collector, CollectorPlaces::not_started);
}

TEST(Descriptor, MergesSubDescriptorsOnceAndStopsAtCycles) {
  memory::BufferMemory m;
  put_descriptor(m, 0x10000,
                 R"({"version":0,"baseline":"empty","types":{"A":{"x":1}},"subDescriptors":{"GC":[[0],"pointer"]}})",
                 {0x5000});
  m.add_value(0x5000, std::uint64_t{0x20000});
  put_descriptor(
      m, 0x20000,
      R"({"types":{"A":{"x":2},"B":{"!":4,"y":[3,"uint8"]}},"subDescriptors":{"Again":[0]},"contracts":{"GC":"c1"}})",
      {0x5008});
  m.add_value(0x5008, std::uint64_t{0x10000});
  auto d = Descriptor::read(m, 0x10000);
  ASSERT_TRUE(d) << d.error().subject;
  EXPECT_EQ(d->offset("A", "x"), 1u);
  EXPECT_EQ(d->offset("B", "y"), 3u);
  EXPECT_EQ(d->contract("GC"), (ContractVersion{'c', 1}));
  EXPECT_FALSE(d->lacks_parts());
  EXPECT_EQ(d->duplicates(), std::vector<std::string>{"A"});
}

TEST(Descriptor, ReadsEveryFormOfGlobal) {
  auto d = parse(
      R"({"globals":{"a":7,"b":[1],"c":["0x10","uint32"],"d":[[0],"pointer"],"e":["text","string"],"f":"-1","g":"hello"}})",
      {0x111, 0x222});
  ASSERT_TRUE(d) << d.error().subject;
  EXPECT_EQ(d->global_number("a"), 7u);
  EXPECT_EQ(d->global_number("b"), 0x222u);
  EXPECT_EQ(d->global_number("c"), 16u);
  EXPECT_EQ(d->global_number("d"), 0x111u);
  EXPECT_EQ(d->global_text("e"), "text");
  EXPECT_EQ(d->global_number("f"), ~0ull);
  EXPECT_EQ(d->global_text("g"), "hello");
  EXPECT_FALSE(d->global_number("g"));
}

TEST(Descriptor, RefusesWhatItDoesNotKnowByName) {
  auto baseline = parse(R"({"baseline":"net11-x64"})");
  ASSERT_FALSE(baseline);
  EXPECT_EQ(baseline.error().error.code, ErrorCode::unsupported);
  EXPECT_EQ(baseline.error().subject, "baseline net11-x64");
  EXPECT_TRUE(parse(R"({"baseline":["empty"]})"));
  for (const char* version : {R"({"version":1})", R"({"version":3})", R"({"version":"x"})"}) {
    const auto other = parse(version);
    ASSERT_FALSE(other) << version;
    EXPECT_EQ(other.error().error.code, ErrorCode::unsupported);
    EXPECT_EQ(other.error().subject, "descriptor format version");
  }
  for (const char* version : {R"("c")", R"("C1")", R"("cc1")", R"("c-1")", R"("")", "-1", "4294967296"})
    EXPECT_FALSE(parse(std::string(R"({"version":2,"contracts":{"Thread":)") + version + "}}")) << version;
  EXPECT_EQ(parse(R"({"types":{"T":{"f":-4}}})").error().subject, "T.f");
  EXPECT_EQ(parse(R"({"globals":{"g":[[9],"pointer"]}})").error().subject, "g");
  EXPECT_EQ(parse(R"({"types":[]})").error().error.code, ErrorCode::malformed);
  EXPECT_EQ(parse("{").error().error.code, ErrorCode::malformed);
  EXPECT_EQ(parse("").error().error.code, ErrorCode::malformed);
  EXPECT_EQ(parse(std::string(100000, '[')).error().error.code, ErrorCode::limit_exceeded);
}

TEST(Descriptor, RefusesHostileHeaders) {
  memory::BufferMemory m;
  put_descriptor(m, 0x10000, "{}", {}, 0x1234);
  EXPECT_EQ(Descriptor::read(m, 0x10000).error().error.code, ErrorCode::mismatch);
  EXPECT_EQ(Descriptor::read(m, 0x90000).error().error.code, ErrorCode::unreadable_memory);
  memory::BufferMemory huge;
  struct {
    std::uint64_t magic = 0x0043414443434e44;
    std::uint32_t flags = 1, size = 0xffffffff;
    std::uint64_t json = 0x1000;
    std::uint32_t count = 0xffffffff, pad = 0;
    std::uint64_t pointers = 0x1000;
  } header;
  huge.add_value(0x10000, header);
  EXPECT_EQ(Descriptor::read(huge, 0x10000).error().subject, "descriptor size");
}

TEST(Contracts, NameTheVersionOrFieldThatIsMissing) {
  auto json = test_data("descriptor-linux-x64-10.0.12.json");
  const auto edit = [&](std::string_view from, std::string_view to) {
    auto copy = json;
    const auto at = copy.find(from);
    EXPECT_NE(at, std::string::npos);
    copy.replace(at, from.size(), to);
    auto d = parse(copy, std::vector<std::uint64_t>(24, 8));
    EXPECT_TRUE(d);
    return Contracts::judge(*d, resolve_layouts(*d));
  };
  auto version = edit(R"("ExecutionManager":2)", R"("ExecutionManager":7)");
  EXPECT_EQ(version.refusal(Contract::execution_manager),
            refusal_of(ErrorCode::contract_unsupported, "ExecutionManager", 7));
  EXPECT_TRUE(version.admits(Contract::thread));
  auto field = edit(R"("CallSiteSP":24)", R"("Other":24)");
  EXPECT_EQ(field.refusal(Contract::stack_walk).subject, "InlinedCallFrame.CallSiteSP");
  auto absent = edit(R"("StackWalk":1)", R"("StackRun":1)");
  EXPECT_EQ(absent.refusal(Contract::stack_walk), refusal_of(ErrorCode::not_found, "StackWalk"));
}

}  // namespace
}  // namespace mixstack::dotnet
