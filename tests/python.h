// A Python that has what a test asks for: the one that the environment variable FODP_PYTHON names, the one in the path, or Debian's.
#pragma once

#include <cstdlib>
#include <string>

namespace fodp::testing {

// The program, ready for a shell; empty if none of them has all of the modules, as "torch, safetensors".
inline std::string python_with(const std::string& modules) {
  const char* chosen = std::getenv("FODP_PYTHON");
  for (const std::string& program : {std::string(chosen ? chosen : ""), std::string("python3"), std::string("/usr/bin/python3")})
    if (!program.empty() && std::system(("'" + program + "' -c 'import " + modules + "' 2>/dev/null").c_str()) == 0)
      return "'" + program + "'";
  return "";
}

}  // namespace fodp::testing
