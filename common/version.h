#ifndef MUSTER_COMMON_VERSION_H_
#define MUSTER_COMMON_VERSION_H_

namespace muster {

// The release. All programs of a cluster come from one release.
inline constexpr char kVersion[] = "0.1.0";

// Grows with every change of proto/ that an older program would misread. Programs of different numbers refuse each
// other in one clear line.
inline constexpr int kProtocolVersion = 1;

}  // namespace muster

#endif  // MUSTER_COMMON_VERSION_H_
