#include "dotnet/contracts/algorithms.h"

#include <tuple>

#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

auto all_of(const Algorithms& a) {
  return std::tuple(a.nibble_map, a.thread_links, a.thrown_object, a.method_sizes, a.array_rank, a.jit_debug_info);
}
Algorithms of(const nlohmann::json& json) { return choose_algorithms(test::parse_descriptor(json)); }
Algorithms of_file(const char* name) { return of(test::load_descriptor(name)); }

TEST(Algorithms, AreThoseOfTheRelease) {
  const Algorithms ten;
  Algorithms nine, eleven;
  nine.array_rank = ArrayRank::array_class;
  eleven.thread_links = ThreadLinks::thread_to_thread;
  eleven.thrown_object = ThrownObject::object;
  eleven.method_sizes = MethodSizes::types;
  eleven.array_rank = ArrayRank::base_size;
  eleven.jit_debug_info = DebugInfoForm::headers;
  for (const char* name : {"descriptor-linux-x64-10.0.12.json", "descriptor-linux-arm64-10.0.9.json"})
    EXPECT_EQ(all_of(of_file(name)), all_of(ten)) << name;
  for (const char* name : {"descriptor-linux-x64-11.0.0.json", "descriptor-linux-arm64-11.0.0.json"})
    EXPECT_EQ(all_of(of_file(name)), all_of(eleven)) << name;
  EXPECT_EQ(all_of(of_file(test::kDescriptorOf9)), all_of(nine)) << "its code is told by code_of_9.h alone";
}

TEST(Algorithms, ANumberMeansWhatItsDescriptorsVersionSays) {
  auto ten = test::x64_descriptor();
  ten["contracts"]["ExecutionManager"] = 1;
  EXPECT_EQ(of(ten).nibble_map, NibbleMapForm::linear);
  EXPECT_EQ(of_file("descriptor-linux-x64-11.0.0.json").nibble_map, NibbleMapForm::constant_time) << "c1";
}

TEST(Algorithms, AreJudgedByFieldsToo) {
  auto eleven = test::load_descriptor("descriptor-linux-x64-11.0.0.json");
  eleven["globals"]["MethodDescSizeTable"] = {{1}, "pointer"};
  eleven["types"]["ArrayClass"] = {{"Rank", 56}};
  eleven["contracts"].erase("DebugInfo");
  const Algorithms a = of(eleven);
  EXPECT_EQ(a.method_sizes, MethodSizes::table);
  EXPECT_EQ(a.array_rank, ArrayRank::array_class);
  EXPECT_EQ(a.jit_debug_info, DebugInfoForm::bits);
  EXPECT_EQ(a.thread_links, ThreadLinks::thread_to_thread);
}

TEST(Contracts, HaveTheLetterOfCoreClr) {
  for (const char* name : {"descriptor-linux-x64-11.0.0.json", "descriptor-linux-arm64-11.0.0.json"}) {
    const test::DotnetMemory eleven(test::load_descriptor(name));
    EXPECT_EQ(eleven.descriptor.format(), Descriptor::kFormatOfLetters);
    EXPECT_TRUE(eleven.contracts.refusals().empty()) << eleven.contracts.refusals().front().subject;
    EXPECT_EQ(eleven.descriptor.contract("StressLog"), (ContractVersion{'c', 2}));
    EXPECT_EQ(eleven.descriptor.contract("StressLog")->text(), "c2");
  }
  const auto refused = [](const char* version) {
    auto json = test::load_descriptor("descriptor-linux-x64-11.0.0.json");
    json["contracts"]["Thread"] = version;
    const test::DotnetMemory edited(json);
    EXPECT_FALSE(edited.contracts.admits(Contract::thread));
    EXPECT_TRUE(edited.contracts.admits(Contract::execution_manager));
    return edited.contracts.refusal(Contract::thread);
  };
  EXPECT_EQ(refused("n1"), refusal_of(ErrorCode::contract_unsupported, "Thread n1", 1)) << "NativeAOT's";
  EXPECT_EQ(refused("1"), refusal_of(ErrorCode::contract_unsupported, "Thread 1", 1)) << "of an older descriptor";
  EXPECT_EQ(refused("c2"), refusal_of(ErrorCode::contract_unsupported, "Thread c2", 2));
  auto ten = test::x64_descriptor();
  ten["contracts"]["Thread"] = "c1";
  EXPECT_FALSE(test::DotnetMemory(ten).contracts.admits(Contract::thread)) << "no letters before version 2";
}

}  // namespace
}  // namespace mixstack::dotnet
