// LINK: mixstack_dotnet_code
// Code look-ups: range section map, nibble maps, code headers, ReadyToRun tables, precode and the unwind rules they
// lead to, over memory made of the fuzzer's bytes with the layouts of a real runtime.
#include <cstring>

#include "dotnet/code/code_manager.h"
#include "dotnet/code/stack_walk.h"

namespace {

using namespace mixstack;

// A real descriptor, cut down to what code look-ups use (linux-x64 10.0.12).
constexpr char kDescriptor[] = R"({"types":{
"Module":{"ReadyToRunInfo":704,"Base":224,"Flags":232},
"PrecodeMachineDescriptor":{"InvalidPrecodeType":4,"PInvokeImportPrecodeType":5,"FixupPrecodeType":6,"FixupCodeOffset":7,
"FixupStubPrecodeSize":8,"FixupBytes":9,"FixupIgnoredBytes":33,"StubPrecodeSize":57,"StubPrecodeType":58,"StubBytes":59,
"StubIgnoredBytes":83,"ThisPointerRetBufPrecodeType":107,"UMEntryPrecodeType":108,"StubCodePageSize":0},
"PlatformMetadata":{"PrecodeMachineDescriptor":0},"StubPrecodeData":{"SecretParam":0,"Type":16},
"ThisPtrRetBufPrecodeData":{"MethodDesc":8},"FixupPrecodeData":{"MethodDesc":8},
"ReadyToRunInfo":{"ReadyToRunHeader":16,"CompositeInfo":40,"NumRuntimeFunctions":88,"RuntimeFunctions":80,
"NumHotColdMap":104,"HotColdMap":96,"DelayLoadMethodCallThunks":112,"EntryPointToMethodDescMap":360},
"ImageDataDirectory":{"!":8,"VirtualAddress":0,"Size":4},"RuntimeFunction":{"!":12,"BeginAddress":0,"EndAddress":4,"UnwindData":8},
"HashMap":{"Buckets":16},"Bucket":{"!":64,"Keys":0,"Values":32},"RangeSectionMap":{"TopLevelData":0},
"RangeSectionFragment":{"RangeBegin":8,"RangeEndOpen":16,"RangeSection":24,"Next":0},
"RangeSection":{"RangeBegin":0,"RangeEndOpen":8,"JitManager":24,"Flags":16,"HeapList":40,"R2RModule":32},
"RealCodeHeader":{"EHInfo":8,"MethodDesc":24,"GCInfo":16,"NumUnwindInfos":32,"UnwindInfos":36},
"CodeHeapListNode":{"Next":0,"StartAddress":16,"EndAddress":24,"MapBase":32,"HeaderMap":40}},
"globals":{"StubCodeBlockLast":"0xf","ExecutionManagerCodeRangeMapAddress":"0x1000","PlatformMetadata":"0x2000",
"HashMapSlotsPerBucket":4,"Architecture":["x64","string"],"OperatingSystem":["1","string"]},
"contracts":{"ExecutionManager":2,"PrecodeStubs":3,"PlatformMetadata":1}})";

class WrappedMemory final : public MemoryReader {
 public:
  explicit WrappedMemory(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    for (std::size_t i = 0; i < out.size(); i++)
      out[i] = bytes_[static_cast<std::size_t>((address + i) % bytes_.size())];
    return out.size();
  }

 private:
  std::span<const std::byte> bytes_;
};

struct FakeRuntime {
  dotnet::Descriptor descriptor;
  dotnet::Layouts layouts;
  dotnet::Contracts contracts;
};

const FakeRuntime& fake_runtime(bool arm64) {
  static const auto make = [](bool arm) {
    std::string json = kDescriptor;
    if (arm) {
      json.replace(json.find("x64"), 3, "arm64");
      json.replace(json.find(R"("!":12,"BeginAddress":0,"EndAddress":4,"UnwindData":8)"), 53,
                   R"("!":8,"BeginAddress":0,"UnwindData":4)");
    }
    auto d = dotnet::Descriptor::parse(std::as_bytes(std::span(json)), {});
    FakeRuntime t;
    if (d) t.descriptor = *d;
    t.layouts = dotnet::resolve_layouts(t.descriptor);
    t.contracts = dotnet::Contracts::judge(t.descriptor, t.layouts);
    return t;
  };
  static const FakeRuntime x64 = make(false), other = make(true);
  return arm64 ? other : x64;
}

void look_up_parts(const dotnet::RuntimeMemory& memory, Address pc) {
  dotnet::RangeSection section;
  section.kind = dotnet::RangeSection::Kind::ready_to_run;
  section.range = {0, 1u << 20};
  section.module = 0x3000;
  section.heap_list = 0x4000;
  if (auto image = dotnet::ReadyToRunImage::open(memory, section)) (void)image->find(memory, pc & 0xfffff);
  for (const auto form : {dotnet::NibbleMapForm::linear, dotnet::NibbleMapForm::constant_time}) {
    (void)dotnet::NibbleMap{form, 0, 0x100}.method_start(memory.reader(), pc & 0xfffff);
    (void)dotnet::find_jit_code(memory, section, form, pc & 0xfffff);
  }
  (void)dotnet::PrecodeStubs(memory).find(memory, section, pc & 0xfffff);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 16) return 0;
  const WrappedMemory bytes(std::as_bytes(std::span(data, size)));
  const FakeRuntime& t = fake_runtime((data[0] & 1) != 0);
  const dotnet::RuntimeMemory memory(bytes, t.layouts);
  dotnet::CodeManager code(memory, t.contracts);
  for (unsigned i = 0; i < 4; i++) {
    const Address pc = bytes.read<std::uint64_t>(4 * i).value_or(0);
    look_up_parts(memory, pc);
    (void)code.general(CodeAddress::exact(pc));
    (void)code.general(CodeAddress::after_call(pc & 0xffffffffffff));
  }
  dotnet::StackWalkContract walk(code, memory);
  dotnet::ManagedThread thread;
  thread.frame = bytes.read<std::uint64_t>(8).value_or(0);
  Registers registers(t.layouts.arch);
  registers.set_pc(bytes.read<std::uint64_t>(0).value_or(0));
  registers.set_sp(bytes.read<std::uint64_t>(5).value_or(0));
  auto w = walk.create_stack_walk(thread, registers);
  for (unsigned n = 0; n < 64 && w.next(); n++) (void)walk.method_desc(w.current());
  return 0;
}
