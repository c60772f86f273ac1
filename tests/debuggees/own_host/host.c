/* A program of somebody's own that loads .NET: own_host HOSTFXR APP.dll. (hostfxr.h of the host pack has the
   prototypes: docs/design/features/native-hosting.md in dotnet/runtime.) */
#include <dlfcn.h>
#include <stdio.h>

typedef int (*initialize_t)(int argc, const char** argv, const void* parameters, void** handle);
typedef int (*run_t)(void* handle);

int main(int argc, const char** argv) {
  if (argc != 3) return 2;
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  initialize_t initialize = (initialize_t)dlsym(library, "hostfxr_initialize_for_dotnet_command_line");
  run_t run = (run_t)dlsym(library, "hostfxr_run_app");
  void* handle = NULL;
  if (initialize == NULL || run == NULL || initialize(1, argv + 2, NULL, &handle) != 0) return 4;
  return run(handle);
}
