// Runs a program on .NET for musl: `Scenarios scenario ...` runs Scenarios.dll, which lies beside it with its
// framework. The host that comes with .NET needs GNU's C++ library for musl, which no package here has; the runtime
// itself needs little of it (missing.cc).
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMostAssemblies = 1 << 17, kMostPath = 4096 };

typedef int Initialize(const char*, const char*, int, const char**, const char**, void**, unsigned*);
typedef int Shutdown(void*, unsigned, int*);
typedef int Execute(void*, unsigned, int, const char**, const char*, unsigned*);

static int fail(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

/// Every assembly of a folder, as the runtime wants the list.
static char* assemblies(const char* folder) {
  char* list = calloc(1, kMostAssemblies);
  DIR* entries = opendir(folder);
  if (list == NULL || entries == NULL) return NULL;
  size_t used = 0;
  for (const struct dirent* e = readdir(entries); e != NULL; e = readdir(entries)) {
    const char* end = strrchr(e->d_name, '.');
    if (end == NULL || strcmp(end, ".dll") != 0) continue;
    const int n = snprintf(list + used, kMostAssemblies - used, "%s/%s:", folder, e->d_name);
    if (n < 0 || (size_t)n >= kMostAssemblies - used) return NULL;
    used += (size_t)n;
  }
  closedir(entries);
  return list;
}

int main(int argc, char** argv) {
  char self[kMostPath], assembly[kMostPath + 8], path[kMostPath + 32];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return fail("/proc/self/exe", "cannot be read");
  self[length] = 0;
  snprintf(assembly, sizeof assembly, "%s.dll", self);
  *strrchr(self, '/') = 0;
  char* trusted = assemblies(self);
  if (trusted == NULL) return fail(self, "has too many assemblies, or none");
  snprintf(path, sizeof path, "%s/libcoreclr.so", self);
  void* runtime = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (runtime == NULL) return fail(path, dlerror());
  Initialize* initialize = (Initialize*)dlsym(runtime, "coreclr_initialize");
  Execute* execute = (Execute*)dlsym(runtime, "coreclr_execute_assembly");
  Shutdown* shutdown = (Shutdown*)dlsym(runtime, "coreclr_shutdown_2");
  if (initialize == NULL || execute == NULL || shutdown == NULL) return fail(path, "is no runtime");
  const char* keys[] = {"TRUSTED_PLATFORM_ASSEMBLIES", "APP_PATHS", "NATIVE_DLL_SEARCH_DIRECTORIES",
                        "System.Globalization.Invariant"};
  const char* values[] = {trusted, self, self, "true"};
  void* handle = NULL;
  unsigned domain = 0, code = 0;
  if (initialize(argv[0], "musl", 4, keys, values, &handle, &domain) < 0) return fail(path, "cannot be initialized");
  if (execute(handle, domain, argc - 1, (const char**)argv + 1, assembly, &code) < 0)
    return fail(assembly, "cannot be run");
  int latched = (int)code;
  (void)shutdown(handle, domain, &latched);
  return latched;
}
