#ifndef MUSTER_COMMON_RANDOM_ID_H_
#define MUSTER_COMMON_RANDOM_ID_H_

#include <string>

namespace muster {

// 128 bits of the system's randomness as 32 lower-case hexadecimal digits.
std::string RandomId();

}  // namespace muster

#endif  // MUSTER_COMMON_RANDOM_ID_H_
