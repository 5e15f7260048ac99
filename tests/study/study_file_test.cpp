#include "study/study_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "study_directory.h"

namespace fodp::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

Study read(const std::string& text, bool quick = false) {
  const Folder folder;
  return read_study(folder.write("own.toml", text), quick);
}

TEST(StudyFile, RunsAreAllCombinationsSeedBySeed) {
  const Study study = read(kStudy);
  EXPECT_EQ(study.name, "own");
  const std::vector<StudyRun> runs = runs_of(study, false, {});
  ASSERT_EQ(runs.size(), 12u);
  EXPECT_THAT(runs[0].place, UnorderedElementsAre(Pair("budget", "noise"), Pair("method", "dp-sgd")));
  EXPECT_EQ(runs[0].seed, 1);
  EXPECT_THAT(runs[3].options,
              UnorderedElementsAre(Pair("data", "fashion-mnist"), Pair("epochs", "20"), Pair("epsilon", "3"), Pair("method", "fo-dp-sgd"),
                                   Pair("beta", "0.9"), Pair("init-seed", "1"), Pair("insecure-seed", "1")));
  EXPECT_EQ(runs[4].seed, 2);
  EXPECT_FALSE(runs_of(study, true, {})[0].options.contains("insecure-seed")) << "--secure";
}

TEST(StudyFile, AnAxisDisplacesWhatSaysTheSameInTheBase) {
  const Study study = read("[base]\nnoise-multiplier = 1\nsteps = 9\n[axes]\nepsilon = [1, 3]\nepochs = [2]\n");
  EXPECT_THAT(runs_of(study, true, {})[1].options, UnorderedElementsAre(Pair("epsilon", "3"), Pair("epochs", "2"), Pair("init-seed", "1")));
}

TEST(StudyFile, TheOrderOfAxesIsThatOfTheFile) {
  const Study study = read("[axes]\nwindow = [1, 2]\nbeta = [0.5]\nalpha = [0.1]\n");
  std::vector<std::string> names;
  for (const Axis& axis : study.axes) names.push_back(axis.name);
  EXPECT_THAT(names, ElementsAre("window", "beta", "alpha"));
}

TEST(StudyFile, QuickIsOneSeedAndATenthOfTheTraining) {
  const Study study = read(kStudy, true);
  EXPECT_THAT(study.seeds, ElementsAre(1));
  EXPECT_EQ(study.base.at("epochs"), "2");
  const std::string own = std::string(kStudy) + "[quick]\nseeds = [7, 8]\nbase = { steps = 5 }\naxes = { method = [\"FO\"] }\n";
  // A value of an axis is named by its label.
  const Study other = read(own, true);
  EXPECT_THAT(other.seeds, ElementsAre(7, 8));
  EXPECT_EQ(other.base.at("steps"), "5");
  EXPECT_FALSE(other.base.contains("epochs"));
  EXPECT_EQ(other.axis("method").values.size(), 1u);
  EXPECT_EQ(read(own).axis("method").values.size(), 2u);
}

TEST(StudyFile, TuningTriesTheSameNumberOfValuesForEachMethod) {
  const std::string tune = "[tune]\noption = \"lr\"\nby = [\"method\"]\ngrid = [1, 2]\nvalidation = 500\nseeds = [9]\n";
  const Study study = read(std::string(kStudy) + tune + "where = { budget = \"epsilon\" }\ngrids = { FO = [3, 4] }\n");
  const std::vector<Place> places = tuning_places(study);
  ASSERT_EQ(places.size(), 2u);
  const std::vector<StudyRun> runs = tuning_runs(study, places[1], false);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].options.at("lr"), "3");
  EXPECT_EQ(runs[0].options.at("epsilon"), "3");
  EXPECT_EQ(runs[0].options.at("insecure-validation"), "500");
  EXPECT_EQ(runs[0].seed, 9);
  EXPECT_EQ(runs_of(study, false, {{places[1], "4"}})[1].options.at("lr"), "4");
  EXPECT_THAT([&] { read(std::string(kStudy) + tune + "grids = { FO = [3, 4, 5] }\n"); },
              ThrowsMessage<InputError>(HasSubstr("same effort")));
}

struct Bad {
  const char* text;
  const char* says;
};

// Each is refused with the file, the line and the key.
TEST(StudyFile, BadStudiesAreRefused) {
  for (const Bad& bad : {
           Bad{"sedes = [1]", "line 1: sedes"},
           {"seeds = [1, 2, 1]", "seeds: 1 stands there twice"},
           {"seeds = []", "seeds: give at least one"},
           {"seeds = [-1]", "seeds"},
           {"[axes]\nmethod = []", "line 2: axes.method: the axis is empty"},
           {"[axes]\nmethod = \"dp-sgd\"", "axes.method: expected a list"},
           {"[axes]\nmethod = [\"dp-sgd\", \"dp-sgd\"]", "'dp-sgd' stands there twice"},
           {"[axes]\nmethod = [{ method = \"dp-sgd\" }]", "label"},
           {"[axes]\nseed = [1, 2]", "seeds stand at the top"},
           {"[base]\nout = \"x\"", "base.out: --out is not for a study file"},
           {"[base]\ninsecure-seed = 3", "seeds = [...] sets it"},
           {"[axes]\nmethod = [\"a\"]\n[[tables]]\nname = \"t\"\nrows = [\"metod\"]", "tables.rows: there is no axis 'metod'"},
           {"[axes]\na = [1, 2]\nb = [1, 2]\n[[tables]]\nname = \"t\"\nrows = [\"a\"]", "says nothing of the axis 'b'"},
           {"[axes]\na = [1]\n[[tables]]\nname = \"t\"\nrows = [\"a\"]\nvalue = \"test_acuracy\"", "'test_acuracy' is not recorded"},
           {"[axes]\na = [1]\n[[tables]]\nname = \"t/u\"\nrows = [\"a\"]", "name of a file"},
           {"[axes]\na = [1]\n[[tables]]\nname = \"t\"\nrows = [\"a\"]\nbaseline = \"2\"", "has no value '2'"},
           {"[axes]\na = [1]\nb = [3]\n[[tables]]\nname = \"t\"\nrows = [\"a\", \"b\"]\nreported = { \"1, 2\" = 0.5 }", "no line '1, 2'"},
           {"[axes]\na = [1]\n[[tables]]\nname = \"t\"\nrows = [\"a\"]\nreported = { 1 = \"x\" }", "must be a number"},
           {"[axes]\na = [1]\n[[figures]]\nname = \"f\"\nseries = \"a\"\ny = \"signal_norm\"", "insecure-diagnostics"},
           {"[axes]\na = [1]\n[[figures]]\nname = \"f\"\nseries = \"a\"\nx = \"time\"", "'time' is not recorded"},
           {"[axes]\na = [1]\n[[figures]]\nname = \"f\"\nkind = \"pie\"", "'pie' is not a kind"},
           {"[axes]\na = [0, 1]\n[[figures]]\nname = \"f\"\nkind = \"points\"\nx = \"a\"\nlog-x = true", "figures.log-x: every value"},
           {"[axes]\na = [1]\n[[figures]]\nname = \"f\"\nkind = \"bar\"\nx = \"a\"\nlog-y = true", "figures.log-y: only figures of kind"},
           {"[axes]\na = [1]\n[[figures]]\nname = \"f\"\nseries = \"a\"\nlog-x = true", "figures.log-x: only figures of kind"},
           {"[[figures]]\nname = \"f\"\nkind = \"kernel\"", "a kernel needs alpha"},
           {"[axes]\na = [1]\n[[claims]]\ntext = \"x\"\nbetter = { a = 2 }\nworse = { a = 1 }", "has no value '2'"},
           {"[tune]\noption = \"lr\"\ngrid = [1]\nvalidation = 5", "at least two values"},
           {"[tune]\noption = \"lr\"\ngrid = [1, 2]", "tune.validation"},
           {"seeds = [9007199254740993]", "seeds: expected whole numbers from 0 to 9007199254740992"},
           {"[base]\ntrain-size = 1\ntrain_size = 2", "--train-size is set twice"},
           {"[axes]\nepsilon = [1]\nclip-norm = [{ label = \"a\", noise-multiplier = 2 }]", "axes.clip-norm: sets --noise-multiplier, and"},
           {"[axes]\nbeta = [1]\nmethod = [{ label = \"a\", beta = 2 }]", "axes.method: sets --beta, and the axis 'beta' sets it, too"},
           {"[axes]\nlr = [1]\n[tune]\noption = \"lr\"\ngrid = [1, 2]\nvalidation = 5", "tune.option: the axis 'lr' sets it already"},
           {"[base]\nlr = 1\n[tune]\noption = \"lr\"\ngrid = [1, 2]\nvalidation = 5", "tune.option: [base] sets it already"},
           {"[tune]\noption = \"init-seed\"\ngrid = [1, 2]\nvalidation = 5", "tune.option: --init-seed is not for a study file"},
           {"[tune]\noption = \"lr\"\ngrid = [1, 2, 1]\nvalidation = 5", "tune.grid: 1 stands there twice"},
           {"seeds = [3]\n[tune]\noption = \"lr\"\ngrid = [1, 2]\nvalidation = 5\nseeds = [3]", "tune.seeds: 3 is a seed of the study"},
           {"[axes]\na = [1, 2]\n[[claims]]\ntext = \"x\"\nbetter = { a = 2 }\nworse = { a = 2 }", "claims.better: is the same place"},
           {"[axes]\na = [1, 2]\n[[claims]]\ntext = \"x\"\nvalue = \"epochs_to_target\"\nbetter = { a = 2 }\nworse = { a = 1 }",
            "claims.target: target goes with"},
           {"[axes]\na = [1, 2]\nb = [1, 2]\n[[claims]]\ntext = \"x\"\nbetter = { a = 2 }\nworse = { a = 1 }",
            "the axis 'b': say which of its values is meant"},
           {"[axes]\na = [1, 2]\n[quick]\naxes = { a = [1, 3] }", "quick.axes: the axis 'a' has not all of these values"},
           {"seconds-per-run = -3", "seconds-per-run: must be above 0"},
           {"[axes]\na = [1]\n[[figures]]\nname = \"f\"\nseries = \"a\"\nwindow = 4", "for figures of kind \"kernel\""},
           {"jobs = 0", "jobs"},
           {"title = 3", "expected a text"},
           {"title = \"a\"\n[base\n", "line 2"},
       })
    EXPECT_THAT([&] { read(bad.text); }, ThrowsMessage<InputError>(AllOf(HasSubstr("own.toml"), HasSubstr(bad.says)))) << bad.text;
}

}  // namespace
}  // namespace fodp::app
