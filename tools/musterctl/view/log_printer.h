#ifndef MUSTER_TOOLS_MUSTERCTL_VIEW_LOG_PRINTER_H_
#define MUSTER_TOOLS_MUSTERCTL_VIEW_LOG_PRINTER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "proto/ctl.pb.h"
#include "tools/musterctl/view/style.h"

namespace muster::ctl {

// "node-1/0 g2 | text\n", the prefix in the rank's colour.
std::string RenderLogLine(const Style& style, const v1::LogLine& line);

// A log stream that was broken begins anew; this drops what was seen before. A worker's lines come in the order of
// their times, so a worker's newest time and the number of lines that had it are enough.
class LogResumer {
 public:
  // Call when the stream begins anew.
  void Restart();
  // Whether the line is new.
  bool IsNew(const v1::LogLine& line);

 private:
  struct Seen {
    std::string time;
    int lines_at_time = 0;
    // Lines of that time that the new stream has repeated.
    int repeated = 0;
    bool resuming = false;
  };
  // By {generation, rank}.
  std::map<std::pair<uint64_t, int32_t>, Seen> seen_;
};

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_VIEW_LOG_PRINTER_H_
