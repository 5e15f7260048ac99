#include "fodp/gradients/workers.h"

#include <dlfcn.h>
#include <omp.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include <ATen/Parallel.h>

namespace fodp {
namespace {

thread_local bool is_worker = false;

// For the calling thread alone. Returns false where LibTorch can only be told for all threads that have not computed yet.
bool compute_on_one_core() {
  at::internal::lazy_init_num_threads();  // before the next line, which it would undo
  omp_set_num_threads(1);                 // at::set_num_threads would also start threads of LibTorch's own, which spin
  const bool alone = at::get_num_threads() == 1;
  if (!alone) at::set_num_threads(1);
  // MKL has a number of its own, which is that of the process unless a thread has set one.
  using SetThreads = int (*)(int);
  if (auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "MKL_Set_Num_Threads_Local"))) set(1);
  return alone;
}

// What one call of on_workers waits for.
struct Job {
  const std::function<void(std::int64_t)>& work;
  std::int64_t left;
  std::exception_ptr failed = nullptr;
  std::condition_variable done = {};
};

// Lives as long as the process: its threads sleep when there is nothing to do, and end with it.
class Pool {
 public:
  // work(i) for every i below `count`, all at once.
  void run(std::int64_t count, const std::function<void(std::int64_t)>& work) {
    Job job{work, count};
    std::unique_lock lock(mutex_);
    grow(count, lock);
    for (std::int64_t i = 0; i < count; ++i) tasks_.push_back({&job, i});
    wake_.notify_all();
    job.done.wait(lock, [&] { return job.left == 0; });
    if (job.failed) std::rethrow_exception(job.failed);
  }

 private:
  struct Task {
    Job* job;
    std::int64_t number;
  };

  void grow(std::int64_t size, std::unique_lock<std::mutex>& lock) {
    if (size_ >= size) return;
    const int threads = at::get_num_threads();
    for (; size_ < size; ++size_) std::thread([this] { serve(); }).detach();
    started_.wait(lock, [&] { return serving_ == size_; });
    if (told_all_) at::set_num_threads(threads);
  }

  void serve() {
    is_worker = true;
    const bool alone = compute_on_one_core();
    std::unique_lock lock(mutex_);
    if (!alone) told_all_ = true;
    ++serving_;
    started_.notify_all();
    for (;;) {
      wake_.wait(lock, [&] { return !tasks_.empty(); });
      const Task task = tasks_.front();
      tasks_.pop_front();
      lock.unlock();
      std::exception_ptr failed;
      try {
        task.job->work(task.number);
      } catch (...) {
        failed = std::current_exception();
      }
      lock.lock();
      if (failed && !task.job->failed) task.job->failed = failed;
      if (--task.job->left == 0) task.job->done.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, started_;
  std::deque<Task> tasks_;
  std::int64_t size_ = 0, serving_ = 0;
  bool told_all_ = false;  // that they compute on one core, though it holds for workers only
};

}  // namespace

std::int64_t workers() { return is_worker ? 1 : at::get_num_threads(); }

void on_workers(std::int64_t count, const std::function<void(std::int64_t)>& work) {
  if (workers() == 1) {  // this thread computes on one core already
    for (std::int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  static Pool& pool = *new Pool;
  std::atomic<std::int64_t> next = 0;
  pool.run(std::min(count, workers()), [&](std::int64_t) {
    for (std::int64_t i = next++; i < count; i = next++) work(i);
  });
}

}  // namespace fodp
