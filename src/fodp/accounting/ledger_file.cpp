#include "fodp/accounting/ledger_file.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "fodp/accounting/events_json.h"
#include "fodp/accounting/merged_events.h"
#include "fodp/base/check.h"
#include "fodp/base/fields_json.h"

namespace fodp {
namespace {

using Json = nlohmann::ordered_json;

using EventPlaces = std::unordered_map<Event, std::size_t, EventHash>;  // where each event stands in a list

constexpr int kFormat = 1;
constexpr std::int64_t kMostReserved = 4096;  // charges at once
constexpr std::int64_t kMostCharges = 1'000'000'000'000'000;

struct Item {
  Event event;
  std::int64_t planned = 0, charged = 0;
  std::int64_t unused = 0;  // of the charged ones, those that this process may still use

  std::int64_t left() const { return std::max<std::int64_t>(0, planned - charged); }
};

// The order in which events_to_json writes events, equal ones merged.
Events in_order_of_file(const Events& events) {
  MergedEvents ordered;
  for (const EventKind* kind : event_kinds()) ordered.add(of_kind(events, *kind));
  return ordered.events();
}

Json header_json(const LedgerHeader& header) {
  return {{"fodp_ledger", kFormat},
          {"run", header.run},
          {"version", header.version},
          {"date", header.date},
          {"delta", header.delta},
          {"accountant", enum_name(header.accountant)},
          {"insecure", header.insecure},
          {"data_fingerprint", header.data_fingerprint},
          {"unit", header.unit},
          {"rows", header.rows},
          {"earlier", events_to_json(header.earlier)},
          {"plan", events_to_json(header.plan)}};
}

LedgerHeader header_of(const Json& json, const std::string& where) {
  check_input(json.contains("fodp_ledger"), "{}: not the ledger of a run", where);
  check_input(json["fodp_ledger"] == kFormat, "{}: a ledger of another version ({}); this program reads version {}", where,
              json["fodp_ledger"].dump(), kFormat);
  LedgerHeader header;
  header.run = json.at("run");
  header.version = json.at("version");
  header.date = json.at("date");
  header.data_fingerprint = json.at("data_fingerprint");
  header.unit = json.value("unit", std::string("row"));
  header.rows = json.value("rows", std::int64_t{0});
  header.delta = json.at("delta");
  header.accountant = FieldText<AccountantKind>::parse(json.at("accountant").get<std::string>(), where + ": accountant", {});
  header.insecure = json.at("insecure").get<std::vector<std::string>>();
  header.earlier = events_from_json(json.at("earlier"), where + ": earlier");
  header.plan = events_from_json(json.at("plan"), where + ": plan");
  check_input(header.delta > 0 && header.delta < 1, "{}: delta is {}: must be in (0, 1)", where, header.delta);
  return header;
}

}  // namespace

// What the lines of a file say, one after the other.
struct LedgerFile::Book {
  LedgerHeader header;
  std::vector<Item> items;
  EventPlaces places;          // of the items
  std::size_t last = 0;        // the event of the last reservation
  std::int64_t last_each = 1;  // and how many charges it was

  void begin(const LedgerHeader& of) {
    header = of;
    items.clear(), places.clear();
    for (const Composed& part : of.plan) add(part.event).planned = part.count;
  }

  Item& add(const Event& event) {
    places[event] = items.size();
    return items.emplace_back(Item{.event = event});
  }

  // A range of items and a number, as reservations have them.
  struct Range {
    std::size_t from, to;
    std::int64_t each;
  };

  Range range_of(const Json& json, const std::string& where) const {
    const auto from = json.at("from").get<std::uint64_t>(), to = json.at("to").get<std::uint64_t>();
    const auto each = json.at("each").get<std::int64_t>();
    check_input(from <= to && to < items.size(), "{}: events {} to {}: there are {}", where, from, to, items.size());
    check_input(each >= 1 && each <= kMostCharges, "{}: each is {}: must be from 1 to {}", where, each, kMostCharges);
    return {from, to, each};
  }

  void apply(const Json& line, const std::string& where) {
    if (line.contains("event")) {
      const Events events = events_from_json(Json::array({line["event"]}), where);
      check_input(events.size() == 1, "{}: must be one event", where);
      add(events[0].event);
    } else if (line.contains("reserve")) {
      const auto [from, to, each] = range_of(line["reserve"], where);
      reserve(from, to, each);
    } else if (line.contains("give_back")) {
      change(range_of(line["give_back"], where), &Item::charged, -1, where);
    } else if (line.contains("again")) {
      change(range_of(line["again"], where), &Item::planned, 1, where);
    } else {
      check_input(line.contains("dropped"), "{}: not a line of a ledger", where);
      change(range_of(line["dropped"], where), &Item::planned, -1, where);
    }
  }

  void change(const Range& range, std::int64_t Item::*what, int sign, const std::string& where) {
    for (std::size_t i = range.from; i <= range.to; ++i) {
      items[i].*what += sign * range.each;
      check_input(items[i].*what >= 0 && items[i].*what <= 2 * kMostCharges, "{}: event {} would have a count of {}", where, i,
                  items[i].*what);
    }
  }

  void reserve(std::size_t from, std::size_t to, std::int64_t each) {
    change({from, to, each}, &Item::charged, 1, "ledger");
    last = to;
    last_each = std::max<std::int64_t>(each, static_cast<std::int64_t>(to - from + 1));
  }

  // The reservation of at most so many charges that begins with this event: several of it, or one each of it and those that follow it in
  // the plan, as a run that changes step by step needs them.
  Range block(std::size_t from, std::int64_t most) const {
    if (items[from].left() > 1) return {from, from, std::min(most, items[from].left())};
    std::size_t to = from;
    while (items[from].left() == 1 && to + 1 < items.size() && to + 1 - from < static_cast<std::size_t>(most) && items[to + 1].left() == 1)
      ++to;
    return {from, to, 1};
  }

  // What a line that was not written to its end may have reserved.
  Range torn_block() const {
    const bool next = items[last].left() == 0 && last + 1 < items.size() && items[last + 1].left() > 0;
    return block(next ? last + 1 : last, 2 * last_each);
  }

  Events counted(std::int64_t Item::*what) const {
    Events events;
    for (const Item& item : items)
      if (item.*what > 0) events.push_back({item.event, item.*what});
    return events;
  }

  static Book of_lines(const ChainedText& text, const std::string& where) {
    Book book;
    check_privacy(!text.lines.empty(), "{}: its first line is not whole: it says nothing of what was spent", where);
    for (std::size_t i = 0; i < text.lines.size(); ++i) {
      const std::string line = fmt::format("{}: line {}", where, i + 1);
      try {
        const Json json = Json::parse(text.lines[i]);
        if (i == 0)
          book.begin(header_of(json, line));
        else
          book.apply(json, line);
      } catch (const nlohmann::json::exception& error) {
        throw InputError(fmt::format("{}: not a line of a ledger: {}", line, error.what()));
      }
    }
    check_input(!book.items.empty(), "{}: the plan has no event", where);
    return book;
  }
};

Events LedgerContent::guaranteed() const { return together(header.earlier, covering(planned, charged)); }

LedgerContent read_ledger(const std::filesystem::path& file) {
  const ChainedText text = read_chained_lines(file);
  LedgerFile::Book book = LedgerFile::Book::of_lines(text, file.string());
  if (text.torn) {
    const auto [from, to, each] = book.torn_block();
    book.reserve(from, to, each);
  }
  return {.header = book.header, .planned = book.counted(&Item::planned), .charged = book.counted(&Item::charged), .torn = text.torn};
}

LedgerFile::LedgerFile(ChainedLines lines, std::unique_ptr<Book> book) : lines_(std::move(lines)), book_(std::move(book)) {}
LedgerFile::LedgerFile(LedgerFile&&) noexcept = default;
LedgerFile::~LedgerFile() = default;

LedgerFile::LedgerFile(const std::filesystem::path& file, const LedgerHeader& header, const Events& charged)
    : lines_(ChainedLines::create(file)), book_(std::make_unique<Book>()) {
  LedgerHeader ordered = header;
  ordered.plan = in_order_of_file(header.plan);
  book_->begin(ordered);
  lines_.append(header_json(ordered).dump());
  for (const Composed& part : charged) {
    const std::size_t place = place_of(part.event);
    write("reserve", place, place, part.count);
  }
}

LedgerFile LedgerFile::open(const std::filesystem::path& file, const LedgerHeader& header) {
  ChainedText text;
  ChainedLines lines = ChainedLines::open(file, text);
  auto book = std::make_unique<Book>(Book::of_lines(text, file.string()));
  LedgerHeader expected = header;
  expected.plan = in_order_of_file(header.plan);
  expected.run = book->header.run, expected.date = book->header.date, expected.version = book->header.version;
  check_input(Json::parse(text.lines[0]) == header_json(expected), "{}: this ledger is of a run with another plan or other data",
              file.string());
  // The run's own numbers from here on: those of a file that has a schedule are the same to a trillionth only.
  for (std::size_t i = 0; i < expected.plan.size(); ++i) {
    book->items[i].event = expected.plan[i].event;
    book->places[expected.plan[i].event] = i;
  }
  book->header = expected;
  LedgerFile ledger(std::move(lines), std::move(book));
  if (text.torn) {
    const auto [from, to, each] = ledger.book_->torn_block();
    ledger.write("reserve", from, to, each);
  }
  return ledger;
}

const LedgerHeader& LedgerFile::header() const { return book_->header; }
Events LedgerFile::charged() const { return book_->counted(&Item::charged); }

void LedgerFile::write(const char* what, std::size_t from, std::size_t to, std::int64_t each) {
  const Json line = {{what, {{"from", from}, {"to", to}, {"each", each}}}};
  lines_.append(line.dump());
  book_->apply(line, "ledger");
}

std::size_t LedgerFile::place_of(const Event& event) {
  const auto place = book_->places.find(event);
  if (place != book_->places.end()) return place->second;
  const Json line = {{"event", events_to_json({{event, 1}})[0]}};
  lines_.append(line.dump());
  book_->apply(line, "ledger");
  return book_->items.size() - 1;
}

void LedgerFile::repeat_from(const Events& charged) {
  for (Item& item : book_->items) item.unused = item.charged;
  for (const Composed& part : charged) {
    const auto place = book_->places.find(part.event);
    check_privacy(place != book_->places.end() && book_->items[place->second].unused >= part.count,
                  "the ledger has fewer charges than the state that is loaded: it was damaged or is of another run");
    book_->items[place->second].unused -= part.count;
  }
}

void LedgerFile::all_used() {
  for (Item& item : book_->items) item.unused = 0;
}

void LedgerFile::plan_rest(const Events& rest) {
  std::vector<std::int64_t> planned(book_->items.size());
  for (const Composed& part : rest) {
    const std::size_t place = place_of(part.event);
    planned.resize(book_->items.size());
    planned[place] += part.count;
  }
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const Item& item = book_->items[i];
    const std::int64_t more = item.charged + planned[i] - item.planned;
    if (more != 0) write(more > 0 ? "again" : "dropped", i, i, std::abs(more));
  }
}

void LedgerFile::charge(const Event& event) {
  const std::size_t place = place_of(event);
  if (book_->items[place].unused == 0) {
    // Blocks grow until one is written about once a second.
    const auto now = std::chrono::steady_clock::now();
    block_ = now - reserved_ < std::chrono::seconds(1) ? std::min(2 * block_, kMostReserved) : std::max<std::int64_t>(1, block_ / 2);
    const auto [from, to, each] = book_->block(place, block_);
    write("reserve", from, to, each);
    for (std::size_t i = from; i <= to; ++i) book_->items[i].unused += each;
    reserved_ = now;
  }
  --book_->items[place].unused;
}

void LedgerFile::give_back() {
  std::vector<Item>& items = book_->items;
  for (std::size_t from = 0, to = 0; from < items.size(); from = to + 1) {
    to = from;
    const std::int64_t each = items[from].unused;
    if (each == 0) continue;
    while (to + 1 < items.size() && items[to + 1].unused == each) ++to;
    write("give_back", from, to, each);
    for (std::size_t i = from; i <= to; ++i) items[i].unused = 0;
  }
}

}  // namespace fodp
