#ifndef MUSTER_WORKER_MODEL_OPS_MULTIVERSION_H_
#define MUSTER_WORKER_MODEL_OPS_MULTIVERSION_H_

// MUSTER_MULTIVERSION before a function compiles it for AVX-512, AVX2 and plain x86-64; the machine it runs on picks
// one. What such a function calls in its loops must be MUSTER_INLINE to be compiled along.
//
// Sanitizers do not run before the loader has picked; there, and where the compiler cannot, it is one plain version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(MUSTER_NO_MULTIVERSION)
#define MUSTER_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MUSTER_MULTIVERSION
#endif

#define MUSTER_INLINE inline __attribute__((always_inline))

#endif  // MUSTER_WORKER_MODEL_OPS_MULTIVERSION_H_
