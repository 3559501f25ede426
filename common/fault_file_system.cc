#include "common/fault_file_system.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace muster {
namespace {

std::vector<std::string> Parts(const std::string& path) { return absl::StrSplit(path, '/', absl::SkipEmpty()); }

absl::Status NotThere(absl::string_view operation, const std::string& path) {
  return absl::NotFoundError(absl::StrCat("cannot ", operation, " ", path, ": No such file or directory"));
}

}  // namespace

struct FaultFileSystem::Node {
  using Entries = std::map<std::string, std::shared_ptr<Node>>;
  // An entry set, or (null) erased; those of one vector reach the disk together.
  using Change = std::vector<std::pair<std::string, std::shared_ptr<Node>>>;

  explicit Node(bool is_folder) : folder(is_folder) {}

  static void Apply(const Change& change, Entries* entries) {
    for (const auto& [name, node] : change) {
      if (node == nullptr) {
        entries->erase(name);
      } else {
        (*entries)[name] = node;
      }
    }
  }
  void Do(Change change) {
    Apply(change, &entries);
    unsynced.push_back(std::move(change));
  }

  const bool folder;
  std::string data;
  std::string durable_data;
  Entries entries;
  Entries durable_entries;
  std::vector<Change> unsynced;
};

// A folder and a name in it, which may be free.
struct FaultFileSystem::Place {
  std::shared_ptr<Node> folder;
  std::string name;
  // Null: free.
  std::shared_ptr<Node> node;
};

class FaultFileSystem::Writer final : public WritableFile {
 public:
  Writer(FaultFileSystem* fs, std::shared_ptr<Node> node) : fs_(fs), node_(std::move(node)), life_(fs->life_) {}

  absl::Status Append(absl::string_view data) override {
    const std::lock_guard<std::mutex> lock(fs_->mu_);
    if (absl::Status status = fs_->Tick(life_); !status.ok()) {
      if (life_ == fs_->life_) node_->data.append(data.data(), data.size() / 2);
      return status;
    }
    const int64_t n = std::min<int64_t>(static_cast<int64_t>(data.size()), fs_->free_bytes_);
    node_->data.append(data.data(), n);
    fs_->free_bytes_ -= n;
    if (n == static_cast<int64_t>(data.size())) return absl::OkStatus();
    return absl::ResourceExhaustedError("cannot write: No space left on device");
  }
  absl::Status Sync() override {
    const std::lock_guard<std::mutex> lock(fs_->mu_);
    MUSTER_RETURN_IF_ERROR(fs_->Tick(life_));
    node_->durable_data = node_->data;
    return absl::OkStatus();
  }
  absl::Status Close() override {
    const std::lock_guard<std::mutex> lock(fs_->mu_);
    return fs_->Tick(life_);
  }

 private:
  FaultFileSystem* const fs_;
  const std::shared_ptr<Node> node_;
  const uint64_t life_;
};

class FaultFileSystem::Reader final : public RandomAccessFile {
 public:
  Reader(FaultFileSystem* fs, std::string path, std::shared_ptr<Node> node)
      : fs_(fs), path_(std::move(path)), node_(std::move(node)), life_(fs->life_) {}

  absl::StatusOr<int64_t> Size() const override {
    const std::lock_guard<std::mutex> lock(fs_->mu_);
    MUSTER_RETURN_IF_ERROR(fs_->Tick(life_));
    return static_cast<int64_t>(node_->data.size());
  }
  absl::Status Read(int64_t offset, int64_t n, char* out) const override {
    const std::lock_guard<std::mutex> lock(fs_->mu_);
    MUSTER_RETURN_IF_ERROR(fs_->Tick(life_));
    const int64_t size = static_cast<int64_t>(node_->data.size());
    if (n > 0 && (offset > size || n > size - offset)) {
      return absl::OutOfRangeError(absl::StrCat(path_, " ends at byte ", size, ", before byte ", offset + n));
    }
    if (n > 0) std::memcpy(out, node_->data.data() + offset, n);
    return absl::OkStatus();
  }

 private:
  FaultFileSystem* const fs_;
  const std::string path_;
  const std::shared_ptr<Node> node_;
  const uint64_t life_;
};

FaultFileSystem::FaultFileSystem()
    : root_(std::make_shared<Node>(true)), free_bytes_(std::numeric_limits<int64_t>::max()) {}
FaultFileSystem::~FaultFileSystem() = default;

int64_t FaultFileSystem::operations() const {
  const std::lock_guard<std::mutex> lock(mu_);
  return operations_;
}

void FaultFileSystem::FailOnce(int64_t n, absl::Status error) {
  const std::lock_guard<std::mutex> lock(mu_);
  fail_once_ = n;
  error_ = std::move(error);
}

void FaultFileSystem::FailFrom(int64_t n, absl::Status error) {
  const std::lock_guard<std::mutex> lock(mu_);
  fail_from_ = n;
  error_ = std::move(error);
}

void FaultFileSystem::SetFreeBytes(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mu_);
  free_bytes_ = bytes;
}

void FaultFileSystem::Restart(Crash crash, uint64_t seed) {
  const std::lock_guard<std::mutex> lock(mu_);
  ++life_;
  fail_once_ = 0;
  fail_from_ = 0;
  free_bytes_ = std::numeric_limits<int64_t>::max();
  std::mt19937_64 random(seed);
  if (crash != Crash::kProcess) Lose(root_.get(), crash, &random);
}

void FaultFileSystem::Lose(Node* node, Crash crash, std::mt19937_64* random) {
  const bool some = crash == Crash::kMachineKeepsSome;
  if (!node->folder) {
    if (some && node->data != node->durable_data) {
      const bool grown = absl::StartsWith(node->data, node->durable_data);
      if (grown || (*random)() % 2 == 0) {
        const size_t least = grown ? node->durable_data.size() : 0;
        node->durable_data = node->data.substr(0, least + (*random)() % (node->data.size() - least + 1));
      }
    }
    node->data = node->durable_data;
    return;
  }
  for (const Node::Change& change : node->unsynced) {
    if (some && (*random)() % 2 == 0) Node::Apply(change, &node->durable_entries);
  }
  node->unsynced.clear();
  node->entries = node->durable_entries;
  for (const auto& [name, child] : node->entries) Lose(child.get(), crash, random);
}

absl::Status FaultFileSystem::Tick(uint64_t life) {
  ++operations_;
  if (life != life_) return absl::InternalError("the file was open before a crash");
  if (operations_ == fail_once_ || (fail_from_ != 0 && operations_ >= fail_from_)) return error_;
  return absl::OkStatus();
}

std::shared_ptr<FaultFileSystem::Node> FaultFileSystem::Find(const std::string& path) const {
  std::shared_ptr<Node> node = root_;
  for (const std::string& part : Parts(path)) {
    const auto entry = node->entries.find(part);
    if (entry == node->entries.end()) return nullptr;
    node = entry->second;
  }
  return node;
}

absl::StatusOr<FaultFileSystem::Place> FaultFileSystem::FindPlace(const std::string& operation,
                                                                  const std::string& path) const {
  std::vector<std::string> parts = Parts(path);
  if (parts.empty()) return absl::InternalError(absl::StrCat("cannot ", operation, " the root"));
  Place place;
  place.name = parts.back();
  parts.pop_back();
  place.folder = Find(absl::StrJoin(parts, "/"));
  if (place.folder == nullptr || !place.folder->folder) return NotThere(operation, path);
  const auto entry = place.folder->entries.find(place.name);
  if (entry != place.folder->entries.end()) place.node = entry->second;
  return place;
}

absl::Status FaultFileSystem::MakeDirs(const std::string& path) {
  std::shared_ptr<Node> node = root_;
  for (const std::string& part : Parts(path)) {
    if (node->entries.count(part) == 0) node->Do({{part, std::make_shared<Node>(true)}});
    node = node->entries[part];
    if (!node->folder) return absl::AlreadyExistsError(absl::StrCat("cannot create folder ", path, ": File exists"));
  }
  return absl::OkStatus();
}

void FaultFileSystem::AddFile(const std::string& path, const std::string& content) {
  const std::lock_guard<std::mutex> lock(mu_);
  std::vector<std::string> parts = Parts(path);
  const std::string name = parts.back();
  parts.pop_back();
  std::shared_ptr<Node> node = root_;
  for (const std::string& part : parts) {
    if (node->entries.count(part) == 0) node->entries[part] = std::make_shared<Node>(true);
    node->durable_entries[part] = node->entries[part];
    node = node->entries[part];
  }
  auto file = std::make_shared<Node>(false);
  file->data = content;
  file->durable_data = content;
  node->entries[name] = file;
  node->durable_entries[name] = file;
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultFileSystem::NewWritableFile(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mu_);
  MUSTER_RETURN_IF_ERROR(Tick(life_));
  MUSTER_ASSIGN_OR_RETURN(Place place, FindPlace("create", path));
  if (place.node != nullptr && place.node->folder) {
    return absl::InternalError(absl::StrCat("cannot create ", path, ": Is a directory"));
  }
  if (place.node == nullptr) {
    place.node = std::make_shared<Node>(false);
    place.folder->Do({{place.name, place.node}});
  }
  place.node->data.clear();
  return std::make_unique<Writer>(this, place.node);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> FaultFileSystem::NewRandomAccessFile(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mu_);
  MUSTER_RETURN_IF_ERROR(Tick(life_));
  const std::shared_ptr<Node> node = Find(path);
  if (node == nullptr) return NotThere("open", path);
  return std::make_unique<Reader>(this, path, node);
}

absl::Status FaultFileSystem::CreateDirs(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mu_);
  MUSTER_RETURN_IF_ERROR(Tick(life_));
  return MakeDirs(path);
}

absl::StatusOr<std::vector<std::string>> FaultFileSystem::List(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mu_);
  MUSTER_RETURN_IF_ERROR(Tick(life_));
  const std::shared_ptr<Node> node = Find(path);
  if (node == nullptr || !node->folder) return NotThere("list", path);
  std::vector<std::string> names;
  for (const auto& [name, child] : node->entries) names.push_back(name);
  return names;
}

absl::StatusOr<bool> FaultFileSystem::Exists(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mu_);
  MUSTER_RETURN_IF_ERROR(Tick(life_));
  return Find(path) != nullptr;
}

absl::Status FaultFileSystem::Rename(const std::string& from, const std::string& to) {
  const std::lock_guard<std::mutex> lock(mu_);
  MUSTER_RETURN_IF_ERROR(Tick(life_));
  MUSTER_ASSIGN_OR_RETURN(const Place source, FindPlace("rename", from));
  MUSTER_ASSIGN_OR_RETURN(const Place target, FindPlace("rename", to));
  if (source.node == nullptr) return NotThere("rename", from);
  if (target.node == source.node) return absl::OkStatus();
  if (target.node != nullptr) {
    if (target.node->folder != source.node->folder) {
      return target.node->folder ? absl::InternalError(absl::StrCat("cannot rename ", from, ": Is a directory"))
                                 : NotThere("rename", to);
    }
    if (!target.node->entries.empty()) {
      return absl::AlreadyExistsError(absl::StrCat("cannot rename ", from, " to ", to, ": Directory not empty"));
    }
  }
  if (source.folder == target.folder) {
    source.folder->Do({{source.name, nullptr}, {target.name, source.node}});
  } else {
    target.folder->Do({{target.name, source.node}});
    source.folder->Do({{source.name, nullptr}});
  }
  return absl::OkStatus();
}

absl::Status FaultFileSystem::Remove(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mu_);
  MUSTER_RETURN_IF_ERROR(Tick(life_));
  MUSTER_ASSIGN_OR_RETURN(const Place place, FindPlace("remove", path));
  if (place.node == nullptr) return NotThere("remove", path);
  if (!place.node->entries.empty()) {
    return absl::AlreadyExistsError(absl::StrCat("cannot remove ", path, ": Directory not empty"));
  }
  place.folder->Do({{place.name, nullptr}});
  return absl::OkStatus();
}

absl::Status FaultFileSystem::SyncDir(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mu_);
  MUSTER_RETURN_IF_ERROR(Tick(life_));
  const std::shared_ptr<Node> node = Find(path);
  if (node == nullptr || !node->folder) return NotThere("open folder", path);
  node->durable_entries = node->entries;
  node->unsynced.clear();
  return absl::OkStatus();
}

}  // namespace muster
