#include "dotnet/code/frames/frame_update.h"
#include "dotnet/code/method_check.h"
#include "dotnet/code/supplement.h"
#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

using test::DotnetMemory;
constexpr Address kFrame = 0x7ffc00001000;

// A type with two chunks of methods, in the runtime's layout.
struct Types {
  static constexpr Address kTable = 0x40000, kClass = 0x41000, kChunk1 = 0x42000, kChunk2 = 0x43000;
  explicit Types(DotnetMemory& t) : t_(t) {
    const auto& l = t.layouts;
    for (const Address a : {kTable, kClass, kChunk1, kChunk2}) t.memory.map(a, 4096);
    t.memory.put_u64(kTable + l.method_table.ee_class_or_canon.offset, kClass);
    t.memory.put_u64(kClass + l.ee_class.method_table.offset, kTable);
    t.memory.put_u64(kClass + l.ee_class.method_desc_chunk.offset, kChunk1);
    t.memory.put_u64(kChunk1 + l.method_desc_chunk.next.offset, kChunk2);
    if (l.globals.method_desc_size_table) {
      t.memory.map(l.globals.method_desc_size_table.value, 64);
      for (unsigned i = 0; i < 64; i++)
        t.memory.put_u8(l.globals.method_desc_size_table.value + i, i % 8 == 7 ? 48 : 24);
    }
    // With the slot of their code behind them, where sizes are told by type.
    const std::uint16_t code_slot = l.algorithms.method_sizes == MethodSizes::types ? 0x20 : 0;
    first = add(kChunk1, 0, 3, code_slot);
    second = add(kChunk1, 24, 4, 2);
    third = add(kChunk2, 0, 9, 7);
    t.memory.put_u8(kChunk1 + l.method_desc_chunk.count.offset, 1);
    for (const Address c : {kChunk1, kChunk2}) t.memory.put_u64(c, kTable);
  }
  Address add(Address chunk, unsigned offset, std::uint16_t slot, std::uint16_t flags) {
    const auto& l = t_.layouts;
    const Address md = chunk + l.method_desc_chunk.size + offset;
    t_.memory.put_u8(md + l.method_desc.chunk_index.offset, static_cast<std::uint8_t>(offset / 8));
    t_.memory.put_u16(md + l.method_desc.slot.offset, slot);
    t_.memory.put_u16(md + l.method_desc.flags.offset, flags);
    return md;
  }
  DotnetMemory& t_;
  Address first = 0, second = 0, third = 0;
};

// The fields of the later document (Datum, MethodDescPtr, RepresentativeMTPtr, RepresentativeSlot) in a descriptor.
nlohmann::json later_descriptor() {
  auto json = test::x64_descriptor();
  json["types"]["InlinedCallFrame"]["Datum"] = 16;
  json["types"]["FramedMethodFrame"]["MethodDescPtr"] = 24;
  json["types"]["StubDispatchFrame"] = {{"MethodDescPtr", 24}, {"RepresentativeMTPtr", 32}, {"RepresentativeSlot", 40}};
  return json;
}

// .NET 10 with the fields of the later document, and releases that describe them themselves.
class FrameMethods : public ::testing::TestWithParam<const char*> {
 protected:
  static nlohmann::json descriptor() {
    return *GetParam() == 0 ? later_descriptor() : test::load_descriptor(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(FrameMethod, FrameMethods,
                         ::testing::Values("", "descriptor-linux-x64-11.0.0.json",
                                           "descriptor-linux-arm64-11.0.0.json"),
                         [](const auto& info) { return *info.param == 0 ? "later_document" : test::release_of(info); });

TEST_P(FrameMethods, ComeFromTheFieldsOfTheLaterDocument) {
  DotnetMemory t(descriptor());
  Types types(t);
  const auto method = [&] { return frame_method(t.runtime(), *read_frame(t.runtime(), kFrame)).value_or(1); };
  for (const auto type : {FrameType::prestub_method, FrameType::external_method, FrameType::dynamic_helper,
                          FrameType::call_counting_helper}) {
    t.put_frame(kFrame, type);
    t.memory.put_u64(kFrame + 24, types.first);
    EXPECT_EQ(method(), types.first);
  }
  t.put_frame(kFrame, FrameType::pinvoke_calli);
  EXPECT_EQ(method(), 0u);
  t.put_frame(kFrame, FrameType::stub_dispatch);
  EXPECT_EQ(method(), types.first);
  t.memory.put_u64(kFrame + 24, 0);  // not resolved yet: by type and slot
  t.memory.put_u64(kFrame + 32, Types::kTable);
  t.memory.put_u64(kFrame + 40, 9);
  EXPECT_EQ(method(), types.third);
  t.memory.put_u64(kFrame + 40, 77);
  EXPECT_EQ(method(), 0u);
}

TEST_P(FrameMethods, OfAnInlinedCallFrameIsAProvedDatum) {
  DotnetMemory t(descriptor());
  Types types(t);
  t.put_frame(kFrame, FrameType::inlined_call);
  const auto method = [&](std::uint64_t datum, Address return_address = 0x1000) {
    t.memory.put_u64(kFrame + 16, datum);
    t.memory.put_u64(kFrame + 32, return_address);
    return frame_method(t.runtime(), *read_frame(t.runtime(), kFrame)).value_or(1);
  };
  EXPECT_EQ(method(types.second), types.second);
  EXPECT_EQ(method(types.second | 2), types.second);  // marked by the exception handling helpers
  EXPECT_EQ(method(types.second | 1), 0u);            // the target of a calli
  EXPECT_EQ(method(types.second, 0), 0u);             // no active call
  EXPECT_EQ(method(0), 0u);
  EXPECT_EQ(method(0x4000), 0u);
  EXPECT_EQ(method(types.second + 8), 0u);  // no MethodDesc
}

TEST(FrameMethod, IsUnavailableWithoutFieldAndSupplement) {
  DotnetMemory t;
  t.put_frame(kFrame, FrameType::prestub_method);
  EXPECT_EQ(frame_method(t.runtime(), *read_frame(t.runtime(), kFrame)).error().code, ErrorCode::field_unavailable);
}

TEST(Supplement, FillsInWhatTheShapeOfTheNeighboursProves) {
  using State = SupplementEntry::State;
  DotnetMemory t;
  auto supplement = Supplement::apply(t.layouts);
  EXPECT_EQ(t.layouts.inlined_call_frame.datum.offset, 16u);
  EXPECT_EQ(t.layouts.framed_method_frame.method_desc.offset, 24u);
  EXPECT_EQ(t.layouts.thread.cached_stack_base.offset, 120u);
  EXPECT_EQ(t.layouts.thread.hijacked_return_address_slot.offset, 160u);
  EXPECT_EQ(supplement.entries().front().state, State::unproved);

  DotnetMemory described(later_descriptor());
  EXPECT_EQ(Supplement::apply(described.layouts).entries().front().state, State::described);

  auto json = test::x64_descriptor();
  json["types"]["InlinedCallFrame"]["!"] = 64;  // another shape: nothing is guessed
  DotnetMemory other(json);
  EXPECT_EQ(Supplement::apply(other.layouts).entries().front().state, State::no_match);
  EXPECT_FALSE(other.layouts.inlined_call_frame.datum);

  DotnetMemory arm64(test::arm64_descriptor());
  (void)Supplement::apply(arm64.layouts);
  EXPECT_EQ(arm64.layouts.thread.hijacked_return_address.offset, 192u);
}

TEST(Supplement, Of11OnlyTheHijackedReturnAddressIsLeft) {
  using State = SupplementEntry::State;
  for (const auto& [name, offset] :
       {std::pair{"descriptor-linux-x64-11.0.0.json", 152u}, std::pair{"descriptor-linux-arm64-11.0.0.json", 192u}}) {
    DotnetMemory t(test::load_descriptor(name));
    const Supplement supplement = Supplement::apply(t.layouts);
    for (const SupplementEntry& entry : supplement.entries()) {
      const bool is_hijack = entry.field.find("ijack") != std::string_view::npos;
      EXPECT_EQ(entry.state, is_hijack ? State::unproved : State::described) << entry.field;
    }
    EXPECT_EQ(t.layouts.thread.hijacked_return_address.offset, offset) << name;
    EXPECT_EQ(t.layouts.thread.hijacked_return_address_slot.offset, offset + 8);
    auto json = test::load_descriptor(name);  // another shape: nothing is guessed
    json["types"]["Thread"]["OSId"] = json["types"]["Thread"]["OSId"].get<int>() + 8;
    DotnetMemory other(json);
    (void)Supplement::apply(other.layouts);
    EXPECT_FALSE(other.layouts.thread.hijacked_return_address);
  }
}

// Each class, and each optional slot (mdf* in src/coreclr/vm/method.hpp): a chunk of two methods, the second
// right behind the first, is found by its slot when the size of the first is right.
TEST(MethodSizes, AreThoseOfTheTypesSince11) {
  for (const char* name : {"descriptor-linux-x64-11.0.0.json", "descriptor-linux-arm64-11.0.0.json"}) {
    // IL, FCall, P/Invoke, EEImpl, array, instantiated, COM (not on Linux), dynamic.
    constexpr std::array<unsigned, 8> kSizes{16, 24, 56, 32, 32, 40, 0, 48};
    constexpr std::array<std::pair<std::uint16_t, unsigned>, 4> kSlots{{{8, 8}, {0x10, 16}, {0x20, 8}, {0x40, 24}}};
    for (std::uint16_t kind = 0; kind < 8; kind++)
      for (unsigned set = 0; set < 16; set++) {
        DotnetMemory t(test::load_descriptor(name));
        Types types(t);
        std::uint16_t flags = kind;
        unsigned size = std::max(kSizes[kind], 16u);
        for (unsigned i = 0; i < kSlots.size(); i++)
          if ((set >> i & 1) != 0)
            flags = static_cast<std::uint16_t>(flags | kSlots[i].first), size += kSlots[i].second;
        (void)types.add(Types::kChunk1, 0, 3, flags);
        const Address behind = types.add(Types::kChunk1, size, 123, 0);
        const auto found = method_for_slot(t.runtime(), Types::kTable, 123);
        if (kSizes[kind] == 0) {
          EXPECT_EQ(found.error().code, ErrorCode::field_unavailable);
        } else {
          EXPECT_EQ(found.value_or(0), behind) << kind << " " << set;
        }
      }
  }
}

TEST(MethodSizes, OfAClassThatIsNotDescribedIsNoGuess) {
  auto json = test::load_descriptor("descriptor-linux-x64-11.0.0.json");
  json["types"].erase("PInvokeMethodDesc");
  DotnetMemory t(json);
  Types types(t);
  (void)types.add(Types::kChunk1, 0, 3, 2);
  EXPECT_EQ(method_for_slot(t.runtime(), Types::kTable, 123).error().code, ErrorCode::field_unavailable);
}

TEST(MethodCheck, KnowsStubsWithAHiddenMethod) {
  auto with_com = test::x64_descriptor();
  with_com["globals"]["FeatureCOMInterop"] = 1;
  for (const auto& json : {test::x64_descriptor(), with_com}) {
    DotnetMemory t(json);
    Types types(t);
    const auto flags = [&](std::uint32_t f) {
      t.memory.put_u32(types.third + t.layouts.stored_sig_method_desc.extended_flags.offset, f);
      return has_method_context_argument(t.runtime(), types.third);
    };
    EXPECT_TRUE(flags(0x9001));    // static IL stub, CLR to native
    EXPECT_FALSE(flags(0x19001));  // of a delegate
    EXPECT_FALSE(flags(0x29001));  // of a calli
    EXPECT_FALSE(flags(0x9003));   // native to CLR
    EXPECT_EQ(flags(0x8002), json == with_com) << "CLR to COM";
    EXPECT_FALSE(flags(0x4000));  // a DynamicMethod
    EXPECT_FALSE(has_method_context_argument(t.runtime(), types.first));
  }
}

// As they stand in the stubs of a live 11.0.0: kinds of their own for delegates and calls by address, no flags.
TEST(MethodCheck, StubsOf11HaveNoHiddenMethod) {
  DotnetMemory t(test::load_descriptor("descriptor-linux-x64-11.0.0.json"));
  Types types(t);
  for (const std::uint32_t flags : {0x8802u, 0x9803u}) {
    t.memory.put_u32(types.third + t.layouts.stored_sig_method_desc.extended_flags.offset, flags);
    EXPECT_FALSE(has_method_context_argument(t.runtime(), types.third)) << flags;
  }
}

}  // namespace
}  // namespace mixstack::dotnet
