// A study: many trainings that differ in a few options, and what to make of them. docs/studies.md describes the file it is read from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fodp::app {

// Options of `fodp train` by name, each as it would stand on the command line.
using Options = std::map<std::string, std::string>;

// One value of an axis: what tables and figures call it, and the options that it sets.
struct AxisValue {
  std::string label;
  Options options;
};

// What varies. The runs of a study are all combinations of one value of each axis, and of the seeds.
struct Axis {
  std::string name;
  std::vector<AxisValue> values;
};

// The label of one value for some or all of the axes.
using Place = std::map<std::string, std::string>;

// How one option, such as the learning rate, is chosen for each method before the study proper: each value of the grid is tried on the
// tuning seeds, with training rows held out to measure on. The test set is not touched.
struct Tuning {
  std::string option;
  std::vector<std::string> by;                            // a value is chosen for each combination of these axes
  Place where;                                            // where the other axes stand meanwhile; at their first value if it is not said
  std::vector<std::string> grid;                          // the values to try
  std::map<std::string, std::vector<std::string>> grids;  // instead, by a label of the first axis in `by`; as many values as `grid` has
  std::vector<std::int64_t> seeds;
  std::int64_t validation = 0;                    // training rows that are held out
  std::optional<std::filesystem::path> recorded;  // choices that were made before, for exactly these runs
};

// A table has one line for each combination of labels of its `rows`, over the seeds.
struct TableSpec {
  std::string name, title, note;
  std::string value;                       // a quantity of the records: "test_accuracy"
  std::vector<std::string> rows;           // axes
  Place where;                             // the axes that are not in `rows`, each at one value
  std::optional<std::string> baseline;     // a label of the last axis in `rows`: lines are compared with its line, seed by seed
  bool relative = false;                   // as ratios to the baseline instead of differences
  std::optional<double> target;            // for the value "epochs_to_target": the accuracy to reach
  std::map<std::string, double> reported;  // what a publication has, by the labels of a line as line_name() joins them
};

// A label as a number, if it is one.
std::optional<double> as_number(const std::string& label);

// The labels of a table's line in one text: "equal noise, DP-SGD".
std::string line_name(const std::vector<std::string>& labels);

enum class FigureKind { line, points, bar, kernel };

struct FigureSpec {
  std::string name, title, note;
  FigureKind kind = FigureKind::line;
  std::vector<std::string> x;  // for lines: columns of the curve, the first is shown first; for points and bars: one axis
  std::vector<std::string> y;  // quantities; with more than one, each is a series of its own
  std::string x_label, y_label;
  std::optional<std::string> series;  // an axis
  std::vector<std::string> panels;    // axes: a panel for each combination of their labels
  Place where;
  bool log_x = false;                 // for points: the horizontal axis has equal distances for equal ratios
  bool log_y = false;                 // for lines: so has the vertical one; values must be above 0
  std::vector<double> alpha, lambda;  // for kernel: the orders and temperings whose weights are drawn
  std::int64_t window = 0;
};

// A sentence of a paper that can be tested: runs at `better` have more of `value` than those at `worse`, seed by seed.
struct Claim {
  std::string text, source;
  std::string value;
  Place better, worse;
  std::optional<double> claimed;  // the difference that the paper reports
  bool less = false;              // the claim is that `better` has less of it, as of a time
  std::optional<double> target;   // for the value "epochs_to_target": the accuracy to reach
};

inline constexpr std::size_t kMostRuns = 100000;  // in one study

struct Study {
  std::string name;  // of the file, without its ending
  std::filesystem::path file;
  std::string title, shows, asks, source;
  std::vector<std::int64_t> seeds;
  std::optional<std::int64_t> jobs;       // how many runs at a time; 1 where times are measured
  std::optional<double> seconds_per_run;  // what to expect, on one core
  Options base;
  std::vector<Axis> axes;
  std::optional<Tuning> tuning;
  std::vector<TableSpec> tables;
  std::vector<FigureSpec> figures;
  std::vector<Claim> claims;

  const Axis& axis(std::string_view axis_name) const;  // which must exist
  bool trains() const;                                 // false if all that it draws follows from formulas
};

// The names of all lines that a table with these axes as rows may have.
std::vector<std::string> line_names(const Study& study, const std::vector<std::string>& rows);

// Whether two options are the same one, or say the same in different ways.
bool same_thing(const std::string& one, const std::string& other);

// Takes out of `options` what says the same as the option `by` in another way.
void displace(Options& options, const std::string& by);

// One training of a study.
struct StudyRun {
  Place place;  // a label for each axis
  std::int64_t seed = 0;
  Options options;                    // of `fodp train`, seeds included
  std::optional<std::string> trying;  // the value of the tuned option that this run tries; none in the study proper
};

// The combinations in the order of running: by seed first, so that methods alternate and every method has results early. With `secure`,
// noise and sampling are drawn from the system instead of the seed. `tuned` gives the value of the tuned option at a place.
using TunedValues = std::map<Place, std::string>;
std::vector<StudyRun> runs_of(const Study& study, bool secure, const TunedValues& tuned);

// The places that a value is chosen for, and the runs that try the grid at one of them.
std::vector<Place> tuning_places(const Study& study);
std::vector<StudyRun> tuning_runs(const Study& study, const Place& place, bool secure);
// The place of `tuning_places` that a run's place belongs to.
Place tuning_place(const Study& study, const Place& place);

}  // namespace fodp::app
