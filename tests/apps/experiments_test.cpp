// The scripts of experiments/ stop where something is wrong, and say what. A program that only plays fodp stands in for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Experiments : public Commands {
 protected:
  // `problem` is what it says of the data, as JSON; `train` is what it does to train.
  Outcome run(const std::string& script, const std::string& problem, const std::string& train) {
    write("fodp",
          "#!/bin/sh\ncase $1 in\n"
          "data) echo '{\"data\": [{\"name\": \"cifar-10\"" +
              problem + "}, {\"name\": \"fashion-mnist\"" + problem +
              "}]}' ;;\n"
              "train) echo x >>trained; " +
              train + " ;;\nesac\n");
    std::filesystem::permissions(folder_ / "fodp", std::filesystem::perms::owner_all);
    write("gnuplot", "#!/bin/sh\n");
    std::filesystem::permissions(folder_ / "gnuplot", std::filesystem::perms::owner_all);
    const std::string command = "cd '" + folder_.string() + "' && PATH=.:$PATH METHODS=dp-sgd JOBS=1 FODP='" + (folder_ / "fodp").string() +
                                "' '" FODP_SOURCE_DIR "/experiments/" + script + " >out.txt 2>err.txt </dev/null";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), content(folder_ / "out.txt"), content(folder_ / "err.txt")};
  }
};

TEST_F(Experiments, StopAtARunThatFails) {
  for (const char* script : {"cifar-10.sh' . out", "fashion-mnist.sh' out", "methods.sh'"}) {
    std::filesystem::remove(folder_ / "trained");
    const Outcome outcome = run(script, "", "echo the reason >&2; exit 3");
    EXPECT_NE(outcome.status, 0) << script;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("the reason"), HasSubstr("status 3"))) << script;
    EXPECT_EQ(content(folder_ / "trained"), "x\n") << script << " went on";
  }
}

TEST_F(Experiments, SayAtTheStartThatTheDataIsMissing) {
  for (const char* script : {"cifar-10.sh' . out", "fashion-mnist.sh' out", "methods.sh'"}) {
    const Outcome outcome = run(script, ", \"problem\": \"nowhere to be found\"", "true");
    EXPECT_NE(outcome.status, 0) << script;
    EXPECT_THAT(outcome.err, HasSubstr("nowhere to be found")) << script;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "trained")) << script;
  }
  EXPECT_THAT(run("cifar-10.sh'", "", "true").err, HasSubstr("usage"));
}

TEST_F(Experiments, TellTheResults) {
  const std::string summary = R"({"test_accuracy": 0.5, "noise_multiplier": 1.25, "epsilon": 3})";
  const Outcome outcome = run("methods.sh'", "", "echo '" + summary + "'");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("| dp-sgd | default | 0.5000 (0.5000, 0.5000, 0.5000, 0.5000, 0.5000) | 1.25 | 3.00 |"));
}

}  // namespace
}  // namespace fodp
