// From records to tables, figures and verdicts.
#include "study/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "study/figure.h"
#include "study/gnuplot.h"
#include "study/table.h"
#include "study/verdict.h"
#include "study_directory.h"

namespace fodp::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

// DP-SGD at .30, .31, .32 and FO at `fo` above it at equal noise, plus 0, .01, -.01; both level at equal epsilon.
class MadeUp : public ::testing::Test {
 protected:
  StudyResults results(double fo) {
    const Study study = read_study(folder_.write("own.toml", kStudy));
    records_.emplace(folder_.path / "records.jsonl");
    StudyResults made{.study = study};
    for (const StudyRun& run : runs_of(study, false, {})) {
      const double wobble = run.seed == 2 ? .01 : run.seed == 3 ? -.01 : 0;
      const bool first = run.place.at("method") == "dp-sgd", noise = run.place.at("budget") == "noise";
      const double accuracy = .29 + .01 * static_cast<double>(run.seed) + (first ? 0 : wobble + (noise ? fo : 0));
      const std::string key = run.place.at("method") + run.place.at("budget") + std::to_string(run.seed);
      records_->add(made_up_record("own", key, accuracy));
      made.runs.push_back({.place = run.place, .seed = run.seed, .key = key});
    }
    write_study(folder_.path, made);
    return read_results(folder_.path, *records_).front();
  }
  Folder folder_;
  std::optional<RecordFile> records_;
};

TEST_F(MadeUp, ATableHasMeansIntervalsAndPairedDifferences) {
  const StudyResults made = results(.1);
  const Table table = make_table(made.study.tables.front(), made);
  ASSERT_EQ(table.lines.size(), 4u);
  EXPECT_NEAR(table.lines[0].value.mean, .31, 1e-12);
  EXPECT_FALSE(table.lines[0].against);
  EXPECT_NEAR(table.lines[1].against->mean, .1, 1e-12);
  EXPECT_NEAR(*table.lines[1].against->std, .01, 1e-12);
  EXPECT_NEAR(*table.lines[1].error, std::sqrt(.41 * .59 / 2000), 1e-9);
  EXPECT_EQ(table.lines[1].against->p, table.lines[1].p_holm) << "one comparison in its group";
  EXPECT_NEAR(table.lines[3].against->mean, 0, 1e-12);
  EXPECT_THAT(table_csv(table), StartsWith("budget,method,n,mean,std,low,high,"));
  EXPECT_THAT(table_csv(table), HasSubstr("\nnoise,FO,3,0.41"));
  EXPECT_THAT(table_markdown(table), HasSubstr("| noise | FO | 3 | 0.4100 |"));
}

TEST_F(MadeUp, WhatAPublicationReportsStandsBesideIt) {
  const StudyResults made = results(.1);
  TableSpec spec = made.study.tables.front();
  spec.reported["noise, FO"] = .3654;
  const Table table = make_table(spec, made);
  EXPECT_THAT(table_markdown(table), AllOf(HasSubstr("| 95% interval | reported |"), HasSubstr("| 0.3654 |")));
  EXPECT_THAT(table_csv(table), AllOf(HasSubstr(",reported\n"), HasSubstr(",0.3654\nepsilon,")));
  EXPECT_EQ(table_json(table)["rows"][0].size(), table_json(table)["columns"].size());
  const std::string with =
      std::string(kStudy) + "[[tables]]\nname = \"more\"\nrows = [\"budget\", \"method\"]\n[tables.reported]\n\"noise, FO\" = 1\n";
  EXPECT_EQ(read_study(folder_.write("with.toml", with)).tables.back().reported.at("noise, FO"), 1);
}

TEST_F(MadeUp, RatiosAreOfPairs) {
  StudyResults made = results(.1);
  TableSpec spec = made.study.tables.front();
  spec.relative = true;
  const Table table = make_table(spec, made);
  EXPECT_NEAR(table.lines[1].against->mean, (.40 / .30 + .42 / .31 + .41 / .32) / 3, 1e-12);
  EXPECT_THAT(table_csv(table), HasSubstr("ratio,ratio_low"));
}

TEST_F(MadeUp, VerdictsFollowTheNumbers) {
  EXPECT_EQ(verdicts_of(results(.1))[0].outcome, Outcome::holds);
  EXPECT_EQ(verdicts_of(results(.1))[1].outcome, Outcome::open) << "level, and nothing was claimed that could be excluded";
  EXPECT_EQ(verdicts_of(results(-.1))[0].outcome, Outcome::fails);
  EXPECT_EQ(verdicts_of(results(0))[0].outcome, Outcome::fails) << "the interval ends below the claimed .04";
  EXPECT_EQ(verdicts_of(results(.03))[0].outcome, Outcome::open) << "between nothing and the claim";
  EXPECT_THAT(verdict_numbers(verdicts_of(results(.1))[0]),
              AllOf(HasSubstr("+0.1000 ["), HasSubstr("3 seeds"), HasSubstr("the paper has +0.0400")));
}

TEST_F(MadeUp, WhatIsTheSameOnEverySeedIsNotAbove) {
  StudyResults made = results(.1);
  for (RunResult& run : made.runs)
    for (const RunResult& other : made.runs)
      if (run.seed == other.seed && run.place.at("budget") == other.place.at("budget") && other.place.at("method") == "dp-sgd")
        run.record = other.record;
  EXPECT_EQ(verdicts_of(made)[1].outcome, Outcome::fails);
  EXPECT_EQ(verdict_numbers(verdicts_of(made)[1]), "the same on each of 3 seeds");
}

TEST_F(MadeUp, AGainThatIsMuchSmallerThanClaimedDoesNotHold) {
  StudyResults made = results(.1);
  made.study.claims[0].claimed = .5;
  const Verdict verdict = verdicts_of(made)[0];
  EXPECT_EQ(verdict.outcome, Outcome::fails);
  EXPECT_THAT(verdict_numbers(verdict), HasSubstr("the paper has +0.5000, which the interval excludes, though the sign holds"));
}

// Epsilon follows from the options: it needs no test, and a difference in its last digits is none.
TEST_F(MadeUp, WhatFollowsFromTheOptionsIsComparedAsItIs) {
  StudyResults made = results(.1);
  std::vector<Record> records;
  records.reserve(made.runs.size());
  for (RunResult& run : made.runs) {
    records.push_back(*run.record);
    const bool noise = run.place.at("budget") == "noise";
    records.back()["epsilon"] = run.place.at("method") == "dp-sgd" ? 3.0 : noise ? 2.5 : 2.9999999;
    run.record = &records.back();
  }
  for (Claim& claim : made.study.claims) claim.value = "epsilon", claim.less = true, claim.claimed.reset();
  const std::vector<Verdict> verdicts = verdicts_of(made);
  EXPECT_EQ(verdicts[0].outcome, Outcome::holds);
  EXPECT_EQ(verdicts[1].outcome, Outcome::fails);
  const Table table = make_table(made.study.tables.front(), made);
  EXPECT_THAT(table_markdown(table), AllOf(HasSubstr("| budget | method | epsilon | n |"), HasSubstr("| noise | FO | 2.5 | 3 |")));
}

TEST_F(MadeUp, ALineSaysHowManyPairsItCompares) {
  StudyResults made = results(.1);
  for (RunResult& run : made.runs)
    if (run.place.at("method") == "dp-sgd" && run.seed == 2) run.record = nullptr;
  EXPECT_THAT(table_markdown(make_table(made.study.tables.front(), made)), HasSubstr("(2 pairs)"));
}

TEST_F(MadeUp, AnAxisWithoutNumbersIsLeftOut) {
  StudyResults made = results(.1);
  std::vector<Record> records;
  records.reserve(made.runs.size());
  for (RunResult& run : made.runs) {
    records.push_back(*run.record);
    for (Record& point : records.back()["curve"]) point["epsilon"] = "inf";
    run.record = &records.back();
  }
  FigureSpec spec = made.study.figures.front();
  spec.x = {"epsilon", "epoch"};
  const Figure figure = make_figure(spec, made);
  ASSERT_EQ(figure.x.size(), 1u);
  EXPECT_EQ(figure.x.front().key, "epoch");
  EXPECT_EQ(figure.panels[0].series[1].points[1].x.front(), 2);
  spec.x = {"epsilon"};
  EXPECT_TRUE(make_figure(spec, made).panels.empty());
}

TEST_F(MadeUp, AFigureHasTheMeansOfTheCurves) {
  const StudyResults made = results(.1);
  const Figure figure = make_figure(made.study.figures.front(), made);
  ASSERT_EQ(figure.panels.size(), 2u);
  ASSERT_EQ(figure.panels[0].series.size(), 2u);
  EXPECT_EQ(figure.panels[0].series[1].name, "FO");
  const FigurePoint& point = figure.panels[0].series[1].points[1];
  EXPECT_EQ(point.x[0], 2);
  EXPECT_NEAR(point.y.mean, .41, 1e-12);
  EXPECT_TRUE(point.y.low);
  EXPECT_EQ(figure_json(figure)["panels"][0]["series"][1]["points"][1]["epsilon"], 2.0);
}

TEST_F(MadeUp, RunsWithoutRecordsAreLeftOut) {
  StudyResults made = results(.1);
  for (RunResult& run : made.runs)
    if (run.place.at("method") == "FO") run.record = nullptr;
  EXPECT_EQ(make_table(made.study.tables.front(), made).lines.size(), 2u);
  EXPECT_EQ(make_figure(made.study.figures.front(), made).panels[0].series.size(), 1u);
  EXPECT_EQ(verdicts_of(made)[0].outcome, Outcome::open);
}

TEST_F(MadeUp, RecordsOfOtherOptionsAreCountedAndNotUsed) {
  (void)results(.1);
  records_->add(made_up_record("own", "of another version", .9));
  const StudyResults again = read_results(folder_.path, *records_).front();
  EXPECT_EQ(again.other_records, 1);
  EXPECT_NEAR(make_table(again.study.tables.front(), again).lines[1].value.mean, .41, 1e-12);
}

TEST_F(MadeUp, SvgFilesHaveEverySeries) {
  const StudyResults made = results(.1);
  Figure figure = make_figure(made.study.figures.front(), made);
  figure.panels[0].series[0].name = "it's <&> \"odd\" $x {/Bold no}";
  write_svg(figure, folder_.path / "f.svg");
  std::ifstream stream(folder_.path / "f.svg");
  const std::string svg(std::istreambuf_iterator<char>(stream), {});
  for (const char* part : {"<svg", "</svg>", "it's &lt;&amp;", "{/Bold no}", ">FO<", ">test accuracy<"})
    EXPECT_TRUE(svg.find(part) != svg.npos) << part;
}

TEST(Svg, ALogarithmicAxisHasAMarkAtEachValue) {
  Figure figure{
      .name = "f", .kind = FigureKind::points, .log_x = true, .x = {{"lr", "rate"}}, .panels = {{.title = "", .series = {{"a", {}}}}}};
  for (const double x : {.02, .2, 2.0}) figure.panels[0].series[0].points.push_back({.x = {x}, .y = {.n = 1, .mean = x}});
  EXPECT_THAT(gnuplot_script(figure), AllOf(HasSubstr("set logscale x\n"), HasSubstr("set xtics (0.02, 0.2, 2)")));
  EXPECT_EQ(figure_json(figure)["log_x"], true);
}

TEST(Kernels, AreDrawnFromTheFormula) {
  const Figure figure = kernel_figure({.name = "k", .kind = FigureKind::kernel, .alpha = {.7}, .lambda = {0, 1}, .window = 4});
  ASSERT_EQ(figure.panels[0].series.size(), 2u);
  const auto& points = figure.panels[0].series[0].points;
  ASSERT_EQ(points.size(), 3u);
  const double a = std::pow(2, -.3), b = std::pow(3, -.3), c = std::pow(4, -.3);  // (j+1)^(alpha-1), lags from 1
  EXPECT_NEAR(points[0].y.mean, a / (a + b + c), 1e-12);
  EXPECT_NEAR(points[2].y.mean, c / (a + b + c), 1e-12);
}

TEST(Results, ADirectoryThatIsNoneIsRefused) {
  const Folder folder;
  const RecordFile records(folder.path / "records.jsonl");
  EXPECT_THAT([&] { read_results(folder.path, records); }, ThrowsMessage<InputError>(HasSubstr("not the directory of a study")));
}

}  // namespace
}  // namespace fodp::app
