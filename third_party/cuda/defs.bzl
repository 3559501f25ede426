"""cuda_library: .cu files compiled by nvcc into a library that C++ targets depend on."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@cuda//:toolkit.bzl", "CUDA_HOME", "MISSING")

# Attribute value for targets that exist only with --config=cuda.
REQUIRES_CUDA = select({
    "//third_party/cuda:enabled": [],
    "//conditions:default": ["//third_party:incompatible"],
})

def if_cuda(value, otherwise = []):
    return select({
        "//third_party/cuda:enabled": value,
        "//conditions:default": otherwise,
    })

def _host_flags(copts):
    """nvcc takes -std and -D itself; everything else is for the host compiler."""
    flags = []
    for opt in copts:
        if opt.startswith("-std=") or opt.startswith("-D"):
            flags.append(opt)
        else:
            flags.append("-Xcompiler=" + opt)
    return flags

def _cuda_library_impl(ctx):
    if not CUDA_HOME:
        fail("--config=cuda needs a CUDA toolkit; missing under CUDA_HOME: %s" % ", ".join(MISSING))
    cc_toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    context = cc_common.merge_cc_infos(
        cc_infos = [d[CcInfo] for d in ctx.attr.deps],
    )
    compilation = cc_common.create_compilation_context(
        headers = depset(ctx.files.hdrs, transitive = [context.compilation_context.headers]),
    )
    mode = {"dbg": ["-O0", "-g"], "fastbuild": ["-O1"], "opt": ["-O3", "-DNDEBUG"]}[ctx.var["COMPILATION_MODE"]]
    objects = []
    for src in ctx.files.srcs:
        obj = ctx.actions.declare_file("_objs/%s/%s.o" % (ctx.label.name, src.basename))
        args = ctx.actions.args()
        args.add_all(["-c", src, "-o", obj])
        args.add("-ccbin", cc_toolchain.compiler_executable)
        args.add("-Xcompiler=-fPIC")
        args.add_all(mode)
        for arch in ctx.attr.archs:
            args.add("-gencode=arch=compute_{0},code=sm_{0}".format(arch))
        newest = ctx.attr.archs[-1]
        args.add("-gencode=arch=compute_{0},code=compute_{0}".format(newest))
        args.add_all(_host_flags(ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts))
        args.add_all(ctx.attr.nvccopts)
        inputs = context.compilation_context
        args.add_all([".", ctx.bin_dir.path], before_each = "-I")
        args.add_all(inputs.defines, format_each = "-D%s")
        args.add_all(inputs.includes, before_each = "-I")
        args.add_all(inputs.quote_includes, before_each = "-I")
        args.add_all(inputs.system_includes, before_each = "-isystem")
        ctx.actions.run(
            executable = CUDA_HOME + "/bin/nvcc",
            arguments = [args],
            inputs = depset([src] + ctx.files.hdrs, transitive = [inputs.headers, cc_toolchain.all_files]),
            outputs = [obj],
            env = {"PATH": "/usr/bin:/bin"},
            mnemonic = "CudaCompile",
            progress_message = "Compiling %s" % src.short_path,
        )
        objects.append(obj)
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = depset(objects),
            pic_objects = depset(objects),
        ),
        linking_contexts = [context.linking_context],
        disallow_dynamic_library = True,
    )
    return [
        DefaultInfo(files = depset(objects)),
        cc_common.merge_cc_infos(
            direct_cc_infos = [CcInfo(compilation_context = compilation, linking_context = linking)],
            cc_infos = [d[CcInfo] for d in ctx.attr.deps],
        ),
    ]

_cuda_library = rule(
    implementation = _cuda_library_impl,
    attrs = {
        "archs": attr.string_list(doc = "Compute capabilities, oldest first."),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "nvccopts": attr.string_list(),
        "srcs": attr.label_list(allow_files = [".cu"], mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    incompatible_use_toolchain_transition = True,
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def cuda_library(name, srcs, deps = [], archs = ["80", "90"], **kwargs):
    _cuda_library(
        name = name,
        srcs = srcs,
        archs = archs,
        target_compatible_with = REQUIRES_CUDA,
        deps = deps + ["@cuda//:cudart_static"],
        **kwargs
    )
