#include "study/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "study_directory.h"

namespace fodp::app {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Records, ComeBackAsTheyWereWritten) {
  const Folder folder;
  const std::filesystem::path file = folder.path / "records.jsonl";
  {
    RecordFile records(file);
    records.add(made_up_record("a", "k1", .5));
    records.add(made_up_record("b", "k1", .6));
    records.add(made_up_record("a", "k1", .7));
  }
  const RecordFile again(file);
  ASSERT_EQ(again.records().size(), 3u);
  EXPECT_EQ(again.records()[1], made_up_record("b", "k1", .6));
  EXPECT_FALSE(again.torn());
  EXPECT_EQ((*again.find("k1", "a"))["test_accuracy"], .7) << "the last one counts";
  EXPECT_EQ((*again.find("k1"))["test_accuracy"], .7);
  EXPECT_EQ(again.find("k2"), nullptr);
  EXPECT_EQ(again.find("k1", "c"), nullptr);
  RecordFile more(file);
  Record failed = made_up_record("a", "k1", 0);
  failed["status"] = "failed";
  more.add(failed);
  EXPECT_EQ((*more.find("k1", "a"))["test_accuracy"], .7) << "a failure hides no result";
}

// Cut at every byte of the last line, as a kill can.
TEST(Records, ATornLastLineIsTakenOut) {
  const Folder folder;
  const std::filesystem::path file = folder.path / "records.jsonl";
  const std::string first = record_line(made_up_record("a", "k1", .5)) + "\n", second = record_line(made_up_record("a", "k2", .6));
  for (std::size_t cut = 1; cut <= second.size(); ++cut) {
    std::ofstream(file) << first << second.substr(0, cut);
    EXPECT_EQ(RecordFile(file).torn(), cut < second.size());
    EXPECT_EQ(std::filesystem::file_size(file), first.size() + cut) << "whoever only reads changes nothing";
    RecordFile records(file, RecordFile::Torn::cut);
    EXPECT_EQ(records.torn(), cut < second.size());
    EXPECT_EQ(records.records().size(), cut == second.size() ? 2u : 1u) << cut;
    records.add(made_up_record("a", "k3", .7));
    EXPECT_EQ(RecordFile(file).records().size(), cut == second.size() ? 3u : 2u) << cut;
  }
}

TEST(Records, ADamagedLineIsRefusedByItsNumber) {
  const Folder folder;
  const std::filesystem::path file = folder.path / "records.jsonl";
  const std::string line = record_line(made_up_record("a", "k1", .5)) + "\n";
  std::string other = line;
  other.replace(other.find("0.5"), 3, "0.9");  // a result that was improved by hand
  for (const std::string& damaged : {other, line.substr(0, 40) + "\n", std::string("\n"), std::string("{}\n")}) {
    std::ofstream(file) << line << damaged << line;
    EXPECT_THAT([&] { RecordFile records(file); }, ThrowsMessage<InputError>(HasSubstr("line 2"))) << damaged;
  }
  std::ofstream(file) << line << other;  // the last line, but whole
  EXPECT_THAT([&] { RecordFile records(file); }, ThrowsMessage<InputError>(HasSubstr("line 2")));
  std::ofstream(file) << record_line(Record{{"study", "a"}, {"key", "k"}, {"status", "done"}}) << "\n";
  EXPECT_THAT([&] { RecordFile records(file); }, ThrowsMessage<InputError>(HasSubstr("no run")));
}

TEST(Records, ACompactOneSaysTheSameInPictures) {
  Record record = made_up_record("a", "k1", .123456789);
  record["config"] = {{"lr", .1}};
  record["curve"] = Record::array();
  for (int i = 1; i <= 100; ++i) record["curve"].push_back({{"epoch", i}, {"test_accuracy", i / 300.0}, {"test_loss", .5}});
  const auto back = read_record(record_line(compact_record(record, {"epoch", "test_accuracy"}, 10)));
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->contains("config"));
  EXPECT_EQ((*back)["test_accuracy"], .12346);
  ASSERT_EQ((*back)["curve"].size(), 10u);
  EXPECT_EQ((*back)["curve"][9]["epoch"], 100);
  EXPECT_EQ((*back)["curve"][0]["epoch"], 10);
  EXPECT_EQ((*back)["curve"][0]["test_accuracy"], .033333);
  EXPECT_FALSE((*back)["curve"][0].contains("test_loss"));
}

TEST(Records, AFileThatCannotBeWrittenIsAFault) {
  const Folder folder;
  RecordFile records(folder.path / "nowhere" / "records.jsonl");
  EXPECT_THROW(records.add(made_up_record("a", "k", .5)), FaultError);
}

}  // namespace
}  // namespace fodp::app
