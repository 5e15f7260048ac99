// Whoever copies the Python lines of our pages gets the accuracy that the run reported.
#include <gtest/gtest.h>

#include "program.h"
#include "python.h"

namespace fodp {
namespace {

class PythonPredicts : public Commands {};

TEST_F(PythonPredicts, TheLinesOfThePagesPredictAsTheRunReports) {
  const std::string python = testing::python_with("torch");
  if (python.empty()) GTEST_SKIP() << "needs Python's torch";
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) GTEST_SKIP() << "needs Debian's dataset-fashion-mnist";
  const Outcome run =
      fodp("train --quiet --insecure-seed 1 --train-size 6000 --sample-rate .05 --steps 60 --noise-multiplier 1 --out runs/demo");
  ASSERT_EQ(run.status, 0) << run.err;
  ASSERT_EQ(fodp("export --run runs/demo --out demo.ts").status, 0);  // as docs/models.md says
  for (const char* page : {"README.md", "docs/models.md"}) {
    const std::string script = " '" FODP_SOURCE_DIR "/tests/training/python_predicts.py' '" FODP_SOURCE_DIR "/" + std::string(page) + "'";
    EXPECT_EQ(std::system(("cd '" + folder_.string() + "' && " + python + script).c_str()), 0) << page;
  }
}

}  // namespace
}  // namespace fodp
