"""cc_library over one system library: its archive by default, its shared object with --define=system_libs=shared."""

def system_cc_library(name, lib, linkopts = [], deps = [], hdrs = [], includes = [], **kwargs):
    native.cc_library(
        name = name,
        srcs = select({
            "@muster//third_party:shared_system_libs": [],
            "//conditions:default": ["lib/lib%s.a" % lib],
        }),
        hdrs = hdrs,
        includes = includes,
        linkopts = linkopts + select({
            "@muster//third_party:shared_system_libs": ["-l" + lib],
            "//conditions:default": [],
        }),
        linkstatic = True,
        deps = deps,
        **kwargs
    )
