// What a plugin of signal_walk_stress exports.
#pragma once

extern "C" {
using PluginCallback = long (*)(void* data);
using PluginCall = long (*)(PluginCallback callback, void* data);
using PluginRange = void (*)(const char** begin, const char** end);
}
