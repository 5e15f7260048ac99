// The time of day, for records.
#pragma once

#include <chrono>
#include <ctime>
#include <string>

namespace fodp {

// UTC, as 2026-01-31T12:00:00Z.
inline std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace fodp
