#include "fodp/accounting/grid_cache.h"

namespace fodp {

std::shared_ptr<const LossGrid> GridCache::get(const Piece& piece, double step, double tail, double highest) {
  constexpr std::size_t kMostKept = 1 << 21;
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (entry->low == piece.low && entry->high == piece.high && entry->share == piece.share && entry->grid->step == step &&
          entry->tail == tail && entry->highest == highest) {
        entries_.splice(entries_.begin(), entries_, entry);
        return entry->grid;
      }
  }
  auto grid = std::make_shared<const LossGrid>(piece.share == 0 ? make_loss_grid(piece.low, step, tail, highest)
                                                                : make_mixed_grid(piece.low, piece.high, piece.share, step, tail, highest));
  const std::lock_guard lock(mutex_);
  entries_.push_front({piece.low, piece.high, piece.share, tail, highest, grid});
  points_ += grid->log_q.size();
  while (points_ > kMostKept && entries_.size() > 1) {
    points_ -= entries_.back().grid->log_q.size();
    entries_.pop_back();
  }
  return grid;
}

}  // namespace fodp
