#include "helpers/dac/dac.h"

#include <dlfcn.h>

namespace mixstack::helper {

using dotnet::dac::Stage;

namespace {

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

std::string last_dl_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown error of dlopen" : text;
}

}  // namespace

Outcome<std::unique_ptr<Dac>> Dac::load(const char* path, DataTarget& target) {
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse(Stage::load, 0, last_dl_error());
  // DllMain starts the DAC's copy of the platform layer (PAL). On Unix no loader calls it, so the DAC's user must.
  using DllMain = int (*)(void* instance, std::uint32_t reason, void* reserved);
  constexpr std::uint32_t kProcessAttach = 1;
  if (auto dll_main = symbol<DllMain>(library, "DllMain"); dll_main != nullptr) {
    if (dll_main(library, kProcessAttach, nullptr) == 0) return refuse(Stage::start, 0, "DllMain failed");
  }
  using CreateInstance = HResult (*)(const Guid& iid, ICLRDataTarget* target, void** out);
  auto create = symbol<CreateInstance>(library, "CLRDataCreateInstance");
  if (create == nullptr) return refuse(Stage::start, 0, "exports no CLRDataCreateInstance");
  std::unique_ptr<Dac> dac(new Dac());
  HResult result = create(kIidDataProcess, &target, dac->process_.out_untyped());
  if (!succeeded(result) || !dac->process_) return refuse(Stage::create, result, "CLRDataCreateInstance failed");
  result = dac->process_->QueryInterface(kIidSosDac, dac->sos_.out_untyped());
  if (!succeeded(result) || !dac->sos_) return refuse(Stage::interface, result, "has no ISOSDacInterface");
  return dac;
}

}  // namespace mixstack::helper
