#ifndef MUSTER_COMMON_SEVERITY_H_
#define MUSTER_COMMON_SEVERITY_H_

namespace muster {

// Of a log line. On its own, so that a pure core can say how much a line matters without being able to write it.
enum class Severity { kInfo, kWarning, kError };

}  // namespace muster

#endif  // MUSTER_COMMON_SEVERITY_H_
