#include "coordinator/core/scenarios/command.h"

#include <algorithm>
#include <cctype>

namespace muster::coordinator {
namespace {

std::vector<std::string> Split(const std::string& line) {
  std::vector<std::string> parts;
  std::string part;
  bool quoted = false;
  for (char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0 && !quoted) {
      if (!part.empty()) parts.push_back(std::move(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(std::move(part));
  return parts;
}

}  // namespace

std::string Command::Text(const std::string& key, const std::string& otherwise) const {
  auto it = values.find(key);
  return it == values.end() ? otherwise : it->second;
}

int64_t Command::Number(const std::string& key, int64_t otherwise) const {
  auto it = values.find(key);
  return it == values.end() ? otherwise : std::stoll(it->second);
}

bool Command::Flag(const std::string& word) const { return std::find(words.begin(), words.end(), word) != words.end(); }

Command ParseCommand(const std::string& line) {
  Command command;
  for (const std::string& part : Split(line)) {
    const size_t equals = part.find('=');
    if (command.verb.empty()) {
      command.verb = part;
    } else if (equals == std::string::npos) {
      command.words.push_back(part);
    } else {
      command.values[part.substr(0, equals)] = part.substr(equals + 1);
    }
  }
  return command;
}

}  // namespace muster::coordinator
