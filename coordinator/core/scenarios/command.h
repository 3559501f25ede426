#ifndef MUSTER_COORDINATOR_CORE_SCENARIOS_COMMAND_H_
#define MUSTER_COORDINATOR_CORE_SCENARIOS_COMMAND_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace muster::coordinator {

// A line of a scenario: "verb word word key=value key="several words" flag". A word is whatever has no '='.
struct Command {
  std::string verb;
  std::vector<std::string> words;
  std::map<std::string, std::string> values;

  std::string Text(const std::string& key, const std::string& otherwise) const;
  int64_t Number(const std::string& key, int64_t otherwise) const;
  bool Has(const std::string& key) const { return values.count(key) > 0; }
  bool Flag(const std::string& word) const;
};

Command ParseCommand(const std::string& line);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_SCENARIOS_COMMAND_H_
