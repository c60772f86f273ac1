// A library that is loaded and unloaded while stacks are walked. Built several times with frames of different sizes, so
// that rules kept for one are wrong for another that comes to lie at the same addresses.
#include "plugin.h"

namespace {

volatile unsigned char g_sink;

}  // namespace

extern "C" {

extern const char __start_plugin_code[];
extern const char __stop_plugin_code[];

__attribute__((noinline, visibility("default"), section("plugin_code"))) long plugin_call(PluginCallback callback,
                                                                                          void* data) {
  volatile unsigned char frame[PLUGIN_FRAME];
  frame[PLUGIN_FRAME - 1] = 7;
  const long result = callback(data);
  g_sink = frame[PLUGIN_FRAME - 1];
  return result + frame[PLUGIN_FRAME - 1];
}

__attribute__((visibility("default"))) void plugin_range(const char** begin, const char** end) {
  *begin = __start_plugin_code;
  *end = __stop_plugin_code;
}
}
