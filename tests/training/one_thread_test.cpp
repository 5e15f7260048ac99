// A run is used by one thread at a time: a call from another is refused, and leaves no trace.
#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/gradients/linear.h"
#include "fodp/training/private_steps.h"

namespace fodp {
namespace {

// A run whose rows are fetched by a function that the test can change. It has several blocks, which two threads share.
class SharedRun {
 public:
  SharedRun() {
    const at::NoGradGuard no_gradients;
    net_->weight.fill_(.5);
    net_->bias.fill_(.1);
    const RowLosses losses = [this](const at::Tensor& x, const at::Tensor& y) { return (net_->forward(x) - y).square().sum(1); };
    const TrainingRows rows{600, [this](std::span<const std::int64_t> chosen) {
                              on_gather();
                              return Batch{at::full({std::ssize(chosen), 1}, .5), at::full({std::ssize(chosen), 1}, 1.)};
                            }};
    PrivateOptions options{.method = "dp-sgd", .insecure_seed = 7};
    options.privacy = {.noise_multiplier = 1.0, .sample_rate = .5, .steps = 5};
    options.update.lr = .3;
    options.stages.averaging = "ema";
    options.speed.threads = 2;
    steps_ = std::make_unique<PrivateSteps>(*net_, losses, rows, options);
  }

  PrivateSteps& steps() { return *steps_; }
  std::vector<float> parameters() const { return {steps_->parameters().begin(), steps_->parameters().end()}; }

  std::function<void()> on_gather = [] {};

 private:
  nn::Linear net_{1, 1};
  std::unique_ptr<PrivateSteps> steps_;
};

// Runs f(wait) in another thread, which stays inside the first call of wait() until this object is gone.
class Inside {
 public:
  template <class F>
  explicit Inside(const F& f)
      : thread_([this, f] {
          EXPECT_NO_THROW(f([this] { wait(); }));
          wait();  // if f did not
        }) {
    entered_.get_future().wait();
  }
  ~Inside() {
    leave_.set_value();
    thread_.join();
  }

 private:
  void wait() {
    if (waited_.exchange(true)) return;
    entered_.set_value();
    leave_.get_future().wait();
  }

  std::atomic<bool> waited_ = false;
  std::promise<void> entered_, leave_;
  std::thread thread_;
};

TEST(OneThread, EveryCallBesideAStepIsRefusedAndLeavesNoTrace) {
  SharedRun shared, alone;
  const auto begin = [](PrivateSteps& s) { return s.release(s.clipped_sum(s.sample())); };
  PrivateSteps& s = shared.steps();
  const Release release = begin(s), same = begin(alone.steps());
  const Lot lot = s.sample(), same_lot = alone.steps().sample();
  ClippedSum sum = s.clipped_sum(s.sample()), same_sum = alone.steps().clipped_sum(alone.steps().sample());
  const State state = s.state();
  {
    const Inside step([&](const std::function<void()>& wait) {
      shared.on_gather = wait;
      s.step();
    });
    EXPECT_THROW(s.step(), PrivacyError);
    EXPECT_THROW(s.sample(), PrivacyError);
    EXPECT_THROW(s.clipped_sum(lot), PrivacyError);
    EXPECT_THROW(s.release(std::move(sum)), PrivacyError);
    EXPECT_THROW(s.update(release), PrivacyError);
    EXPECT_THROW(s.set_gradients(release), PrivacyError);
    EXPECT_THROW(s.set_parameters(s.parameters()), PrivacyError);
    EXPECT_THROW(s.at_average([] {}), PrivacyError);
    EXPECT_THROW(s.at(release.values(), [] {}), PrivacyError);
    EXPECT_THROW(s.state(), PrivacyError);
    EXPECT_THROW(s.load_state(state), PrivacyError);
    EXPECT_THROW(s.save("not-written"), PrivacyError);
    EXPECT_THROW(s.load("not-there"), PrivacyError);
    EXPECT_THROW(s.keep_ledger("not-written"), PrivacyError);
    EXPECT_THROW(s.done(), PrivacyError);
    EXPECT_THROW(s.events(), PrivacyError);
    EXPECT_THROW(s.epsilon(), PrivacyError);
    EXPECT_THROW(s.statement(), PrivacyError);
  }
  shared.on_gather = [] {};
  EXPECT_FALSE(std::filesystem::exists("not-written"));
  alone.steps().step();
  EXPECT_EQ(s.state(), alone.steps().state());
  s.step();  // from this thread, when the other one is done
  alone.steps().step();
  EXPECT_EQ(shared.parameters(), alone.parameters());
  EXPECT_EQ(s.epsilon(), alone.steps().epsilon());
}

TEST(OneThread, AStepWhileTheParametersAreMovedIsRefused) {
  SharedRun shared;
  PrivateSteps& s = shared.steps();
  s.step();
  {
    const Inside evaluation([&](const std::function<void()>& wait) { s.at_average(wait); });
    EXPECT_THROW(s.step(), PrivacyError);
  }
  const std::vector<float> offset(shared.parameters().size(), .5f);
  {
    const Inside elsewhere([&](const std::function<void()>& wait) { s.at(offset, wait); });
    EXPECT_THROW(s.step(), PrivacyError);
  }
  EXPECT_NO_THROW(s.step());
}

// The function that fetches rows runs in the threads of the library. A call of it into its own run is not one of the run's.
TEST(OneThread, ACallFromAnotherThreadOfTheRowFunctionIsRefused) {
  SharedRun shared;
  PrivateSteps& s = shared.steps();
  std::atomic<int> refused = 0, calls = 0;
  shared.on_gather = [&] {
    ++calls;
    std::thread([&] {
      try {
        s.sample();
      } catch (const PrivacyError&) {
        ++refused;
      }
    }).join();
  };
  EXPECT_NO_THROW(s.step());
  EXPECT_GT(calls, 1);
  EXPECT_EQ(refused, calls);
}

}  // namespace
}  // namespace fodp
