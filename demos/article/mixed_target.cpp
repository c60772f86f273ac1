// The article's mixed target: a native program that hosts CoreCLR and calls into managed code, which calls native code,
// which calls managed code, which waits for a line in native code.
//   mixed_target HOSTFXR MIXED_TARGET_DLL
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace {

// hostfxr.h and coreclr_delegates.h of dotnet/runtime (src/native/corehost), as far as they are used here.
using Handle = void*;
using Initialize = std::int32_t (*)(const char* runtime_config, const void* parameters, Handle* handle);
using GetDelegate = std::int32_t (*)(Handle handle, int type, void** delegate);
using Close = std::int32_t (*)(Handle handle);
using LoadFunction = int (*)(const char* assembly, const char* type, const char* method, const char* delegate_type,
                             void* reserved, void** function);
constexpr int kLoadAssemblyAndGetFunctionPointer = 5;
const char* const kUnmanagedCallersOnly = reinterpret_cast<const char*>(-1);

using AddAll = int (*)(const int* numbers, int count);

template <class T>
T function(void* library, const char* name) {
  return reinterpret_cast<T>(dlsym(library, name));
}

AddAll load_managed(const char* hostfxr, const std::string& dll) {
  void* library = dlopen(hostfxr, RTLD_NOW);
  if (library == nullptr) return nullptr;
  const std::string config = dll.substr(0, dll.size() - 3) + "runtimeconfig.json";
  Handle handle = nullptr;
  if (function<Initialize>(library, "hostfxr_initialize_for_runtime_config")(config.c_str(), nullptr, &handle) < 0)
    return nullptr;
  void* load = nullptr;
  const auto got =
      function<GetDelegate>(library, "hostfxr_get_runtime_delegate")(handle, kLoadAssemblyAndGetFunctionPointer, &load);
  function<Close>(library, "hostfxr_close")(handle);
  if (got != 0 || load == nullptr) return nullptr;
  void* add_all = nullptr;
  reinterpret_cast<LoadFunction>(load)(dll.c_str(), "MixedTarget.ManagedLib, MixedTarget", "AddAll",
                                       kUnmanagedCallersOnly, nullptr, &add_all);
  return reinterpret_cast<AddAll>(add_all);
}

}  // namespace

[[gnu::noinline]] int native_add_all(AddAll managed, const int* numbers, int count) {
  return managed(numbers, count) + numbers[count - 1];
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: mixed_target HOSTFXR MIXED_TARGET_DLL\n");
    return 2;
  }
  const AddAll managed = load_managed(argv[1], argv[2]);
  if (managed == nullptr) {
    std::fprintf(stderr, "mixed_target: the runtime could not be started\n");
    return 1;
  }
  std::printf("READY %d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  const int numbers[] = {1, 2, 3, 4, 5, 6, 7};
  std::printf("sum %d\n", native_add_all(managed, numbers, 7));
  return 0;
}
