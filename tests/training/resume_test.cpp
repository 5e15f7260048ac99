// Runs that outlive their process: what was spent is on record whatever happens, and a run goes on from where it was saved.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fodp/accounting/ledger_file.h"
#include "fodp/accounting/merged_events.h"
#include "fodp/base/check.h"
#include "fodp/mechanism/banded.h"
#include "methods/small_run.h"

namespace fodp {
namespace {

using namespace fodp::testing;
using ::testing::HasSubstr;

constexpr int kSteps = 12, kSaved = 5, kLost = 3;

class Resume : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("fodp-resume-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    file_ = folder_ / "run";
    ledger_ = folder_ / "run.ledger";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static PrivateOptions options(const std::string& method = "dp-sgd") {
    PrivateOptions options{.method = method};
    options.privacy = {.epsilon = 4, .delta = 1e-3, .sample_rate = .25, .steps = kSteps};
    options.update.lr = .3;
    options.own.of<BandOptions>().bands = 3;
    return options;
  }
  static std::unique_ptr<SmallRun> run(const PrivateOptions& options) {
    static const plain::Problem problem = plain::small_problem(60, {9, 8, 7, 5}, 3);
    return std::make_unique<SmallRun>(problem, plain::small_start(problem.net, 4), options);
  }
  static void steps(SmallRun& run, int count) {
    for (int i = 0; i < count; ++i) run.steps().step();
  }

  // A run that was saved and then took steps that nobody saved. What is left on the disk is what a crash leaves.
  void crash_after_save(const PrivateOptions& options) {
    const auto first = run(options);
    steps(*first, kSaved);
    first->steps().save(file_);
    steps(*first, kLost);
    std::filesystem::copy_file(ledger_, folder_ / "copy");  // before the process that ends in order gives back what it did not use
    crashed_epsilon_ = first->steps().epsilon();
  }
  void leave_as_after_crash() const { std::filesystem::rename(folder_ / "copy", ledger_); }

  std::filesystem::path folder_, file_, ledger_;
  double crashed_epsilon_ = 0;
};

TEST_F(Resume, WithAFixedSeedIsTheRunThatWasNeverInterrupted) {
  for (const char* method : {"dp-sgd", "fo-dp-sgd", "bandmf", "dp-sam", "dp-adam"}) {
    SCOPED_TRACE(method);
    PrivateOptions seeded = options(method);
    seeded.insecure_seed = 7;
    const auto whole = run(seeded);
    steps(*whole, kSteps);
    crash_after_save(seeded);
    leave_as_after_crash();
    const auto again = run(seeded);
    again->steps().load(file_);
    EXPECT_EQ(again->steps().charges_lost(), 0);
    steps(*again, kSteps - kSaved);
    EXPECT_EQ(again->theta(), whole->theta());
    EXPECT_EQ(again->steps().epsilon(), whole->steps().epsilon());
    EXPECT_EQ(read_ledger(ledger_).guaranteed(), again->steps().plan().events());
    TearDown();
    SetUp();
  }
}

TEST_F(Resume, ChargesStepsThatAreDoneAgain) {
  PrivateOptions open = options();
  open.privacy.epsilon = {};
  open.privacy.noise_multiplier = 1;
  crash_after_save(open);
  leave_as_after_crash();
  const auto again = run(open);
  again->steps().load(file_);
  const std::int64_t lost = again->steps().charges_lost();
  EXPECT_GE(lost, kLost);
  steps(*again, kSteps - kSaved);
  EXPECT_TRUE(again->steps().done());
  EXPECT_EQ(total_count(again->steps().events()), kSteps + lost);
  EXPECT_GT(again->steps().epsilon(), crashed_epsilon_);
  EXPECT_EQ(total_count(read_ledger(ledger_).guaranteed()), kSteps + lost);
}

TEST_F(Resume, TheGuaranteeCoversTheNewPlanAtOnce) {
  PrivateOptions open = options();
  open.privacy.epsilon = {};
  open.privacy.noise_multiplier = 1;
  crash_after_save(open);
  leave_as_after_crash();
  const auto again = run(open);
  again->steps().load(file_);
  EXPECT_EQ(total_count(again->steps().guarantee().events), kSteps + again->steps().charges_lost());
  EXPECT_EQ(read_ledger(ledger_).guaranteed(), again->steps().guarantee().events);
}

TEST_F(Resume, StaysWithinTheBudgetAndEndsEarlier) {
  crash_after_save(options());
  leave_as_after_crash();
  const auto again = run(options());
  again->steps().load(file_);
  const int allowed = kSteps - kSaved - static_cast<int>(again->steps().charges_lost());
  ASSERT_GT(allowed, 0);
  steps(*again, allowed);
  EXPECT_THROW(again->steps().step(), BudgetError);
  EXPECT_LE(again->steps().epsilon(), 4);
  EXPECT_EQ(total_count(read_ledger(ledger_).guaranteed()), kSteps);
  const auto spent = run(options());
  EXPECT_THROW(spent->steps().load(file_), InputError) << "one process at a time";
}

// Methods that charge two kinds of event, too: the charges of whole steps are given up.
TEST_F(Resume, StaysWithinTheBudgetWithEveryMethod) {
  for (const MethodEntry* method : method_table()) {
    SCOPED_TRACE(method->name);
    PrivateOptions some = options(std::string(method->name));
    some.privacy.sample_rate = .1;  // epochs of 10 steps
    some.privacy.steps = 4 * kSteps;
    some.update.lr = {};
    if (method->clipping == "adaptive") some.set("count-noise", "5");  // its default follows from the lot, and is too little for this one
    crash_after_save(some);
    leave_as_after_crash();
    const auto again = run(some);
    again->steps().load(file_);
    int taken = 0;
    try {
      while (!again->steps().done() && ++taken) again->steps().step();
    } catch (const BudgetError&) {
      --taken;
    }
    EXPECT_LE(again->steps().epsilon(), 4);
    EXPECT_LE(make_accountant(AccountantKind::pld)->epsilon(read_ledger(ledger_).guaranteed(), 1e-3).epsilon, 4);
    EXPECT_GT(taken, 2 * kSteps) << "most steps could still be paid for";
    TearDown();
    SetUp();
  }
}

TEST_F(Resume, OfARunWhoseBudgetIsSpentIsRefused) {
  {
    const auto first = run(options());
    steps(*first, kSaved);
    first->steps().save(file_);
    steps(*first, kSteps - kSaved);
  }
  try {
    run(options())->steps().load(file_);
    FAIL() << "the budget is spent";
  } catch (const BudgetError& error) {
    EXPECT_THAT(error.what(), HasSubstr("larger `epsilon`"));
  }
}

TEST_F(Resume, AnOrderlyEndLosesNothing) {
  {
    const auto first = run(options());
    steps(*first, kSaved);
    first->steps().save(file_, {{"epoch", std::int64_t{3}}});
  }
  const auto again = run(options());
  EXPECT_EQ(again->steps().load(file_), (State{{"epoch", std::int64_t{3}}}));
  EXPECT_EQ(again->steps().charges_lost(), 0);
  steps(*again, kSteps - kSaved);
  EXPECT_TRUE(again->steps().done());
  EXPECT_EQ(total_count(again->steps().events()), kSteps);
}

// Of correlated noise a charge covers a cycle of lots. What is left of it may have been used by the process that is gone.
TEST_F(Resume, WithinACycleChargesTheRestOfTheCycleAnew) {
  PrivateOptions open = options("bandmf");
  open.privacy.epsilon = {};
  open.privacy.noise_multiplier = 1;
  {
    const auto first = run(open);
    steps(*first, kSaved);  // bands 3: two lots into the second cycle
    first->steps().save(file_);
  }
  const auto again = run(open);
  again->steps().load(file_);
  EXPECT_EQ(again->steps().name(), read_ledger(ledger_).header.run) << "it is the same run that goes on";
  steps(*again, kSteps - kSaved);  // a new correlation of the noise; the cycle of groups goes on
  EXPECT_EQ(total_count(again->steps().events()), kSteps / 3 + 1);
}

TEST_F(Resume, NeedsTheLedgerOfTheSameRun) {
  crash_after_save(options());
  leave_as_after_crash();
  std::filesystem::rename(ledger_, folder_ / "elsewhere");
  EXPECT_THROW(run(options())->steps().load(file_), PrivacyError);
  {
    const auto other = run(options());
    other->steps().save(folder_ / "other");
  }
  EXPECT_THROW(run(options())->steps().load(file_, folder_ / "other.ledger"), PrivacyError);
  run(options())->steps().load(file_, folder_ / "elsewhere");
}

TEST_F(Resume, ARunThatIsBegunAnewOnItsLedgerPaysForWhatWasDoneBefore) {
  {
    const auto first = run(options());
    first->steps().keep_ledger(ledger_);
    steps(*first, kSaved);
  }
  const auto again = run(options());
  again->steps().keep_ledger(ledger_);
  EXPECT_EQ(again->steps().charges_lost(), kSaved);
  steps(*again, kSteps - kSaved);
  EXPECT_THROW(again->steps().step(), BudgetError);
}

TEST_F(Resume, AStateAloneIsForRunsThatAreNotPrivate) {
  const auto first = run(options());
  steps(*first, 1);
  EXPECT_THROW(run(options())->steps().load_state(first->steps().state()), PrivacyError);
}

// A cyclic run goes on by row number: of other data, the rows of a group would be other records.
TEST_F(Resume, OtherDataIsRefused) {
  for (const char* method : {"dp-sgd", "bandmf"}) {
    SCOPED_TRACE(method);
    {
      const auto first = run(options(method));
      first->steps().keep_ledger(ledger_, "these rows");
      steps(*first, 4);
      first->steps().save(file_);
    }
    EXPECT_THROW(run(options(method))->steps().load(file_, {}, "other rows"), InputError);
    EXPECT_THROW(run(options(method))->steps().load(file_), InputError);
    EXPECT_NO_THROW(run(options(method))->steps().load(file_, {}, "these rows"));
    TearDown();
    SetUp();
  }
}

// The parts that diagnostics show need un-noised history, which the state of such a run has.
TEST_F(Resume, WithDiagnosticsGoesOnAsIfNeverInterrupted) {
  PrivateOptions seeded = options("fo-dp-sgd");
  seeded.insecure_seed = 7;
  seeded.insecure_diagnostics = true;
  const auto whole = run(seeded);
  steps(*whole, kSteps);
  crash_after_save(seeded);
  leave_as_after_crash();
  const auto again = run(seeded);
  again->steps().load(file_);
  steps(*again, kSteps - kSaved);
  const auto a = whole->steps().insecure_diagnostics().parts, b = again->steps().insecure_diagnostics().parts;
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->memory, b->memory);
  EXPECT_EQ(a->noise_memory, b->noise_memory);
}

// A caller that goes on all the same would release what is on no record.
TEST_F(Resume, ARunThatCouldNotTakeItsLedgerReleasesNothing) {
  {
    const auto first = run(options());
    first->steps().keep_ledger(ledger_, "these rows");
    steps(*first, 4);
    first->steps().save(file_);
  }
  const auto again = run(options());
  EXPECT_THROW(again->steps().load(file_, {}, "other rows"), InputError);
  EXPECT_THROW(again->steps().step(), PrivacyError);
  const auto elsewhere = run(options());
  EXPECT_THROW(elsewhere->steps().keep_ledger(folder_ / "no such folder" / "ledger"), InputError);
  EXPECT_THROW(elsewhere->steps().step(), PrivacyError);
  elsewhere->steps().keep_ledger(folder_ / "another");
  EXPECT_NO_THROW(elsewhere->steps().step());
}

TEST_F(Resume, AnotherPlanIsRefused) {
  crash_after_save(options());
  leave_as_after_crash();
  PrivateOptions longer = options();
  *longer.privacy.steps += 1;
  EXPECT_THROW(run(longer)->steps().load(file_), InputError);
}

}  // namespace
}  // namespace fodp
