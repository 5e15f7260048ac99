#ifdef FODP_ARROW

#include "fodp/data/arrow_batches.h"

#include <charconv>
#include <ctime>
#include <new>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr std::int64_t kBatchRows = 1 << 14;

// Arrow's own messages may hold what the file holds: only the kind of the error is passed on.
[[noreturn]] void refuse(const std::string& file, std::string_view kind) {
  throw InputError(
      fmt::format("{}: cannot be read ({}): is the file whole, and of a kind that Arrow {} reads?", file, kind, ARROW_VERSION_STRING));
}

void check_status(const arrow::Status& status, const std::string& file) {
  if (!status.ok()) refuse(file, status.CodeAsString());
}

template <class T>
T value_of(arrow::Result<T> result, const std::string& file) {
  check_status(result.status(), file);
  return std::move(result).ValueUnsafe();
}

// The batches of a file one after the other; null at its end.
struct Batches {
  std::shared_ptr<arrow::Schema> schema;
  std::function<std::shared_ptr<arrow::RecordBatch>()> next;
};

std::shared_ptr<arrow::RecordBatchReader> batch_reader(parquet::arrow::FileReader& reader, const std::string& file) {
  const auto open = [&](auto& one) -> std::shared_ptr<arrow::RecordBatchReader> {
    if constexpr (requires { one.GetRecordBatchReader(); }) {
      return value_of(one.GetRecordBatchReader(), file);
    } else {  // before Arrow 20
      std::unique_ptr<arrow::RecordBatchReader> made;
      check_status(one.GetRecordBatchReader(&made), file);
      return made;
    }
  };
  return open(reader);
}

Batches open_parquet(const std::string& file) {
  parquet::ReaderProperties reading;
  reading.enable_buffered_stream();  // pages as they are needed, not whole groups of rows
  parquet::ArrowReaderProperties properties;
  properties.set_batch_size(kBatchRows);
  properties.set_pre_buffer(false);
  parquet::arrow::FileReaderBuilder builder;
  check_status(builder.OpenFile(file, /*memory_map=*/false, reading), file);
  std::unique_ptr<parquet::arrow::FileReader> opened;
  check_status(builder.properties(properties)->Build(&opened), file);
  const std::shared_ptr<parquet::arrow::FileReader> reader = std::move(opened);
  const auto batches = batch_reader(*reader, file);
  return {batches->schema(), [reader, batches, file] {
            std::shared_ptr<arrow::RecordBatch> batch;
            check_status(batches->ReadNext(&batch), file);
            return batch;
          }};
}

Batches open_arrow(const std::string& file) {
  const auto bytes = value_of(arrow::io::ReadableFile::Open(file), file);
  const auto reader = value_of(arrow::ipc::RecordBatchFileReader::Open(bytes), file);
  return {reader->schema(), [reader, file, at = 0]() mutable {
            if (at == reader->num_record_batches()) return std::shared_ptr<arrow::RecordBatch>();
            return value_of(reader->ReadRecordBatch(at++), file);
          }};
}

// Appends the text of the value in a row, which is not null.
using Writer = std::function<void(std::int64_t row, std::string& out)>;

template <class Array>
Writer numbers(const std::shared_ptr<arrow::Array>& array) {
  return [values = std::static_pointer_cast<Array>(array)](std::int64_t row, std::string& out) {
    char text[64];
    out.append(text, std::to_chars(text, text + sizeof text, values->Value(row)).ptr);
  };
}

template <class Array>
Writer texts(const std::shared_ptr<arrow::Array>& array) {
  return [values = std::static_pointer_cast<Array>(array)](std::int64_t row, std::string& out) { out.append(values->GetView(row)); };
}

template <class Array>
Writer decimals(const std::shared_ptr<arrow::Array>& array) {
  return [values = std::static_pointer_cast<Array>(array)](std::int64_t row, std::string& out) { out.append(values->FormatValue(row)); };
}

// A point in time counted in so many units a second, or in days (a negative number: seconds a unit).
template <class Array>
Writer times(const std::shared_ptr<arrow::Array>& array, std::int64_t units, std::string format) {
  return [values = std::static_pointer_cast<Array>(array), units, format = std::move(format)](std::int64_t row, std::string& out) {
    const auto count = static_cast<std::int64_t>(values->Value(row));
    const std::int64_t down = units > 0 ? count / units - (count % units < 0 ? 1 : 0) : 0;
    const std::time_t seconds = units > 0 ? down : count * -units;
    std::tm parts{};
    char text[256];
    const std::size_t size = gmtime_r(&seconds, &parts) ? std::strftime(text, sizeof text, format.c_str(), &parts) : 0;
    out.append(size > 0 ? std::string_view(text, size) : "no date");
  };
}

std::int64_t per_second(const arrow::DataType& type) {
  switch (static_cast<const arrow::TimestampType&>(type).unit()) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1000;
    case arrow::TimeUnit::MICRO:
      return 1000000;
    case arrow::TimeUnit::NANO:
      return 1000000000;
  }
  return 1;
}

// None for a type that has no text.
Writer plain_writer(const std::shared_ptr<arrow::Array>& array, const std::string& date_format) {
  switch (array->type_id()) {
    case arrow::Type::BOOL:
      return [values = std::static_pointer_cast<arrow::BooleanArray>(array)](std::int64_t row, std::string& out) {
        out.append(values->Value(row) ? "true" : "false");
      };
    case arrow::Type::INT8:
      return numbers<arrow::Int8Array>(array);
    case arrow::Type::INT16:
      return numbers<arrow::Int16Array>(array);
    case arrow::Type::INT32:
      return numbers<arrow::Int32Array>(array);
    case arrow::Type::INT64:
      return numbers<arrow::Int64Array>(array);
    case arrow::Type::UINT8:
      return numbers<arrow::UInt8Array>(array);
    case arrow::Type::UINT16:
      return numbers<arrow::UInt16Array>(array);
    case arrow::Type::UINT32:
      return numbers<arrow::UInt32Array>(array);
    case arrow::Type::UINT64:
      return numbers<arrow::UInt64Array>(array);
    case arrow::Type::FLOAT:
      return numbers<arrow::FloatArray>(array);
    case arrow::Type::DOUBLE:
      return numbers<arrow::DoubleArray>(array);
    case arrow::Type::DECIMAL128:
      return decimals<arrow::Decimal128Array>(array);
    case arrow::Type::DECIMAL256:
      return decimals<arrow::Decimal256Array>(array);
    case arrow::Type::STRING:
      return texts<arrow::StringArray>(array);
    case arrow::Type::LARGE_STRING:
      return texts<arrow::LargeStringArray>(array);
    case arrow::Type::DATE32:
      return times<arrow::Date32Array>(array, -86400, date_format.empty() ? "%Y-%m-%d" : date_format);
    case arrow::Type::DATE64:
      return times<arrow::Date64Array>(array, 1000, date_format.empty() ? "%Y-%m-%d" : date_format);
    case arrow::Type::TIMESTAMP:
      return times<arrow::TimestampArray>(array, per_second(*array->type()), date_format.empty() ? "%Y-%m-%dT%H:%M:%S" : date_format);
    case arrow::Type::NA:
      return [](std::int64_t, std::string&) {};
    default:
      return {};
  }
}

// The same for categories: numbers of entries of a dictionary, which may be null themselves.
Writer writer_for(const std::shared_ptr<arrow::Array>& array, const std::string& date_format, const std::string& missing) {
  if (array->type_id() != arrow::Type::DICTIONARY) return plain_writer(array, date_format);
  const auto numbers = std::static_pointer_cast<arrow::DictionaryArray>(array);
  const std::shared_ptr<arrow::Array> entries = numbers->dictionary();
  const Writer entry = plain_writer(entries, date_format);
  if (!entry) return {};
  return [numbers, entries, entry, missing](std::int64_t row, std::string& out) {
    const std::int64_t index = numbers->GetValueIndex(row);
    entries->IsNull(index) ? void(out.append(missing)) : entry(index, out);
  };
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

class RowTexts {
 public:
  RowTexts(const std::string& file, const ArrowTexts& texts, const arrow::Schema& schema) : file_(file), texts_(texts) {
    for (const auto& field : schema.fields()) {
      names_.push_back(field->name());
      columns_.push_back(texts.column ? texts.column(without_spaces(names_.back())) : ArrowColumn());
    }
    cells_.resize(names_.size());
    fields_.resize(names_.size());
  }

  bool give_names(const std::function<bool(const CsvRow&)>& row) {
    for (std::size_t i = 0; i < names_.size(); ++i) fields_[i] = without_spaces(names_[i]);
    return row({fields_, 0});
  }

  // False if the receiver wants no more.
  bool give(const arrow::RecordBatch& batch, const std::function<bool(const CsvRow&)>& row) {
    std::vector<Writer> writers;
    const std::vector<std::shared_ptr<arrow::Array>> arrays = batch.columns();
    for (std::size_t i = 0; i < columns_.size(); ++i) writers.push_back(writer(i, arrays[i]));
    for (std::int64_t r = 0; r < batch.num_rows(); ++r) {
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        cells_[i].clear();
        if (!writers[i]) continue;
        arrays[i]->IsNull(r) ? void(cells_[i].append(texts_.missing)) : writers[i](r, cells_[i]);
      }
      for (std::size_t i = 0; i < columns_.size(); ++i) fields_[i] = without_spaces(cells_[i]);
      if (!row({fields_, ++given_})) return false;
    }
    return true;
  }

 private:
  Writer writer(std::size_t i, const std::shared_ptr<arrow::Array>& array) const {
    if (!columns_[i].wanted) return {};
    Writer made = writer_for(array, columns_[i].date_format, texts_.missing);
    check_input(
        made || texts_.leave_out_unreadable,
        "{}: column '{}' is of the type {}, which is not read: numbers, texts, dates, times, truth values and dictionaries are; if it "
        "is not used, put kind = \"ignore\" into its section of the schema",
        file_, names_[i].substr(0, 60), array->type()->name());
    return made;
  }

  const std::string& file_;
  const ArrowTexts& texts_;
  std::vector<std::string> names_, cells_;
  std::vector<ArrowColumn> columns_;
  std::vector<std::string_view> fields_;
  std::int64_t given_ = 0;
};

}  // namespace

void read_arrow_batches(const std::string& file, TableFormat format, const ArrowTexts& texts,
                        const std::function<bool(const CsvRow&)>& row) {
  try {
    Batches batches = format == TableFormat::parquet ? open_parquet(file) : open_arrow(file);
    RowTexts rows(file, texts, *batches.schema);
    bool more = rows.give_names(row);
    while (more) {
      const std::shared_ptr<arrow::RecordBatch> batch = batches.next();
      if (!batch) break;
      check_status(batch->ValidateFull(), file);  // offsets of a hostile file may point anywhere
      more = rows.give(*batch, row);
    }
  } catch (const parquet::ParquetException&) {
    refuse(file, "damaged");
  } catch (const std::bad_alloc&) {
    refuse(file, "it asks for more memory than there is");
  }
}

}  // namespace fodp

#endif
