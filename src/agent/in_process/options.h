// The agent's settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mixstack::agent {

enum class OutFormat : std::uint8_t { collapsed, json };

struct AgentOptions {
  static constexpr unsigned kMostHertz = 10'000, kMostWallHertz = 1000, kMostWallThreads = 1024;

  unsigned cpu_hertz = 0;      ///< samples of each thread per second of its CPU time; 0: none
  unsigned wall_hertz = 0;     ///< ticks of wall time per second; 0: none
  unsigned wall_threads = 16;  ///< most threads that one tick samples
  std::string out;             ///< file written when sampling ends; empty: none
  OutFormat format = OutFormat::collapsed;
  bool walks_managed = true;  ///< false: a walk ends at managed code (MIXSTACK_HYBRID_UNWINDING=0)
  bool explains = false;      ///< logs to standard error (MIXSTACK_DEBUG)

  [[nodiscard]] bool samples() const { return cpu_hertz != 0 || wall_hertz != 0; }

  /// MIXSTACK_AGENT_HZ, _WALL, _WALL_THREADS, _OUT, _FORMAT, MIXSTACK_HYBRID_UNWINDING, MIXSTACK_DEBUG.
  [[nodiscard]] static AgentOptions of_environment();
  /// The same names in lines of NAME=VALUE, as attach and control requests send them. Other names are ignored.
  [[nodiscard]] static AgentOptions of_lines(std::string_view text);

 private:
  void set(std::string_view name, std::string_view value);
};

}  // namespace mixstack::agent
