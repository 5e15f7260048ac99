// A study's directory with made-up records, for tests that do not train.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "study/records.h"
#include "study/results.h"
#include "study/study_file.h"

namespace fodp::app {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "fodp-study-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return path / name;
  }
  std::filesystem::path path;
};

inline constexpr char kStudy[] = R"(
title = "Two methods"
seeds = [1, 2, 3]
[base]
data = "fashion-mnist"
epochs = 20
[axes]
budget = [{ label = "noise", noise-multiplier = 1 }, { label = "epsilon", epsilon = 3 }]
method = ["dp-sgd", { label = "FO", method = "fo-dp-sgd", beta = 0.9 }]
[[tables]]
name = "final"
title = "Final"
rows = ["budget", "method"]
baseline = "dp-sgd"
[[figures]]
name = "curves"
x = ["epoch", "epsilon"]
series = "method"
panels = ["budget"]
[[claims]]
text = "FO ends above DP-SGD"
better = { method = "FO", budget = "noise" }
worse = { method = "dp-sgd", budget = "noise" }
claimed = 0.04
[[claims]]
text = "FO ends above DP-SGD at equal epsilon"
better = { method = "FO", budget = "epsilon" }
worse = { method = "dp-sgd", budget = "epsilon" }
)";

inline Record made_up_record(const std::string& study, const std::string& key, double accuracy) {
  Record record = {{"study", study},       {"key", key}, {"status", "done"}, {"run", {{"method", "x"}}}, {"test_accuracy", accuracy},
                   {"test_examples", 2000}};
  record["curve"] = Record::array({{{"step", 10}, {"epoch", 1.0}, {"epsilon", 1.0}, {"test_accuracy", accuracy / 2}},
                                   {{"step", 20}, {"epoch", 2.0}, {"epsilon", 2.0}, {"test_accuracy", accuracy}}});
  return record;
}

}  // namespace fodp::app
